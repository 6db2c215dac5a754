"""Everything that follows from one transfer's events: status, links, evidence, effects."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypedDict

from msgspec import Struct

from app.network.rules.validation_facts import NetworkFacts
from app.transfers.rules.anomalies import Anomaly, anomalies_of_transfer
from app.transfers.rules.events.canonical import ChainReading, highest_blocks, readings
from app.transfers.rules.events.contract_ids import is_proven
from app.transfers.rules.events.counting import Logged, Origin, counting
from app.transfers.rules.events.event_types import (
    BlockEvent,
    RefundCompleted,
    RefundPrepared,
    RefundSigned,
    TransferDelayed,
    TransferEvent,
    TransferFailed,
    TransferReleased,
    TransferSent,
    TransferSubmitted,
)
from app.transfers.rules.history import TransferHistory, describing
from app.transfers.rules.refund_evidence import (
    RefundEvidence,
    TransferRefund,
    validated_refund,
    withdraw_ids,
)
from app.transfers.rules.status import CanonicalEvents, StatusAnswer, status_of
from app.values.codes import SendKind, TransferHistoryStatus, XferStatus
from app.values.identifiers import BlockNumber, ChainId, TransferId


class TransferState(Struct, frozen=True, kw_only=True):
    """The projection of one transfer; a pure function of its log, the reorgs and the network."""

    transfer_id: TransferId
    status: TransferHistoryStatus
    refund_reason: XferStatus
    status_since: datetime | None
    updated_at: datetime
    kind: SendKind | None = None
    src_chain_id: ChainId | None = None
    dst_chain_id: ChainId | None = None
    symbol: str | None = None
    token: str | None = None
    amount: int | None = None
    sender: str | None = None
    receiver: str | None = None
    contract: str | None = None
    src_tx_hash: str | None = None
    dst_tx_hash: str | None = None
    sent_at: datetime | None = None
    released_at: datetime | None = None
    relayed_amount: int | None = None
    began_at: datetime | None = None
    received_amount: int | None = None
    evidence: RefundEvidence | None = None
    anomalies: tuple[Anomaly, ...] = ()
    blocks: tuple[tuple[int, int], ...] = ()
    """Highest block by chain over all events, canonical or not: what a reorg may reach."""
    readings: tuple[tuple[ChainId, ChainReading], ...] = ()
    other_hashes: tuple[str, ...] = ()
    """Other transactions than the two above that the log names, canonical or not; ascending."""
    settled_block: BlockNumber | None = None
    """The block of the event that ended the transfer."""
    withdraw_ids: tuple[tuple[bytes, bool], ...] = ()
    """The withdraw ids of its refund requests, each with whether it was paid; ascending."""
    refund_basis: frozenset[str] = frozenset()
    """Ids of the requests and signatures that are enough to give the same refund."""


def answer_of(
    history: TransferHistory, canonical: CanonicalEvents, facts: NetworkFacts
) -> tuple[StatusAnswer, tuple[Any, ...]]:
    """The status as :func:`transfer_state` returns it, and its kind, chains, symbol, hashes, evidence and
    final block, in this order."""
    refund = validated_refund(history, canonical, facts)
    answer = status_of(canonical, refund.facts)
    origin = _of_origin(history.origin_event(canonical), facts)
    fields = (
        origin["kind"], origin["src_chain_id"], origin["dst_chain_id"], origin["symbol"],
        _src_tx_hash(canonical), _dst_tx_hash(canonical), _served(refund, answer),
        settled_block(canonical, answer.status),
    )  # fmt: skip
    return answer, fields


def transfer_state(history: TransferHistory, facts: NetworkFacts) -> TransferState:
    """Project one transfer.

    :param facts: with the current validator set of the source chain where a refund is prepared.
    :raises ValueError: the log is empty.
    """
    if not history.log:
        raise ValueError(f"transfer 0x{history.transfer_id.hex()} has no log to project")
    canonical = history.canonical()
    refund = validated_refund(history, canonical, facts)
    answer = status_of(canonical, refund.facts)
    origin_event = history.origin_event(canonical)
    canonical_send = canonical.first(TransferSent)
    origin = history.origin()
    counted = history.counted(origin)
    return TransferState(
        transfer_id=history.transfer_id,
        status=answer.status,
        refund_reason=answer.refund_reason,
        status_since=answer.since,
        updated_at=_updated_at(history, canonical, answer.since),
        **_of_origin(origin_event, facts),
        **_of_release(origin_event, canonical.first(TransferReleased), facts),
        **_hashes(canonical, describing(counting(history.log, origin))),
        sent_at=canonical_send.at if canonical_send else None,
        began_at=_began_at(describing(counted), origin),
        evidence=_served(refund, answer),
        anomalies=_anomalies(history, canonical, refund, facts),
        blocks=highest_blocks((logged.event for logged in counted), origin),
        readings=readings(canonical.events(), origin),
        settled_block=settled_block(canonical, answer.status),
        withdraw_ids=withdraw_ids(refund, is_taken=canonical.is_withdraw_taken),
        refund_basis=refund.basis,
    )


def _anomalies(
    history: TransferHistory, canonical: CanonicalEvents, refund: TransferRefund, facts: NetworkFacts
) -> tuple[Anomaly, ...]:
    misplaced, contradicting = history.misplaced(history.origin()), history.contradicting()
    return tuple(
        anomalies_of_transfer(
            canonical, refund.uncontradicted, facts, history.paid_ids, misplaced, contradicting
        )
    )


class _OfOrigin(TypedDict):
    kind: SendKind | None
    src_chain_id: ChainId | None
    dst_chain_id: ChainId | None
    symbol: str | None
    token: str | None
    amount: int | None
    sender: str | None
    receiver: str | None
    contract: str | None


def _of_origin(event: TransferSent | TransferSubmitted | None, facts: NetworkFacts) -> _OfOrigin:
    send = event if isinstance(event, TransferSent) else None
    return {
        "kind": send.kind if send else None,
        "src_chain_id": event.src_chain_id if event else None,
        "dst_chain_id": event.dst_chain_id if event else None,
        "symbol": _symbol(event, facts),
        "token": send.token if send else None,
        "amount": event.amount if event else None,
        "sender": event.sender if event else None,
        "receiver": event.receiver if event else None,
        "contract": send.contract if send else None,
    }


def _symbol(event: TransferSent | TransferSubmitted | None, facts: NetworkFacts) -> str | None:
    if isinstance(event, TransferSent):
        return facts.symbol_of(event.taken)
    if event is None or event.symbol is None:
        return None
    return facts.spelled(event.src_chain_id, event.symbol)


class _OfRelease(TypedDict):
    released_at: datetime | None
    relayed_amount: int | None
    received_amount: int | None


def _of_release(
    origin: TransferSent | TransferSubmitted | None, release: TransferReleased | None, facts: NetworkFacts
) -> _OfRelease:
    send = origin if isinstance(origin, TransferSent) else None
    received_amount = _received_amount(send, release, facts)
    return {
        "released_at": release.at if release else None,
        "relayed_amount": received_amount if send and send.kind is SendKind.POOL else None,
        "received_amount": received_amount,
    }


class _Hashes(TypedDict):
    src_tx_hash: str | None
    dst_tx_hash: str | None
    other_hashes: tuple[str, ...]


def _hashes(canonical: CanonicalEvents, log: Sequence[Logged[TransferEvent]]) -> _Hashes:
    src, dst = _src_tx_hash(canonical), _dst_tx_hash(canonical)
    return {
        "src_tx_hash": src,
        "dst_tx_hash": dst,
        "other_hashes": tuple(sorted(_tx_hashes(log) - {src, dst})),
    }


def settled_block(canonical: CanonicalEvents, status: TransferHistoryStatus) -> BlockNumber | None:
    """The block of the event that ended the transfer; None before the end, and where the event names none."""
    event: BlockEvent | None = None
    if status is TransferHistoryStatus.TRANSFER_COMPLETED:
        event = canonical.first(TransferReleased)
    elif status is TransferHistoryStatus.TRANSFER_FAILED:
        event = canonical.first(TransferFailed)
    elif status is TransferHistoryStatus.TRANSFER_REFUNDED:
        event = canonical.first(RefundCompleted)
    return None if event is None else event.block


def _tx_hashes(log: Sequence[Logged[TransferEvent]]) -> set[str]:
    """Every transaction that an accepted event names, whether or not the event is canonical."""
    return {
        tx_hash
        for logged in log
        for name in ("src_tx_hash", "dst_tx_hash", "tx_hash")
        if (tx_hash := getattr(logged.event, name, None)) is not None
    }


def _served(refund: TransferRefund, answer: StatusAnswer) -> RefundEvidence | None:
    is_served = answer.status is TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED
    return refund.evidence if is_served else None


def _updated_at(history: TransferHistory, canonical: CanonicalEvents, since: datetime | None) -> datetime:
    """The newest time that changed something. Refund requests and signatures only change the status."""
    silent = (RefundPrepared, RefundSigned)
    times = [e.at for t, events in canonical.by_type.items() if t not in silent for e in events]
    if since is not None:
        times.append(since)
    return max(times) if times else max(logged.event.at for logged in history.log)


def _src_tx_hash(canonical: CanonicalEvents) -> str | None:
    send = canonical.first(TransferSent) or canonical.first(TransferSubmitted)
    return send.src_tx_hash if send else None


def _dst_tx_hash(canonical: CanonicalEvents) -> str | None:
    payout = canonical.first(TransferReleased) or canonical.first(TransferDelayed)
    return payout.dst_tx_hash if payout else None


def _began_at(counted: Sequence[Logged[TransferEvent]], origin: Origin) -> datetime | None:
    """When the transfer was first reported: its earliest submission or send, canonical or not.

    So neither its send nor a reorg changes the time, and pages of a history can be ordered by it. Where a
    send is proven, unproven ones do not count.
    """
    named = (each.event for each in counted if isinstance(each.event, TransferSent | TransferSubmitted))
    times = (
        event.at
        for event in named
        if not (origin.is_proven and isinstance(event, TransferSent) and not is_proven(event))
    )
    return min(times, default=None)


def _received_amount(
    send: TransferSent | None, release: TransferReleased | None, facts: NetworkFacts
) -> int | None:
    """In destination units. None without a release, or where it is unknown. Where the release has no amount,
    it is the amount sent, scaled and rounded down.
    """
    if release is None or release.amount is not None:
        return release.amount if release else None
    if send is None:
        return None
    return facts.scaled_down(send.amount, send.taken)
