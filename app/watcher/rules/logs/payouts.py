"""What a log means to the bridge: a send, a release, a refund, or a provider's withdrawal of liquidity."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple

from msgspec import Struct

from app.network.rules.validation_facts import NetworkFacts
from app.network.rules.watch_terms import KnownSend
from app.transfers.rules.events.contract_ids import Proof, proof_of
from app.transfers.rules.events.event_types import TransferSent
from app.values.codes import SendKind
from app.values.crypto import checksum_address
from app.values.identifiers import BlockNumber, ChainId, TransferId
from app.values.times import parse_rfc3339, rfc3339
from app.watcher.rules.blocks import Log
from app.watcher.rules.logs.values import (
    Burn,
    Deposited,
    Mint,
    Relay,
    Send,
    Undecodable,
    WithdrawDone,
    Withdrawn,
)


class Place(NamedTuple):
    """A log's place.

    :param id: of its first fact (docs/ingest.md#ids), with the index that the node gave.
    :param at: the time of its block.
    :param log_index: orders the logs of a block.
    """

    id: str
    at: datetime
    block: BlockNumber
    block_hash: str
    tx_hash: str
    log_index: int

    def further(self, event_type: str) -> Place:
        """The place of one more fact of the same log, which needs its own id."""
        return self._replace(id=f"{self.id}:{event_type}")

    def facts(self) -> dict[str, Any]:
        """As JSON values."""
        return {**self._asdict(), "at": rfc3339(self.at)}


def log_id(chain_id: ChainId, log: Log) -> str:
    """The id of the first fact of a log."""
    return f"{chain_id}:{log.block_hash}:{log.tx_hash}:{log.index}"


def log_of(event_id: str) -> str:
    """The id of the first fact of the log that this fact belongs to."""
    return ":".join(event_id.split(":")[:4])


def tx_of(event_id: str) -> str:
    """The beginning of the ids of all facts of the transaction."""
    return ":".join(event_id.split(":")[:3])


def place_of(chain_id: ChainId, log: Log, at: datetime, before: Place | None = None) -> Place:
    """The place of a log whose block has the time ``at``.

    :param before: the place of the log before it: where a node counts from 0 in each transaction, the index
        does not say which of two logs of a block comes first.
    """
    lowest = before.log_index + 1 if before is not None and before.block_hash == log.block_hash else 0
    index = max(log.index, lowest)
    return Place(log_id(chain_id, log), at, log.block, log.block_hash, log.tx_hash, index)


def place_from(facts: Mapping[str, Any]) -> Place:
    return Place(
        id=facts["id"],
        at=parse_rfc3339(facts["at"]),
        block=BlockNumber(facts["block"]),
        block_hash=facts["block_hash"],
        tx_hash=facts["tx_hash"],
        log_index=facts["log_index"],
    )


_CACHED_ADDRESSES: Final = 16_384


class NotConfigured(Exception):
    """The configuration does not have what the log names; the message is for operators."""


class NotSent(NotConfigured):
    """A payout names a send of its own chain, and what has to be known of it is not."""

    def __init__(self, transfer_id: TransferId) -> None:
        super().__init__(f"no send of transfer 0x{transfer_id.hex()} is known, which the withdrawal pays")
        self.transfer_id = transfer_id


@lru_cache(maxsize=_CACHED_ADDRESSES)
def account(address: bytes) -> str:
    """An address as the feed stores accounts. Hashing it costs more than all else that a log needs."""
    return checksum_address(address)


def sent_event(
    said: Send | Deposited | Burn, place: Place, contract: bytes, chain_id: ChainId, facts: NetworkFacts
) -> TransferSent:
    """The event of a send. As the feed accepts it, its chain and its token need not be configured: the symbol
    follows once the configuration lists it.

    :param contract: the one that logged it.
    :raises NotConfigured: the chain that a burn goes to is not known.
    :raises Undecodable: the contract would have given the send another id.
    """
    ends = _ends(said, contract, chain_id, facts)
    event = TransferSent(
        id=place.id,
        at=place.at,
        transfer_id=TransferId(said.transfer_id),
        block=place.block,
        block_hash=place.block_hash,
        log_index=place.log_index,
        kind=ends.kind,
        src_chain_id=chain_id,
        dst_chain_id=ends.dst_chain_id,
        symbol=ends.symbol,
        token=account(said.token),
        amount=said.amount,
        sender=account(ends.sender),
        receiver=account(ends.receiver),
        src_tx_hash=place.tx_hash,
        nonce=None if said.nonce is None else str(said.nonce),
        max_slippage=said.max_slippage if isinstance(said, Send) else None,
        contract=account(contract),
    )
    if proof_of(event) is Proof.CONTRADICTED:
        raise Undecodable("its transfer id is not the one that the contract gives what it says")
    return event


class _Ends(NamedTuple):
    """What each kind of send names differently."""

    kind: SendKind
    sender: bytes
    receiver: bytes
    symbol: str | None
    dst_chain_id: ChainId


def _ends(said: Send | Deposited | Burn, contract: bytes, chain_id: ChainId, facts: NetworkFacts) -> _Ends:
    symbol: str | None
    match said:
        case Send():
            dst = ChainId(said.dst_chain_id)
            symbol = facts.pool_symbol(said.token, chain_id, dst)
            return _Ends(SendKind.POOL, said.sender, said.receiver, symbol, dst)
        case Deposited():
            dst = ChainId(said.mint_chain_id)
            symbol = facts.paired_symbol(SendKind.DEPOSIT, said.token, chain_id, dst, contract)
            return _Ends(SendKind.DEPOSIT, said.depositor, said.mint_account, symbol, dst)
        case Burn():
            symbol, dst = burn_target(said, contract, chain_id, facts)
            return _Ends(SendKind.BURN, said.account, said.to_account, symbol, dst)


def burn_target(
    said: Burn, contract: bytes, chain_id: ChainId, facts: NetworkFacts
) -> tuple[str | None, ChainId]:
    """The symbol of a token that was burned, and the chain that pays it out.

    A log without a chain, and any burn of a v1 contract, means the original chain of the token's pairs.

    :raises NotConfigured: the pairs do not give exactly one chain.
    """
    if said.to_chain_id:
        dst = ChainId(said.to_chain_id)
        return facts.paired_symbol(SendKind.BURN, said.token, chain_id, dst, contract), dst
    pairs = facts.pairs_of_token(SendKind.BURN, said.token, chain_id, contract)
    targets = {(pair.symbol, pair.org_chain_id) for pair in pairs}
    if len(targets) != 1:
        raise NotConfigured(
            f"{account(said.token)} is not a configured token at contract {account(contract)}: its "
            "original chain is not known"
        )
    return targets.pop()


_SHORT: Final = bytes(8)
"""A reference with so many zeros at either end is none: a hash has them once in 2^64."""


class Payment(StrEnum):
    RELEASE = "release"
    REFUND = "refund"
    LIQUIDITY = "liquidity"


class Payout(Struct, frozen=True):
    """What a contract pays at once, or after its delay.

    :param transfer_id: None for liquidity.
    :param payout_id: the id in the contract's queue.
    """

    payment: Payment
    payout_id: bytes
    token: bytes
    amount: int
    transfer_id: TransferId | None = None

    def facts(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "payment": self.payment.value,
            "payout_id": self.payout_id.hex(),
            "token": self.token.hex(),
            "amount": str(self.amount),
            "transfer_id": None if self.transfer_id is None else self.transfer_id.hex(),
        }


def payout_from(facts: Mapping[str, Any]) -> Payout:
    transfer_id = facts["transfer_id"]
    return Payout(
        Payment(facts["payment"]),
        bytes.fromhex(facts["payout_id"]),
        bytes.fromhex(facts["token"]),
        int(facts["amount"]),
        None if transfer_id is None else TransferId(bytes.fromhex(transfer_id)),
    )


def own_reference(said: object, chain_id: ChainId) -> TransferId | None:
    """The send of this chain that a payout names; None where it names none, or one of another chain.

    The signers of a withdrawal choose its reference freely: governors withdraw with a reference of no send.
    """
    match said:
        case WithdrawDone():
            reference = said.refid
        case Withdrawn() | Mint() if said.ref_chain_id == chain_id:
            reference = said.ref_id
        case _:
            return None
    return None if is_none(reference) else TransferId(reference)


def is_decidable(said: object, send: KnownSend) -> bool:
    """Whether enough is known of a send to say what this payout of its own chain is.

    A pool only refunds. A vault or a bridge may as well release (:func:`payout_of`), and only the send says
    what it does. The validators speak of transfers whose send was not read yet.
    """
    return isinstance(said, WithdrawDone) or send.kind is not None or send.is_pruned


def payout_of(
    said: Relay | WithdrawDone | Withdrawn | Mint, chain_id: ChainId, send: KnownSend | None = None
) -> Payout | None:
    """What a log of this chain pays; None where that concerns neither transfers nor pools.

    A pool's withdraw is a refund where it has a reference: the transfer. The references of a vault and of a
    pegged bridge also name the chain. One of another chain is paid out here. One of their own chain is a
    refund of what they took, unless the send says that it is paid out on its own chain. Fees of validators
    have none.

    :param send: of this chain, which the payout names.
    """
    match said:
        case Relay():
            return Payout(
                Payment.RELEASE, said.payout_id, said.token, said.amount, TransferId(said.transfer_id)
            )
        case WithdrawDone():
            if is_none(said.refid):
                return Payout(Payment.LIQUIDITY, said.payout_id, said.token, said.amount)
            return Payout(Payment.REFUND, said.payout_id, said.token, said.amount, TransferId(said.refid))
        case _:
            if said.ref_chain_id == 0 or is_none(said.ref_id):
                return None
            payment = Payment.REFUND if said.ref_chain_id == chain_id else Payment.RELEASE
            if payment is Payment.REFUND and send is not None and _pays_out(said, send, chain_id):
                payment = Payment.RELEASE
            return Payout(payment, said.payout_id, said.token, said.amount, TransferId(said.ref_id))


def _pays_out(said: Withdrawn | Mint, send: KnownSend, chain_id: ChainId) -> bool:
    """Whether the payout of a send of its own chain is its release.

    A vault returns deposits, and a bridge returns burns (docs/interface/contracts.md#transfer-ids). A mint
    for a burn that goes to its own chain looks like its refund, but it is what the user burned for.
    """
    if isinstance(said, Withdrawn):
        return send.kind is SendKind.BURN
    return send.kind is SendKind.DEPOSIT or send.dst_chain_id == chain_id


def is_none(reference: bytes) -> bool:
    """Whether the reference of a payout names no transfer."""
    return reference.startswith(_SHORT) or reference.endswith(_SHORT)
