"""The page of one transfer: its stages, its events, and a reply to its user ready to copy.

The reply uses the sentences of the user's page (``app.transfer_page.rules.words``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, Row

from app.console.transfers.components import (
    AmountText,
    AnomalyLine,
    ChainName,
    Transaction,
    TransferLine,
    amount_of,
    anomaly_line,
    chain_name,
    chain_name_of,
    transaction,
    transfer_line,
)
from app.console.transfers.labels import (
    KIND_WORDS,
    NETWORK_WORDS,
    NEXT_ACTOR_WORDS,
    REFUND_REASONS,
    STAGE_WORDS,
)
from app.console.transfers.waits import WaitWords, wait_words
from app.db.database import Database
from app.db.engine import reading, reading_consistently
from app.network.queries import load_contacts, load_network_facts
from app.network.rules.terms import NetworkTerms
from app.network.snapshot import NetworkSnapshot, SnapshotSource
from app.refunds.queries import load_histories
from app.refunds.rules.explanation import RefundExplanation
from app.refunds.rules.waits import Contacts, RefundView, Wait, Waiting, refund_view, waiting_for
from app.refunds.services import evidence_of
from app.transfer_page.rules.steps import THE_PAYOUT, YOUR_REFUND, YOUR_TRANSACTION
from app.transfer_page.rules.words import Situation, explain
from app.transfers.queries.anomalies import MOST_EVENTS, anomalies_of, entries_at, receipts
from app.transfers.queries.lists import transfers_with_ids
from app.transfers.queries.trends import progress_of_chain
from app.transfers.rules.certainty import WATCHER
from app.transfers.rules.events.canonical import ChainReading
from app.transfers.rules.events.codec import decode_event
from app.transfers.rules.events.event_types import (
    BlockEvent,
    ChainReorged,
    EventsRetracted,
    NetworkStatus,
    RefundSigned,
    TransferEvent,
    TransferFailed,
    TransferReleased,
    TransferSent,
    TransferSubmitted,
)
from app.transfers.rules.history import (
    AcceptanceOutcome,
    EventOutcome,
    TransferHistory,
    event_outcomes,
)
from app.transfers.rules.projected import TransferState, transfer_state
from app.transfers.rules.status import WITHDRAWS
from app.transfers.rules.stuck import Progress, StageName, stages_of
from app.transfers.services.status import progress_of_row, transfer_not_found
from app.values.amounts import grouped
from app.values.codes import REFUND_STATUSES
from app.values.identifiers import TransferId


class EventLine(Struct, frozen=True):
    """One acceptance of one event.

    ``at`` is when it happened, ``received_at`` when it was accepted. ``canonical`` says whether it counts,
    ``why_not_counted`` why not, in words. ``words`` is what it reports beyond its ``label``.
    """

    seq: int
    event_id: str
    type: str
    label: str
    words: str
    at: datetime
    received_at: datetime
    reporter: str
    chain: str
    block: int | None
    transaction: Transaction | None
    canonical: bool
    why_not_counted: str


class Context(Struct, frozen=True):
    """The facts that describe a transfer's events. ``signers`` are addresses by signature, both 0x hex."""

    terms: NetworkTerms
    src_chain_id: int | None
    dst_chain_id: int | None
    symbol: str | None
    signers: Mapping[str, str]


def event_lines(connection: Connection, history: TransferHistory, context: Context) -> tuple[EventLine, ...]:
    """The first acceptances, at most ``MOST_EVENTS``, in the order of the events' times."""
    known = {row.seq: row for row in receipts(connection, history.transfer_id)}
    entry = [each for each in event_outcomes(history) if each.seq in known][:MOST_EVENTS]
    ended_by = {row.seq: row for row in entries_at(connection, {each.by for each in entry if each.by})}
    lines = (_line(each, known[each.seq], ended_by, context) for each in entry)
    return tuple(sorted(lines, key=lambda line: (line.at, line.seq)))


def _line(
    entry: AcceptanceOutcome,
    receipt: Row[*tuple[Any, ...]],
    ended_by: Mapping[int, Row[*tuple[Any, ...]]],
    context: Context,
) -> EventLine:
    event = entry.event
    chain = chain_name_of(context.terms.chain_infos, entry.chain_id)
    return EventLine(
        seq=entry.seq,
        event_id=event.id,
        type=event.type,
        label=event.label,
        words=_words(event, context),
        at=event.at,
        received_at=receipt.received_at,
        reporter=receipt.reporter,
        chain=chain.name if chain else "",
        block=getattr(event, "block", None),
        transaction=_transaction(event, context),
        canonical=entry.is_canonical,
        why_not_counted=_why_not_counted(entry, ended_by, context),
    )


def _transaction(event: TransferEvent, context: Context) -> Transaction | None:
    """The transaction that the event names, else None. A ``tx_hash`` is one on the source chain."""
    chains = context.terms.chain_infos
    for name, chain_id in (
        ("src_tx_hash", getattr(event, "src_chain_id", context.src_chain_id)),
        ("dst_tx_hash", context.dst_chain_id),
        ("tx_hash", context.src_chain_id),
    ):
        if found := transaction(chains, chain_id, getattr(event, name, None)):
            return found
    return None


_NOT_COUNTED: Final[dict[EventOutcome, str]] = {
    EventOutcome.CANONICAL: "",
    EventOutcome.SEND_GONE: "Not valid, because the send that it confirms is not valid",
    EventOutcome.AHEAD: "Not yet valid: its time is ahead of the gateway's clock",
    EventOutcome.REPEATED: "Replaced: it was reported again later",
    EventOutcome.QUARANTINED: (
        "Does not count yet: its reporter is limited to some chains, and the send is not known"
    ),
    EventOutcome.NOT_COUNTED: (
        "Does not count: it was reported for a chain that does not match the transfer's send"
    ),
}


def _why_not_counted(
    entry: AcceptanceOutcome, ended_by: Mapping[int, Row[*tuple[Any, ...]]], context: Context
) -> str:
    by = ended_by.get(entry.by) if entry.by is not None else None
    match entry.outcome:
        case EventOutcome.REORGANISED if by is not None:
            chain = chain_name_of(context.terms.chain_infos, by.chain_id)
            who = chain.name if chain else "the chain"
            reorg = cast("ChainReorged", decode_event(by.event_id, by.type, by.body))
            return f"Its block was orphaned: {who} reorganised from block {reorg.from_block}"
        case EventOutcome.RETRACTED if by is not None:
            retraction = cast("EventsRetracted", decode_event(by.event_id, by.type, by.body))
            who = "the watcher" if by.reporter == WATCHER else "an operator"
            return f"Retracted by {who}: {retraction.reason}"
        case outcome:
            return _NOT_COUNTED.get(outcome, "Retracted")


def _words(event: TransferEvent, context: Context) -> str:
    """What the event reports beyond its label."""
    match event:
        case TransferSent() | TransferSubmitted():
            return _sent(event, context)
        case TransferFailed():
            return event.reason or ""
        case NetworkStatus():
            return f"{NETWORK_WORDS.get(event.xfer_status, '')} ({event.xfer_status.name})"
        case TransferReleased():
            amount = amount_of(context.terms, context.dst_chain_id, context.symbol, event.amount)
            return str(amount) if amount else ""
        case RefundSigned():
            signer = context.signers.get(f"0x{event.signature.hex()}")
            return f"by {signer}" if signer else "by a key that does not count for the request shown"
        case _:
            delayed_id = getattr(event, "delayed_id", None)
            return f"under the id {delayed_id}" if delayed_id else ""


def _sent(event: TransferSent | TransferSubmitted, context: Context) -> str:
    chains = context.terms.chain_infos
    token = event.symbol or getattr(event, "token", None)
    amount = amount_of(context.terms, event.src_chain_id, token, event.amount)
    src, dst = chain_name_of(chains, event.src_chain_id), chain_name_of(chains, event.dst_chain_id)
    parts = [
        str(amount) if amount else "",
        f"from {src.name}" if src else "",
        f"to {dst.name}" if dst else "",
    ]
    kind = f" ({KIND_WORDS[event.kind].lower()})" if isinstance(event, TransferSent) else ""
    return " ".join(part for part in parts if part) + kind


REFUND_TRANSACTIONS: Final = frozenset(each.type for each in WITHDRAWS)


class StageLine(Struct, frozen=True):
    """One stage of the transfer; ``event_ids`` are the canonical events that report it."""

    name: StageName
    label: str
    progress: Progress
    at: datetime | None
    event_ids: tuple[str, ...]


class TransferDetail(Struct, frozen=True):
    """A transfer as its page shows it, read from one view of the database.

    ``next_actor`` and ``next_poll_seconds`` (0 where it is over) are those of the status answer. ``paid_out``
    is the amount released, in destination units; None before the release, and where no event has the amount.
    ``refund_reason`` is empty unless it is refunded. ``requested_at`` is when the user requested the refund.
    ``refund`` is None until a refund is due or evidence of one is known. ``waiting`` is what it waits for,
    and ``wait_words`` the same in words; None where it has ended. ``events`` are in the order in which they
    happened, and include those that are no longer canonical.
    """

    line: TransferLine
    now: datetime
    next_actor: str
    next_poll_seconds: int
    kind: str
    refund_reason: str
    requested_at: datetime | None
    block_delay: int
    paid_out: AmountText | None
    src_transaction: Transaction | None
    dst_transaction: Transaction | None
    refund_transaction: Transaction | None
    stages: tuple[StageLine, ...]
    events: tuple[EventLine, ...]
    refund: RefundView | None
    waiting: Waiting | None
    wait_words: WaitWords | None
    readings: tuple[ReadChain, ...]
    anomalies: tuple[AnomalyLine, ...]


class ReadChain(Struct, frozen=True):
    """How far a chain of the transfer is read; ``reading`` is None where nothing of it was ever reported."""

    chain: ChainName
    reading: ChainReading | None


def transfer_detail(database: Database, snapshots: SnapshotSource, transfer_id: TransferId) -> TransferDetail:
    """The transfer, projected again from its log as the feed does. Writes nothing.

    :param transfer_id: 32 bytes.
    :raises GatewayError: no such transfer; the message says how fresh the gateway's view is.
    :raises Unavailable: the configuration cannot be read.
    """
    snapshot = snapshots.current()
    with reading_consistently(database.engine) as connection:
        found = _read(connection, snapshot.terms, transfer_id)
    if found is None:
        raise transfer_not_found(database, snapshot, transfer_id)
    return _detail(database, snapshot, found)


def line_without_log(
    database: Database, snapshots: SnapshotSource, transfer_id: TransferId
) -> TransferLine | None:
    """The stored line of a transfer without events; None where there is no such transfer.

    :raises Unavailable: the configuration cannot be read.
    """
    terms = snapshots.current().terms
    with reading(database.reads) as connection:
        rows = transfers_with_ids(connection, [transfer_id])
    return transfer_line(terms, rows[0]) if rows else None


class _Found(Struct, frozen=True):
    """What one view of the database has about a transfer."""

    history: TransferHistory
    state: TransferState
    evidence: RefundExplanation
    lines: tuple[EventLine, ...]
    anomalies: tuple[AnomalyLine, ...]
    contacts: Contacts
    readings: tuple[ReadChain, ...]


def _read(connection: Connection, terms: NetworkTerms, transfer_id: TransferId) -> _Found | None:
    """None where there is no event."""
    history = load_histories(connection, [transfer_id])[transfer_id]
    if not history.log:
        return None
    facts = load_network_facts(connection)
    state = transfer_state(history, facts)
    evidence = evidence_of(history, state.status, facts, terms.chain_infos)
    lines = event_lines(connection, history, _context(terms, state, evidence))
    anomalies = tuple(anomaly_line(row) for row in anomalies_of(connection, transfer_id))
    contacts, readings = load_contacts(connection), tuple(_readings(connection, terms, state))
    return _Found(history, state, evidence, lines, anomalies, contacts, readings)


def _readings(connection: Connection, terms: NetworkTerms, state: TransferState) -> Iterator[ReadChain]:
    """How far its chains are read, each named once."""
    for chain_id in dict.fromkeys((state.src_chain_id, state.dst_chain_id)):
        if chain_id is not None:
            yield ReadChain(chain_name(terms.chain_infos, chain_id), progress_of_chain(connection, chain_id))


def _detail(database: Database, snapshot: NetworkSnapshot, found: _Found) -> TransferDetail:
    terms = snapshot.terms
    history, state, evidence, lines = found.history, found.state, found.evidence, found.lines
    progress = progress_of_row(database, snapshot, state)
    line, refund = transfer_line(terms, state), refund_view(evidence)
    in_a_block = state.sent_at is not None
    waiting = waiting_for(state.status, state.status_since, refund, found.contacts, in_a_block=in_a_block)
    if waiting is not None:
        waiting = _with_depth(terms, found, waiting)
    return TransferDetail(
        line=line,
        now=database.clock(),
        next_actor=NEXT_ACTOR_WORDS[progress.next_actor],
        next_poll_seconds=progress.next_poll_seconds,
        kind=KIND_WORDS[state.kind] if state.kind else "",
        refund_reason=_reason(history, state),
        requested_at=history.requested_at,
        block_delay=_block_delay(terms, state),
        paid_out=_paid_out(terms, history, state),
        src_transaction=transaction(terms.chain_infos, state.src_chain_id, state.src_tx_hash),
        dst_transaction=transaction(terms.chain_infos, state.dst_chain_id, state.dst_tx_hash),
        refund_transaction=_refund_transaction(lines),
        stages=_stages(history, state),
        events=lines,
        refund=refund if state.status in REFUND_STATUSES or evidence.wd_onchain else None,
        waiting=waiting,
        wait_words=None if waiting is None else wait_words(waiting, line.src, line.dst),
        readings=found.readings,
        anomalies=found.anomalies,
    )


def _with_depth(terms: NetworkTerms, found: _Found, waiting: Waiting) -> Waiting:
    """With how many blocks are known on top of the one that has to become final, where that is known.

    If enough blocks are known, the report is missing, not blocks.
    """
    canonical, events = found.history.canonical(), list[BlockEvent]()
    if waiting.what is Wait.FINALITY:
        events = [*canonical.every(TransferSent)]
    elif waiting.what is Wait.REFUND_FINALITY:
        events = [*canonical.refunds_under_way]
    block = next((event.block for event in events if event.block is not None), None)
    src = next((each.reading for each in found.readings if each.chain.id == found.state.src_chain_id), None)
    if block is None or src is None or src.highest_block is None:
        return waiting
    delay, known = _block_delay(terms, found.state), max(0, src.highest_block - block)
    needed = f" of {grouped(delay)}" if waiting.what is Wait.FINALITY and delay else ""
    depth = f"{grouped(known)}{needed} blocks are known on top of block {grouped(block)}"
    what = Wait.FINALITY_REPORT if delay and known > delay else waiting.what
    return replace(waiting, what=what, details=(depth,))


def _context(terms: NetworkTerms, state: TransferState, evidence: RefundExplanation) -> Context:
    signers = {row.signature: row.address for row in evidence.signers if row.signature is not None}
    return Context(terms, state.src_chain_id, state.dst_chain_id, state.symbol, signers)


def _reason(history: TransferHistory, state: TransferState) -> str:
    """Why it is refunded: the last of the validators' decisions that names a reason."""
    if state.status not in REFUND_STATUSES:
        return ""
    decisions = [event.xfer_status for event in history.canonical().every(NetworkStatus)]
    return next((REFUND_REASONS[each] for each in reversed(decisions) if each.is_bad), "")


def _block_delay(terms: NetworkTerms, state: TransferState) -> int:
    info = terms.chain_infos.get(state.src_chain_id) if state.src_chain_id is not None else None
    return info.block_delay if info else 0


def _paid_out(terms: NetworkTerms, history: TransferHistory, state: TransferState) -> AmountText | None:
    release = history.canonical().first(TransferReleased)
    return amount_of(terms, state.dst_chain_id, state.symbol, release.amount) if release else None


def _refund_transaction(lines: tuple[EventLine, ...]) -> Transaction | None:
    """The transaction that pays the refund, by the last canonical event."""
    paid = [
        line.transaction
        for line in lines
        if line.canonical and line.transaction and line.type in REFUND_TRANSACTIONS
    ]
    return paid[-1] if paid else None


def _stages(history: TransferHistory, state: TransferState) -> tuple[StageLine, ...]:
    return tuple(
        StageLine(stage.name, STAGE_WORDS[stage.name], stage.progress, stage.at, stage.event_ids)
        for stage in stages_of(history.canonical(), state.status, history.requested_at)
    )


class TimelineStage(Struct, frozen=True):
    """A stage and its canonical events.

    ``took`` is the time since the last reported stage before it. ``lasting`` is how long the transfer has
    been at this stage; None for every stage but the current one.
    """

    stage: StageLine
    took: timedelta | None
    lasting: timedelta | None
    events: tuple[EventLine, ...]


class Timeline(Struct, frozen=True):
    """The stages in their order. ``others`` are all other events, also those that are no longer canonical."""

    stages: tuple[TimelineStage, ...]
    others: tuple[EventLine, ...]


def timeline_of(detail: TransferDetail) -> Timeline:
    """The timeline of a transfer at the time at which its detail was read."""
    in_stages = {event_id for stage in detail.stages for event_id in stage.event_ids}
    others = tuple(line for line in detail.events if not (line.canonical and line.event_id in in_stages))
    return Timeline(tuple(_timeline_stages(detail)), others)


def _timeline_stages(detail: TransferDetail) -> Iterator[TimelineStage]:
    before: datetime | None = None
    for stage in detail.stages:
        events = tuple(line for line in detail.events if line.canonical and line.event_id in stage.event_ids)
        # Clocks of reporters differ, so a stage may have an earlier time than the one before it.
        took = stage.at - before if stage.at and before and stage.at >= before else None
        since = detail.line.since
        lasting = detail.now - since if stage.progress is Progress.CURRENT and since else None
        yield TimelineStage(stage, took, lasting, events)
        before = stage.at or before


def reply_to_user(detail: TransferDetail, page: str = "") -> str:
    """The reply, in paragraphs divided by an empty line, without a greeting.

    :param page: the address of the page where the user can follow the transfer; empty where there is none.
    """
    paragraphs = [explain(_situation(detail)).text, *_links(detail)]
    if page:
        paragraphs.append(f"You can follow your transfer here: {page}")
    return "\n\n".join([*paragraphs, f"Transfer id: {detail.line.transfer_id}"])


def reply_about_unknown(given: str) -> str:
    """The reply to somebody who sent a hash, an id or an account of which no transfer is known."""
    return (
        f"We cannot find a transfer with {given}.\n\n"
        "A transfer appears some minutes after its transaction is in a block. Please look at the transaction "
        "in your wallet: did it succeed, on which chain is it, and was it sent to the bridge? If it failed "
        "or was dropped, nothing was taken, and you can send again.\n\n"
        "If it succeeded, please send us the link to the transaction in the block explorer, and the address "
        "that you sent from."
    )


def _situation(detail: TransferDetail) -> Situation:
    line, refund = detail.line, detail.refund
    return Situation(
        status=line.status,
        refund_reason=line.refund_reason,
        amount=_amount(line.amount),
        paid_out=_amount(detail.paid_out),
        src=_name(line.src),
        dst=_name(line.dst),
        sender=line.sender or "",
        receiver=line.receiver or "",
        in_a_block=line.sent_at is not None,
        block_delay=detail.block_delay,
        refund_held=refund is not None and refund.explanation.delayed is not None,
        waiting=detail.waiting,
    )


def _amount(amount: AmountText | None) -> str:
    return str(amount) if amount and amount.text else ""


def _name(chain: ChainName | None) -> str:
    return chain.name if chain and chain.known else ""


def _links(detail: TransferDetail) -> Iterator[str]:
    """Links to the transactions that are known."""
    named = (
        (YOUR_TRANSACTION, detail.src_transaction),
        (THE_PAYOUT, detail.dst_transaction),
        (YOUR_REFUND, detail.refund_transaction),
    )
    lines = [f"{name}{_on(tx)}: {tx.link or tx.tx_hash}" for name, tx in named if tx is not None]
    if lines:
        yield "\n".join(lines)


def _on(tx: Transaction) -> str:
    return f" on {tx.chain.name}" if tx.chain and tx.chain.known else ""
