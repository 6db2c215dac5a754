"""Reads events from the fields of a line, and converts them to and from the canonical JSON of the log."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import orjson

from app.transfers.rules.events.contract_ids import in_one_form
from app.transfers.rules.events.event_types import EVENT_CLASSES, Event, TransferSent
from app.transfers.rules.events.fields import Misread, fields_of

# Fields with a column in the log; all other fields of an event go into its body.
_COLUMNS = frozenset({"id"})


class _Codec:
    """Reader, encoder and decoder of one event class, made once from its fields."""

    def __init__(self, event_class: type[Event]) -> None:
        self.event_class = event_class
        self.fields = fields_of(event_class)
        self.readers = [(field.name, field.kind.read) for field in self.fields]
        stored = sorted((each for each in self.fields if each.name not in _COLUMNS), key=attrgetter("name"))
        self.values_of = attrgetter(*(field.name for field in stored))
        self.stores = [(field.name, field.kind.store) for field in stored]
        self.restores = {field.name: field.kind.restore for field in stored}

    def read(self, data: Mapping[str, Any]) -> Event:
        try:
            event = self.event_class(
                **{name: read(value) for name, read in self.readers if (value := data.get(name)) is not None}
            )
        except (TypeError, ValueError):  # a field is missing or wrong: find the first one
            for field in self.fields:
                field.read(data)
            raise
        if (fault := event.fault()) is not None:
            raise Misread(*fault)
        return in_one_form(event) if isinstance(event, TransferSent) else event

    def encode(self, event: Event) -> str:
        body: dict[str, Any] = {}
        for (name, store), value in zip(self.stores, self.values_of(event), strict=True):
            if value is not None:
                body[name] = store(value) if store is not None else value
        return orjson.dumps(body).decode()

    def decode(self, event_id: str, body: str) -> Event:
        values = {
            name: restore(value) if (restore := self.restores[name]) else value
            for name, value in orjson.loads(body).items()
        }
        event = self.event_class(id=event_id, **values)
        return in_one_form(event) if isinstance(event, TransferSent) else event


_CODECS = {event_type: _Codec(event_class) for event_type, event_class in EVENT_CLASSES.items()}


def read_event(event_type: str, data: Mapping[str, Any]) -> Event:
    """Read an event from the fields of a line; unknown fields are ignored.

    :raises Misread: with the first field that is missing or wrong.
    """
    return _CODECS[event_type].read(data)


def encode_event(event: Event) -> str:
    """The canonical body: the same content gives the same text, however its line was written."""
    return _CODECS[event.type].encode(event)


def decode_event(event_id: str, event_type: str, body: str) -> Event:
    """The event that :func:`encode_event` wrote. Its fields are in their one form also where 1.0 wrote it."""
    return _CODECS[event_type].decode(event_id, body)
