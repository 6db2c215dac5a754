"""Validates saved answers of any gateway of this kind without one."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from eth_utils.address import is_address, to_checksum_address
from eth_utils.crypto import keccak

from transfer_gateway_client.evidence import (
    KINDS,
    EvidenceError,
    Refund,
    demand,
    field_bytes,
    proven,
    request_fields,
    signed_digest,
    signer_of,
)

ID_BYTES = 32


class UnusableAnswer(ValueError):
    """It is no answer of a gateway, or does not say enough to be validated."""


@dataclass(frozen=True)
class Known:
    """What is known apart from the answer, or what the answer says; None is not known.

    ``contract`` is the one that pays on ``chain_id``, the source chain; ``set_hash`` what its ``ssHash()``
    returns; ``transfer`` what the request must refer to.
    """

    chain_id: int | None = None
    contract: str | None = None
    kind: str | None = None
    transfer: bytes | None = None
    set_hash: bytes | None = None


@dataclass(frozen=True)
class Verified:
    """A refund that is proven, by whose power, and the hash of the validator set that proves it.

    ``transfer`` is None where the request refers to none: then it is a withdrawal of liquidity.
    """

    refund: Refund
    transfer: bytes | None
    power_signed: int
    power_total: int
    set_hash: bytes


@dataclass(frozen=True)
class _Said:
    request: bytes
    signatures: Sequence[bytes]
    signers: Sequence[str]
    powers: Sequence[int]


def verify_saved(answer: object, known: Known) -> Verified:
    """Validate a saved answer of ``getTransferStatus`` or ``getRefundEvidence`` as the contract would.

    Only the request, the signatures and the set are believed. Chain, contract, kind and hash of the set are
    taken from the answer where they are not known; what it says and what is known must agree.

    :raises EvidenceError: the contract would not pay, with the reason.
    :raises UnusableAnswer: there is no evidence, or the answer says too little.
    """
    if not isinstance(answer, Mapping) or "wd_onchain" not in answer:
        raise UnusableAnswer("is not a saved answer: it has no wd_onchain")
    demand(answer.get("err") is None, "the answer is an error and has no evidence")
    demand(bool(answer["wd_onchain"]), "there is no refund to claim: the answer has no wd_onchain")
    try:
        said, stated = _evidence_answer(answer) if "call" in answer else _status_answer(answer)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise EvidenceError("the evidence cannot be read") from None
    known = _agreed(known, stated)
    if known.chain_id is None or known.contract is None:
        raise UnusableAnswer("does not say which chain and contract pay: add --chain and --contract")
    set_hash = _set_hash(said)
    demand(
        known.set_hash in (None, set_hash), f"signers and powers hash to 0x{set_hash.hex()}, not as expected"
    )
    return _validated(said, known.chain_id, known.contract, known, set_hash)


def _validated(said: _Said, chain_id: int, contract: str, known: Known, set_hash: bytes) -> Verified:
    kind, signed = _who_signed(said, chain_id, contract, known.kind)
    rows = [(who, power, signed.get(who)) for who, power in zip(said.signers, said.powers, strict=True)]
    refund = proven(kind, chain_id, contract, said.request, rows, transfer=known.transfer)
    reference = field_bytes(request_fields(said.request), KINDS[kind].reference)
    demand(len(reference) == ID_BYTES or kind == "pool", "it refers to no transfer")
    power = sum(power for _, power, signature in rows if signature is not None)
    transfer = reference if len(reference) == ID_BYTES else None
    return Verified(refund, transfer, power, sum(said.powers), set_hash)


def _who_signed(
    said: _Said, chain_id: int, contract: str, kind: str | None
) -> tuple[str, Mapping[str, bytes]]:
    """The kind of the refund, and the signature of each validator who signed.

    The kind is the one under whose digest the signatures are the validators'. Anybody else's is refused: a
    contract would ignore it, but no gateway serves it.
    """
    for each in [kind] if kind else KINDS:
        digest = signed_digest(each, chain_id, contract, said.request)
        found = [signer_of(digest, signature) for signature in said.signatures]
        if found and set(found) <= set(said.signers):
            numbers = [int(who, 16) for who in found]
            demand(numbers == sorted(set(numbers)), "the signatures are not in ascending order of signer")
            return each, dict(zip(found, said.signatures, strict=True))
    raise EvidenceError("nobody signed it" if not said.signatures else "not only its validators signed it")


def _agreed(known: Known, stated: Known) -> Known:
    """What is known together: nothing that the answer says may differ from what is known apart from it."""
    for name, said in vars(stated).items():
        given = getattr(known, name)
        demand(None in (given, said) or given == said, f"the answer has another {name.replace('_', ' ')}")
        if given is None:
            known = replace(known, **{name: said})
    return known


def _status_answer(answer: Mapping[str, Any]) -> tuple[_Said, Known]:
    """An answer of ``getTransferStatus``; some files say chain and contract in addition."""
    said = _Said(
        _base64(answer["wd_onchain"]),
        [_base64(each) for each in answer["sorted_sigs"]],
        [to_checksum_address(_base64(each)) for each in answer["signers"]],
        [int.from_bytes(_base64(each), "big") for each in answer["powers"]],
    )
    return _checked(said), Known(_chain(answer.get("chain_id")), _contract(answer.get("bridge_contract")))


def _evidence_answer(answer: Mapping[str, Any]) -> tuple[_Said, Known]:
    rows = answer["signers"]
    said = _Said(
        _base64(answer["wd_onchain"]),
        [bytes.fromhex(row["signature"][2:]) for row in rows if row["signature"] is not None],
        [to_checksum_address(row["address"]) for row in rows],
        [int(row["power"]) for row in rows],
    )
    transfer, kind, hashed = answer["transfer_id"], answer["kind"], answer["validator_set_hash"]
    return _checked(said), Known(
        _chain(answer["chain_id"]),
        _contract(answer["contract"]),
        None if kind is None else _kind(kind),
        None if transfer is None else bytes.fromhex(transfer[2:]),
        None if hashed is None else bytes.fromhex(hashed[2:]),
    )


def _checked(said: _Said) -> _Said:
    """The evidence. Raises ValueError where no contract can be called with it."""
    if len(said.signers) != len(said.powers) or not all(0 <= power < 2**256 for power in said.powers):
        raise ValueError("no validator set")
    return said


def _kind(stated: str) -> str:
    if stated not in KINDS:
        raise ValueError(stated)
    return stated


def _chain(stated: object) -> int | None:
    return stated if type(stated) is int and 0 < stated < 2**64 else None


def _contract(stated: object) -> str | None:
    return to_checksum_address(stated) if isinstance(stated, str) and is_address(stated) else None


def _set_hash(said: _Said) -> bytes:
    """What the contract stores of its validator set (docs/refunds.md)."""
    signers = b"".join(bytes.fromhex(who[2:]).rjust(32, b"\0") for who in said.signers)
    return keccak(signers + b"".join(power.to_bytes(32, "big") for power in said.powers))


def _base64(text: str) -> bytes:
    """Standard base64 in its one spelling. Raises ValueError for anything else."""
    decoded = b64decode(text, validate=True)
    if b64encode(decoded).decode() != text:
        raise ValueError("not standard base64")
    return decoded
