"""The events of a transfer in words, canonical or not."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeVar, cast

from msgspec import Struct
from sqlalchemy import Connection, Row

from app.console.transfers.components import Transaction, amount_of, chain_name_of, transaction
from app.console.transfers.labels import KIND_WORDS, NETWORK_WORDS
from app.network.rules.terms import NetworkTerms
from app.transfers.queries.anomalies import MOST_EVENTS, entries_at, receipts
from app.transfers.rules.certainty import WATCHER
from app.transfers.rules.events.codec import decode_event
from app.transfers.rules.events.events import (
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
from app.transfers.rules.reported import (
    AcceptanceOutcome,
    EventOutcome,
    TransferHistory,
    event_outcomes,
)

E = TypeVar("E", bound=TransferEvent)


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
    """Every acceptance, in the order of the events' times. Of a very long log only the first ones."""
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
        canonical=entry.stands,
        why_not_counted=_why_not_counted(entry, ended_by, context),
    )


def _transaction(event: TransferEvent, context: Context) -> Transaction | None:
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
    EventOutcome.STANDS: "",
    EventOutcome.SEND_GONE: "Not valid, because the send that it confirms is not",
    EventOutcome.AHEAD: "Not yet valid: its time is ahead of the gateway's clock",
    EventOutcome.REPEATED: "Replaced: it was reported again later",
    EventOutcome.QUARANTINED: (
        "Does not count yet: its reporter is limited to some chains, and the send is not known"
    ),
    EventOutcome.NOT_COUNTED: (
        "Does not count: by the transfer's send it is not of the chain it was reported for"
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
