"""What an event says: whether two reports of one fact agree, and what they say together.

Fields that may be missing tell more about a fact where they are there, and nothing where they are not. So
reports agree unless a field that both have differs, and together they say what either has
(docs/interface.md#event-ids).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields, replace
from functools import cache
from typing import TypeVar

from app.domain.transfer.events import Event

E = TypeVar("E", bound=Event)


@cache
def optional_fields(event_class: type[Event]) -> tuple[str, ...]:
    """The fields that a report may leave out."""
    return tuple(field.name for field in fields(event_class) if field.default is not MISSING)


@cache
def _required_fields(event_class: type[Event]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(event_class) if field.default is MISSING)


def agree(one: Event, other: Event) -> bool:
    """Whether two reports under one key can be of one fact."""
    if type(one) is not type(other):
        return False
    if any(getattr(one, name) != getattr(other, name) for name in _required_fields(type(one))):
        return False
    pairs = ((getattr(one, name), getattr(other, name)) for name in optional_fields(type(one)))
    return all(mine is None or its is None or mine == its for mine, its in pairs)


def together(known: E, reported: E) -> E:
    """What two reports that agree say together; ``known`` itself where the other adds nothing."""
    added = {
        name: value
        for name in optional_fields(type(known))
        if getattr(known, name) is None and (value := getattr(reported, name)) is not None
    }
    return replace(known, **added) if added else known


def without_optional(event: E) -> E:
    """The event as a report with nothing but the required fields has it."""
    names: Sequence[str] = optional_fields(type(event))
    return replace(event, **dict.fromkeys(names))
