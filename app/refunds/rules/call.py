"""The contract call that pays a refund, and the one that pays out what waits in a delay queue.

A withdraw, mint or relay above its token's delay threshold is taken, and pays nothing until the delay is over
and somebody calls ``executeDelayedTransfer`` with the id that the contract gave it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from app.network.rules.quorum import ValidatorSet
from app.values.codes import SendKind
from app.values.crypto import checksum_address, keccak256
from app.values.identifiers import ChainId

_CALL: Final[dict[SendKind, tuple[str, str]]] = {
    SendKind.POOL: ("withdraw", "wdmsg"),
    SendKind.DEPOSIT: ("withdraw", "request"),
    SendKind.BURN: ("mint", "request"),
}
_TYPES: Final = ("bytes", "bytes[]", "address[]", "uint256[]")
_WORD: Final = 32
_HASH: Final = re.compile(r"0x[0-9a-fA-F]{64}", re.ASCII)


class CallArgument(Struct, frozen=True):
    name: str
    type: str
    value: str | tuple[str, ...]


class ContractCall(Struct, frozen=True):
    """``arguments`` are empty and ``data`` is null unless the contract would accept them now. ``data`` is the
    whole call for a transaction to the contract: selector and ABI-encoded arguments, 0x hex.
    """

    function: str
    signature: str
    arguments: tuple[CallArgument, ...] = ()
    data: str | None = None


def open_call(kind: SendKind) -> ContractCall:
    function = _CALL[kind][0]
    return ContractCall(function, f"{function}({','.join(_TYPES)})")


def refund_call(
    kind: SendKind, wd_onchain: bytes, signed: Sequence[tuple[bytes, bytes]], validators: ValidatorSet
) -> ContractCall:
    """The call with its arguments (docs/interface/contracts.md#withdraw-call): request, signatures, set.
    ``signed`` are (signer, signature) that reach the quorum; the call has only as many as needed.
    """
    opened = open_call(kind)
    sorted_sigs = [signature for _, signature in shortest_quorum(signed, validators)]
    names = (_CALL[kind][1], "sigs", "signers", "powers")
    values: tuple[str | tuple[str, ...], ...] = (
        f"0x{wd_onchain.hex()}",
        tuple(f"0x{signature.hex()}" for signature in sorted_sigs),
        tuple(checksum_address(signer) for signer in validators.signers),
        tuple(str(power) for _, power in validators.members),
    )
    arguments = tuple(
        CallArgument(name, kind_of, value) for name, kind_of, value in zip(names, _TYPES, values, strict=True)
    )
    selector = keccak256(opened.signature.encode("ascii"))[:4]
    data = selector + _encode(wd_onchain, sorted_sigs, validators)
    return ContractCall(opened.function, opened.signature, arguments, f"0x{data.hex()}")


def delayed_call(delayed_id: str) -> ContractCall:
    """The call that pays funds out of the delay queue. Anybody may make it, once the delay is over.
    ``delayed_id`` is 32 bytes in 0x hex; for anything else there is no data.
    """
    function, types = "executeDelayedTransfer", "bytes32"
    signature = f"{function}({types})"
    data = None
    if _HASH.fullmatch(delayed_id):
        data = f"0x{keccak256(signature.encode('ascii'))[:4].hex()}{delayed_id[2:].lower()}"
    return ContractCall(function, signature, (CallArgument("id", types, delayed_id),), data)


def shortest_quorum(
    signed: Sequence[tuple[bytes, bytes]], validators: ValidatorSet
) -> tuple[tuple[bytes, bytes], ...]:
    """The fewest (signer, signature) that reach the quorum, ascending by signer; all if they do not reach it.
    Those with the most power are used, of equal ones the lower address: each signature costs gas.
    """
    chosen: list[tuple[bytes, bytes]] = []
    power = 0
    for signer, signature in sorted(signed, key=lambda each: (-(validators.power_of(each[0]) or 0), each[0])):
        if power >= validators.quorum:
            break
        chosen.append((signer, signature))
        power += validators.power_of(signer) or 0
    return tuple(sorted(chosen))


def _encode(wd_onchain: bytes, sorted_sigs: Sequence[bytes], validators: ValidatorSet) -> bytes:
    return _dynamic(
        (
            _bytes(wd_onchain),
            _number(len(sorted_sigs)) + _dynamic([_bytes(signature) for signature in sorted_sigs]),
            _words([int.from_bytes(signer, "big") for signer in validators.signers]),
            _words([power for _, power in validators.members]),
        )
    )


def _dynamic(parts: Sequence[bytes]) -> bytes:
    """Encode parts of variable length: first the offset of each from here, then the parts."""
    offset, heads = _WORD * len(parts), b""
    for part in parts:
        heads += _number(offset)
        offset += len(part)
    return heads + b"".join(parts)


def _bytes(value: bytes) -> bytes:
    return _number(len(value)) + value + bytes(-len(value) % _WORD)


def _words(values: Sequence[int]) -> bytes:
    return _number(len(values)) + b"".join(_number(value) for value in values)


def _number(value: int) -> bytes:
    return value.to_bytes(_WORD, "big")


class Funds(StrEnum):
    """Whose funds wait: the refund on the source chain, or the payout on the destination."""

    REFUND = "refund"
    PAYOUT = "payout"


class DelayedFunds(Struct, frozen=True):
    """Funds in a delay queue. ``chain_id`` and ``contract`` say where the queue is; null where not known.

    ``delayed_id`` is the contract's id of the funds, null where not reported. ``tx_link`` is the explorer's
    page of the transaction that queued them, on the same chain; empty while unknown.
    """

    funds: str
    delayed_id: str | None
    chain_id: ChainId | None
    contract: str | None
    tx_hash: str | None
    tx_link: str
    call: ContractCall | None

    @property
    def words(self) -> str:
        what = "the release waits in the contract's delay queue"
        if self.funds == Funds.REFUND:
            what = "the refund was accepted and waits in the contract's delay queue"
        where = f" on chain {self.chain_id}" if self.chain_id is not None else ""
        how = self.delayed_id or "the id, which was not reported"
        call = f"executeDelayedTransfer({how}) is called{where}"
        return f"{what}: it is paid after the delay, when {call}"


def delayed_funds(
    funds: Funds,
    delayed_id: str | None,
    chain_id: ChainId | None,
    contract: bytes | None,
    tx_hash: str | None,
) -> DelayedFunds:
    """The link is left empty, because it depends on the chain's explorer."""
    return DelayedFunds(
        funds=funds.value,
        delayed_id=delayed_id,
        chain_id=chain_id,
        contract=checksum_address(contract) if contract else None,
        tx_hash=tx_hash,
        tx_link="",
        call=delayed_call(delayed_id) if delayed_id else None,
    )
