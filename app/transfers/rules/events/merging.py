"""The contents of events: whether two reports agree, how they are combined, and digests of pruned events.

An optional field that is missing says nothing about a fact. So two reports agree unless a field that both
have differs, and combined they have every field that either has (docs/interface/events.md#event-ids). Of a
pruned event, digests of its id and its content are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from enum import Enum, auto
from functools import cache
from hashlib import blake2b
from typing import Any, Final, TypeVar, cast

from msgspec import Struct, field
from msgspec.structs import fields, replace

from app.transfers.rules.events.contract_ids import evm_form, in_one_form, is_proven
from app.transfers.rules.events.event_types import EVENT_CLASSES, Event, TransferEvent, TransferSent
from app.transfers.rules.events.keys import EventKey

E = TypeVar("E", bound=Event)


OPTIONAL_FIELDS: Final[dict[type[Event], tuple[str, ...]]] = {
    event_class: tuple(field.name for field in fields(event_class) if not field.required)
    for event_class in EVENT_CLASSES.values()
}
"""The fields of each event that a report may leave out."""

_ACCOUNTS: Final = frozenset({"sender", "receiver", "token", "contract"})


def _is_same(name: str, mine: Any, its: Any) -> bool:
    if name in _ACCOUNTS:
        return (address := evm_form(mine)) is not None and address == evm_form(its)
    return name == "symbol" and bool(mine.casefold() == its.casefold())


def _spelled(name: str, mine: Any, its: Any) -> Any:
    """Of two spellings of a value the one that counts, whichever was reported first."""
    if name in _ACCOUNTS and len(mine) != len(its):  # one of them has its 0x
        return evm_form(mine)
    return min(mine, its)


def agree(one: Event, other: Event) -> bool:
    """Whether two reports with the same key can be about the same fact."""
    return next(differences(one, other), None) is None


def differences(one: Event, other: Event) -> Iterator[str]:
    """The fields in which two reports with the same key contradict each other."""
    if type(one) is not type(other):
        yield "type"
        return
    for name in one.__struct_fields__:
        mine, its = getattr(one, name), getattr(other, name)
        if not (mine == its or mine is None or its is None or _is_same(name, mine, its)):
            yield name


def together(known: E, reported: E) -> E:
    """Two reports that agree, combined; ``known`` itself where the other adds nothing."""
    added: dict[str, Any] = {}
    for name in known.__struct_fields__:
        mine, its = getattr(known, name), getattr(reported, name)
        if its is None or mine == its:
            continue
        value = its if mine is None else _spelled(name, mine, its)
        if value != mine:
            added[name] = value
    if not added:
        return known
    combined = replace(known, **added)
    return cast("E", in_one_form(combined)) if isinstance(combined, TransferSent) else combined


def without_optional(event: E) -> E:
    nothing: dict[str, Any] = dict.fromkeys(OPTIONAL_FIELDS[type(event)])
    return replace(event, **nothing)


CONTENT_BYTES: Final = 8
NAME_BYTES: Final = 2
VALUE_BYTES: Final = 4

Canonical = Callable[[Event], str]
"""The text of an event, equal for equal content."""


def id_digest(event_id: str) -> bytes:
    """The stored digest of a pruned event's id: 16 bytes, too many for two ids to collide by chance."""
    return blake2b(event_id.encode(), digest_size=16).digest()


def subject_digest(subject: str) -> bytes:
    """The stored digest of a pruned event's subject, in 8 bytes. It distinguishes events of the same id."""
    return blake2b(subject.encode(), digest_size=8).digest()


def content_digest(event: Event, canonical: Canonical) -> bytes:
    """The stored digest of an event's content, which shows another content of the same id: ``CONTENT_BYTES``
    for the required fields, and ``NAME_BYTES`` and ``VALUE_BYTES`` for each further field.
    """
    further = (
        _name_digest(name) + _digest(f"{name} {value!r}", VALUE_BYTES)
        for name in OPTIONAL_FIELDS[type(event)]
        if (value := getattr(event, name)) is not None
    )
    return whole_digest(without_optional(event), canonical) + b"".join(further)


def whole_digest(event: Event, canonical: Canonical) -> bytes:
    """The digest of the whole content that was stored before fields could be missing."""
    return _digest(f"{event.type} {canonical(event)}", CONTENT_BYTES)


def _agrees(stored: bytes, event: Event, canonical: Canonical) -> bool:
    """Whether the event can be the one of which this digest was stored."""
    found = content_digest(event, canonical)
    if stored[:CONTENT_BYTES] != found[:CONTENT_BYTES]:
        if stored == whole_digest(event, canonical):
            return True
        if isinstance(event, TransferSent) and event.symbol is None and is_proven(event):
            return True  # the pruned event named a symbol; the content of a proven send follows from its id
        if stored[:CONTENT_BYTES] != _digest_with_symbol(event, canonical):
            return False
    known, reported = _further(stored), _further(found)
    return all(known[name] == reported[name] for name in known.keys() & reported.keys())


def _digest_with_symbol(event: Event, canonical: Canonical) -> bytes | None:
    """The digest that was stored of a send while its symbol was a required field."""
    if not isinstance(event, TransferSent):
        return None
    return whole_digest(replace(without_optional(event), symbol=event.symbol), canonical)


def _further(content: bytes) -> dict[bytes, bytes]:
    size = NAME_BYTES + VALUE_BYTES
    parts = (content[start : start + size] for start in range(CONTENT_BYTES, len(content), size))
    return {part[:NAME_BYTES]: part[NAME_BYTES:] for part in parts}


@cache
def _name_digest(name: str) -> bytes:
    return _digest(name, NAME_BYTES)


def _digest(text: str, size: int) -> bytes:
    return blake2b(text.encode(), digest_size=size).digest()


class PrunedMatch(Enum):
    NOTHING = auto()
    SAME_EVENT = auto()
    OTHER_CONTENT = auto()
    """An event with this id and another content."""
    TRANSFER = auto()
    """The transfer that the event is about, but not the event."""


class Pruned(Struct, frozen=True):
    contents: Mapping[EventKey, bytes] = field(default_factory=dict)
    """Digests of contents."""
    transfers: Set[bytes] = frozenset()
    targets: Set[str] = frozenset()
    """Ids of pruned events that a retraction names."""
    canonical: Canonical = repr

    def match(self, event: Event) -> PrunedMatch:
        """Whether the event or its transfer was pruned. Only whole transfers are."""
        if not isinstance(event, TransferEvent) or event.transfer_id not in self.transfers:
            return PrunedMatch.NOTHING
        stored = self.contents.get(event.key)
        if stored is None:
            return PrunedMatch.TRANSFER
        return PrunedMatch.SAME_EVENT if _agrees(stored, event, self.canonical) else PrunedMatch.OTHER_CONTENT
