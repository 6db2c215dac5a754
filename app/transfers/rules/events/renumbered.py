"""Which facts of logs were reported before under another index.

Some nodes count logs within the block, others within the transaction. So the ids of two honest reports of one
log may differ (docs/ingest.md#index). A log is known by its transaction, by what it says, and by its order
among those that say the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from app.transfers.rules.events.event_types import BlockEvent, ChainEvent, Event
from app.transfers.rules.events.keys import EventKey, in_block_order
from app.transfers.rules.events.merging import agree
from app.values.identifiers import ChainId

_OF_LOG: Final = re.compile(r"((?P<tx>(?P<chain>[0-9]+):0x[0-9a-f]{64}:0x[0-9a-f]{64}):[0-9]+)(?P<rest>:.*)?")


class LogName(NamedTuple):
    """The parts of the id of a fact of a log.

    :param log: the id of the log's first fact.
    :param tx: what the ids of all facts of the transaction begin with.
    :param rest: what a further fact appends.
    """

    log: str
    tx: str
    chain_id: ChainId
    rest: str


def log_name(event: Event) -> LogName | None:
    """The parts of an event's id; None where it does not name a log."""
    if not isinstance(event, BlockEvent | ChainEvent) or (match := _OF_LOG.fullmatch(event.id)) is None:
        return None
    return LogName(match[1], match["tx"], ChainId(int(match["chain"])), match["rest"] or "")


def as_reported_before(events: Sequence[Event], reported: Iterable[Event]) -> list[Event]:
    """The events of one report, each under the id that its fact was reported by before.

    Of several that say the same, the first by its id is the first of those that were reported, and so on.
    Where there are more than were reported before, the others are new. A new fact keeps its id, unless the
    fact with this id is another event of the report: then it gets the id of a further fact.

    :param reported: in the order of the log. Of one id there may be several, with different fields.
    """
    known = _by_transaction(reported)
    found: dict[Event, Event] = {}
    for key, of_subject in _by_subject(events, known).items():
        found |= _pairs(of_subject, known[key])
    logs = {_log(event): _log(first) for event, first in found.items()}
    taken = {first.key for event, first in found.items() if event.id != first.id}
    return [found.get(event) or _new(event, known, logs, taken) for event in events]


class _Subject(NamedTuple):
    tx: str
    subject: str


_Known = Mapping[_Subject, Mapping[str, Sequence[Event]]]
"""By id, and these in the order of the chain, what was reported of one subject."""


def _by_transaction(reported: Iterable[Event]) -> _Known:
    found: dict[_Subject, dict[str, list[Event]]] = defaultdict(lambda: defaultdict(list))
    for event in reported:
        if (name := log_name(event)) is not None:
            found[_Subject(name.tx, event.subject)][event.id].append(event)
    return {
        key: dict(sorted(by_id.items(), key=lambda item: in_block_order(item[0])))
        for key, by_id in found.items()
    }


def _by_subject(events: Iterable[Event], known: _Known) -> Mapping[_Subject, Sequence[Event]]:
    """The events of the subjects of which anything was reported, each once and in the order of the chain."""
    found: dict[_Subject, list[Event]] = defaultdict(list)
    for event in dict.fromkeys(events):
        if (name := log_name(event)) and (key := _Subject(name.tx, event.subject)) in known:
            found[key].append(event)
    for of_subject in found.values():
        of_subject.sort(key=lambda event: in_block_order(event.id))
    return found


def _pairs(events: Sequence[Event], known: Mapping[str, Sequence[Event]]) -> dict[Event, Event]:
    """The events of a subject that say what was reported, under its id. What has the same id comes first."""
    found: dict[Event, Event] = {}
    free = dict(known)
    ids: dict[tuple[str, str], str] = {}
    for event in events:
        if event.id in free and (first := _under(event, free[event.id])) is not None:
            found[event], ids[event.type, event.id] = first, event.id
    for event_id in ids.values():
        free.pop(event_id, None)
    for event in events:
        name = event.type, event.id
        wanted = [ids[name]] if name in ids else list(free)
        for event_id in wanted:
            if event not in found and (first := _under(event, known[event_id])) is not None:
                found[event], ids[name] = first, event_id
                free.pop(event_id, None)
    return found


def is_among(event: Event, others: Iterable[Event]) -> bool:
    """Whether one of the others says the same of the same log, under any id."""
    return any(
        other.subject == event.subject and type(other) is type(event) and _under(other, [event]) is not None
        for other in others
    )


def _under(event: Event, contents: Sequence[Event]) -> Event | None:
    """The event under the id of what was reported; None where that says something else."""
    for content in reversed(contents):
        index = getattr(content, "log_index", None)
        changes = {} if index is None else {"log_index": index}
        first = replace(event, id=content.id, **changes)
        if agree(replace(first, at=content.at), content):
            return first
    return None


def _new(event: Event, known: _Known, logs: Mapping[str, str], taken: Collection[EventKey]) -> Event:
    """A fact that was not reported before, under an id of its own."""
    if (name := log_name(event)) is None:
        return event
    if name.log in logs:  # it belongs to a fact that was
        return replace(event, id=logs[name.log] + name.rest)
    if event.key in taken:
        reported = known[_Subject(name.tx, event.subject)]
        while event.id in reported:
            event = replace(event, id=f"{event.id}:{event.type}")
    return event


def _log(event: Event) -> str:
    name = log_name(event)
    return event.id if name is None else name.log
