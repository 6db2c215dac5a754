"""The page of one transfer."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from app.admin.pages.components import (
    AmountText,
    AnomalyLine,
    Transaction,
    TransferLine,
    amount_of,
    anomaly_line,
    transaction,
    transfer_line,
)
from app.admin.pages.event_lines import Context, EventLine, event_lines
from app.admin.pages.labels import KIND_WORDS, NEXT_ACTOR_WORDS, REFUND_REASONS, STAGE_WORDS
from app.admin.pages.refunds import RefundView, refund_view
from app.db.engine import reading, reading_consistently
from app.domain.codes import REFUND_STATUSES, XferStatus
from app.domain.codes import TransferHistoryStatus as Status
from app.domain.estimate.network_terms import NetworkTerms
from app.domain.keys import TransferId
from app.domain.refund.explanation import RefundExplanation
from app.domain.transfer.event_types import EventType
from app.domain.transfer.events import TransferReleased
from app.domain.transfer.history import TransferHistory
from app.domain.transfer.stages import Progress, StageName, stages_of
from app.domain.transfer.state import TransferState, transfer_state
from app.queries.feed.facts import load_network_facts
from app.queries.feed.histories import load_histories
from app.queries.transfers.anomalies import anomalies_of
from app.queries.transfers.lists import transfers_with_ids
from app.runtime.gateway import Gateway
from app.services.refunds.evidence import evidence_of
from app.services.transfers.progress import progress_of_row
from app.services.transfers.status import transfer_not_found

REFUND_TRANSACTIONS: Final = (
    EventType.REFUND_SUBMITTED,
    EventType.REFUND_DELAYED,
    EventType.REFUND_COMPLETED,
)


@dataclass(frozen=True, slots=True)
class StageLine:
    """One stage of the transfer; ``event_ids`` are the standing events that report it."""

    name: StageName
    label: str
    progress: Progress
    at: datetime | None
    event_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TransferDetail:
    """A transfer as its page shows it, read from one view of the database.

    ``next_actor`` and ``next_poll_seconds`` (0 where it is over) are what clients are told beside the status.
    ``paid_out`` is what the release paid, in destination units; None before the release, and where no
    event gives the amount. ``refund_reason`` is empty unless the status is 6. ``asked_at`` is
    when the refund was asked for, through the interface. ``refund`` is None until a
    refund is due or evidence of one is known. ``events`` are in the order in which they happened, and
    include those that no longer stand.
    """

    line: TransferLine
    now: datetime
    next_actor: str
    next_poll_seconds: int
    kind: str
    refund_reason: str
    asked_at: datetime | None
    block_delay: int
    paid_out: AmountText | None
    src_transaction: Transaction | None
    dst_transaction: Transaction | None
    refund_transaction: Transaction | None
    stages: tuple[StageLine, ...]
    events: tuple[EventLine, ...]
    refund: RefundView | None
    anomalies: tuple[AnomalyLine, ...]


def transfer_detail(gateway: Gateway, transfer_id: TransferId) -> TransferDetail:
    """The transfer, folded again from its log as the feed folds it. Writes nothing.

    :param transfer_id: 32 bytes.
    :raises GatewayError: no such transfer; the message says how fresh the gateway's view is.
    :raises Unavailable: the configuration cannot be read.
    """
    terms = gateway.snapshots.current().terms
    with reading_consistently(gateway.engine) as connection:
        history = load_histories(connection, [transfer_id])[transfer_id]
        if history.log:
            return _detail(gateway, connection, terms, history)
    raise transfer_not_found(gateway, transfer_id)


def line_without_log(gateway: Gateway, transfer_id: TransferId) -> TransferLine | None:
    """What is kept of a transfer of which there are no events; None where there is no such transfer.

    :raises Unavailable: the configuration cannot be read.
    """
    terms = gateway.snapshots.current().terms
    with reading(gateway.reads) as connection:
        rows = transfers_with_ids(connection, [transfer_id])
    return transfer_line(terms, rows[0]) if rows else None


def _detail(
    gateway: Gateway, connection: Connection, terms: NetworkTerms, history: TransferHistory
) -> TransferDetail:
    facts = load_network_facts(connection)
    state = transfer_state(history, facts)
    evidence = evidence_of(history, state.status, facts, terms.chain_infos)
    progress = progress_of_row(gateway, state)
    lines = event_lines(connection, history, _context(terms, state, evidence))
    anomalies = anomalies_of(connection, history.transfer_id)
    return TransferDetail(
        line=transfer_line(terms, state),
        now=gateway.clock(),
        next_actor=NEXT_ACTOR_WORDS[progress.next_actor],
        next_poll_seconds=progress.next_poll_seconds,
        kind=KIND_WORDS[state.kind] if state.kind else "",
        refund_reason=_reason(state),
        asked_at=history.asked_at,
        block_delay=_block_delay(terms, state),
        paid_out=_paid_out(terms, history, state),
        src_transaction=transaction(terms.chain_infos, state.src_chain_id, state.src_tx_hash),
        dst_transaction=transaction(terms.chain_infos, state.dst_chain_id, state.dst_tx_hash),
        refund_transaction=_refund_transaction(lines),
        stages=_stages(history, state),
        events=lines,
        refund=refund_view(evidence) if state.status in REFUND_STATUSES or evidence.wd_onchain else None,
        anomalies=tuple(anomaly_line(row) for row in anomalies),
    )


def _context(terms: NetworkTerms, state: TransferState, evidence: RefundExplanation) -> Context:
    signers = {row.signature: row.address for row in evidence.signers if row.signature is not None}
    return Context(terms, state.src_chain_id, state.dst_chain_id, state.symbol, signers)


def _reason(state: TransferState) -> str:
    if state.status is not Status.TRANSFER_TO_BE_REFUNDED or state.refund_reason is XferStatus.UNKNOWN:
        return ""
    return REFUND_REASONS[state.refund_reason]


def _block_delay(terms: NetworkTerms, state: TransferState) -> int:
    info = terms.chain_infos.get(state.src_chain_id) if state.src_chain_id is not None else None
    return info.block_delay if info else 0


def _paid_out(terms: NetworkTerms, history: TransferHistory, state: TransferState) -> AmountText | None:
    release = history.standing().first(TransferReleased)
    return amount_of(terms, state.dst_chain_id, state.symbol, release.amount) if release else None


def _refund_transaction(lines: tuple[EventLine, ...]) -> Transaction | None:
    """The transaction that pays the refund, as the last standing event has it."""
    paid = [
        line.transaction
        for line in lines
        if line.stands and line.transaction and line.type in REFUND_TRANSACTIONS
    ]
    return paid[-1] if paid else None


def _stages(history: TransferHistory, state: TransferState) -> tuple[StageLine, ...]:
    return tuple(
        StageLine(stage.name, STAGE_WORDS[stage.name], stage.progress, stage.at, stage.event_ids)
        for stage in stages_of(history.standing(), state.status, history.asked_at)
    )
