"""What an event says: whether two reports of one fact agree, and what they say together.

Fields that may be missing tell more about a fact where they are there, and nothing where they are not. So
reports agree unless a field that both have differs, and together they say what either has
(docs/interface.md#event-ids).
"""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import Any, Final, TypeVar

from app.transfers.events import EVENT_CLASSES, Event

E = TypeVar("E", bound=Event)


OPTIONAL_FIELDS: Final[dict[type[Event], tuple[str, ...]]] = {
    event_class: tuple(field.name for field in fields(event_class) if field.default is not MISSING)
    for event_class in EVENT_CLASSES.values()
}
"""The fields of each event that a report may leave out."""

_REQUIRED_FIELDS: Final = {
    event_class: tuple(field.name for field in fields(event_class) if field.default is MISSING)
    for event_class in EVENT_CLASSES.values()
}


def agree(one: Event, other: Event) -> bool:
    """Whether two reports under one key can be of one fact."""
    if type(one) is not type(other):
        return False
    if any(getattr(one, name) != getattr(other, name) for name in _REQUIRED_FIELDS[type(one)]):
        return False
    pairs = ((getattr(one, name), getattr(other, name)) for name in OPTIONAL_FIELDS[type(one)])
    return all(mine is None or its is None or mine == its for mine, its in pairs)


def together(known: E, reported: E) -> E:
    """What two reports that agree say together; ``known`` itself where the other adds nothing."""
    added = {
        name: value
        for name in OPTIONAL_FIELDS[type(known)]
        if getattr(known, name) is None and (value := getattr(reported, name)) is not None
    }
    return replace(known, **added) if added else known


def without_optional(event: E) -> E:
    """The event as a report with nothing but the required fields has it."""
    nothing: dict[str, Any] = dict.fromkeys(OPTIONAL_FIELDS[type(event)])
    return replace(event, **nothing)
