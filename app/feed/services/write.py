"""Writes the results of verdicts: anomalies, the log, and everything that follows from the new entries."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from datetime import datetime
from itertools import groupby

from msgspec.structs import replace
from sqlalchemy import Connection

from app.feed.projection import chains, pools
from app.feed.projection.anomalies import raise_two_contents
from app.feed.projection.contradicted import forget_contradicted_from
from app.feed.projection.journal import Place, Step, note_cause
from app.feed.projection.signatures import quarantine
from app.feed.projection.transfers import project
from app.feed.services import retract
from app.feed.services.log import append, drop_heads, drop_superseded
from app.refunds.queries import transfers_by_id
from app.transfers.rules.events.canonical import is_ahead
from app.transfers.rules.events.event_types import (
    ChainEvent,
    ChainReorged,
    Event,
    EventsRetracted,
    FeeUpdated,
    LiquidityAdded,
    LiquidityWithdrawn,
    RefundSigned,
    TransferEvent,
    ValidatorsUpdated,
)
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.refunds.request_message import withdraw_ids_of
from app.transfers.rules.validation import Accepted, Known, LogEntry, Refused, Repeated, Verdict
from app.values.identifiers import ChainId, TransferId


def write(
    connection: Connection,
    reported: Sequence[Event],
    verdicts: Sequence[Verdict],
    known: Known,
    *,
    reporters: Sequence[str],
    now: datetime,
) -> None:
    """Write one validated segment. The caller is the only writer.

    :param verdicts: one for each event of ``reported``; ``reporters`` likewise.
    :param known: as validation left it.
    """
    entries: list[LogEntry] = []
    for event, verdict in zip(reported, verdicts, strict=True):
        if isinstance(verdict, Refused):
            if verdict.two_contents:
                raise_two_contents(connection, event, now)
        elif verdict.entry is not None:
            entries.append(verdict.entry)
    quarantine(connection, _may_become_valid(reported, verdicts, reporters), now)
    ahead = {entry.seq for entry in entries if is_ahead(entry.event, now)}
    transfers = [[_step(history, ahead) for history in steps] for steps in known.steps.values()]
    new = [verdict.entry.event for verdict in verdicts if isinstance(verdict, Accepted)]
    accepted = entries
    append(connection, entries, now)
    if entries:
        note_cause(connection, entries[-1].seq)
    if transfers:
        project(connection, transfers, known.facts, now)
    if ahead:
        entries = [entry for entry in entries if entry.seq not in ahead]
        new = [event for event in new if not is_ahead(event, now)]
    _project(connection, entries, new, now)
    drop_heads(connection, entries, known.max_reorg_blocks)
    repeated = (verdict.entry for verdict in verdicts if isinstance(verdict, Repeated))
    drop_superseded(connection, accepted, {entry.seq for entry in repeated if entry is not None})


def divided(connection: Connection, events: Sequence[Event], known: Known) -> list[int]:
    """The sizes of the groups in which a segment's events are validated and written, one after the other.

    Events that change transfers they do not name are written one at a time, so that each change is published
    at the position of its own entry. They are rare: withdraws under an id that refund requests of several
    transfers have, or several validator sets of a chain with open refunds. All others are written together.
    """
    reaching = _reaching_others(connection, events, known)
    return [
        number
        for single, group in groupby(reaching)
        for number in ([1] * len(list(group)) if single else [len(list(group))])
    ]


def _reaching_others(connection: Connection, events: Sequence[Event], known: Known) -> list[bool]:
    rotated = {event.chain_id for event in events if isinstance(event, ValidatorsUpdated)}
    if rotated:
        return [chains.has_open_refunds(connection, rotated)] * len(events)
    histories = [steps[-1] for steps in known.steps.values()]
    withdrawn = {
        each.transfer_id: set(withdraw_ids_of(each.requests)) for each in histories if each.may_be_withdrawn
    }
    used = [
        event.withdraw_id
        for event in events
        if isinstance(event, chains.WITHDRAWS) and event.withdraw_id is not None
    ]
    ids = {*used, *(each for of in withdrawn.values() for each in of)}
    if not ids:
        return [False] * len(events)
    holders = transfers_by_id(connection, ids)
    for history in histories:
        for each in ids.intersection(withdraw_ids_of(history.requests)):
            holders.setdefault(each, set()).add(history.transfer_id)
    return [_reaches_others(event, withdrawn, holders) for event in events]


def _reaches_others(
    event: Event, withdrawn: Mapping[TransferId, Set[bytes]], holders: Mapping[bytes, Set[TransferId]]
) -> bool:
    own: bytes | None = None
    uses: Iterable[bytes] = ()
    if isinstance(event, TransferEvent):
        own, uses = event.transfer_id, withdrawn.get(event.transfer_id, ())
    elif isinstance(event, chains.WITHDRAWS) and event.withdraw_id is not None:
        own, uses = getattr(event, "ref_id", None), [event.withdraw_id]
    return any(holders.get(each, set()) - {own} for each in uses)


def _step(history: TransferHistory, ahead: Set[int]) -> Step:
    place = Place(history.log[-1].seq)
    return Step(place, replace(history, ahead=history.ahead | ahead) if ahead else history)


def _may_become_valid(
    reported: Sequence[Event], verdicts: Sequence[Verdict], reporters: Sequence[str]
) -> Iterator[tuple[RefundSigned, str]]:
    """The refused signatures that a later request or validator set may make valid, with their reporters."""
    for event, verdict, reporter in zip(reported, verdicts, reporters, strict=True):
        if isinstance(event, RefundSigned) and isinstance(verdict, Refused) and verdict.aside:
            yield event, reporter


def _project(
    connection: Connection, entries: Sequence[LogEntry], new: Sequence[Event], now: datetime
) -> None:
    """Write what follows for chains and pools from entries that are in the log already.

    :param new: those of their events that were not canonical before.
    """
    events = [entry.event for entry in entries]
    of_chains = [e for e in events if isinstance(e, ChainEvent)]
    if of_chains:
        chains.project_chain_readings(connection, of_chains)
    liquidity = [e for e in new if isinstance(e, LiquidityAdded | LiquidityWithdrawn)]
    if liquidity:
        pools.project_liquidity(connection, liquidity, now)
    chains.project_accepted_withdraws(connection, of_chains, now)
    fees = [e for e in events if isinstance(e, FeeUpdated)]
    if fees:
        pools.project_fees(connection, fees)
    _project_rotations(connection, events, new, now)
    for entry in entries:
        event = entry.event
        if isinstance(event, ChainReorged):
            forget_contradicted_from(connection, event.chain_id, event.from_block)
            chains.project_reorganisation(connection, event, entry.seq, now)
        elif isinstance(event, EventsRetracted):
            retract.project_retractions(connection, entry, now)


def _project_rotations(
    connection: Connection, events: Iterable[Event], new: Iterable[Event], now: datetime
) -> None:
    """Project validator sets, those of a chain together."""
    logged: dict[ChainId, int] = Counter(e.chain_id for e in events if isinstance(e, ValidatorsUpdated))
    began: dict[ChainId, list[ValidatorsUpdated]] = defaultdict(list)
    for event in new:
        if isinstance(event, ValidatorsUpdated):
            began[event.chain_id].append(event)
    for chain_id, count in sorted(logged.items()):
        if len(began[chain_id]) == count:
            chains.project_new_validators(connection, chain_id, began[chain_id], now)
        else:  # a canonical set was reported again with more, which may change its place in the chain's order
            chains.project_validators(connection, chain_id, now)
