"""Between events and the canonical JSON that the log keeps and compares."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

import orjson
from sqlalchemy import ColumnElement, Connection, and_
from sqlalchemy.orm import InstrumentedAttribute

from app.db.types import is_one_of
from app.transfers.event_types import EventType
from app.transfers.events import EVENT_CLASSES, Event
from app.transfers.subjects import EventKey
from app.values.codes import SendKind, XferStatus

Decode = Callable[[Any], Any]
Encode = Callable[[Any], Any]

# Columns of the log; everything else an event knows goes into its body.
_COLUMNS = frozenset({"id"})


def _tuple_of_ints(values: list[str]) -> tuple[int, ...]:
    return tuple(map(int, values))


_DECODE: dict[str, Decode] = {
    "at": datetime.fromisoformat,
    "transfer_id": bytes.fromhex,
    "withdraw_id": bytes.fromhex,
    "ref_id": bytes.fromhex,
    "amount": int,
    "base_fee": int,
    "wd_onchain": base64.b64decode,
    "signature": base64.b64decode,
    "signers": tuple,
    "targets": tuple,
    "subjects": tuple,
    "powers": _tuple_of_ints,
    "kind": SendKind,
    "xfer_status": XferStatus,
}


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _texts(values: tuple[int, ...]) -> list[str]:
    return [str(value) for value in values]


_ENCODE: dict[str, Encode] = {
    "at": datetime.isoformat,
    "transfer_id": bytes.hex,
    "withdraw_id": bytes.hex,
    "ref_id": bytes.hex,
    "amount": str,
    "base_fee": str,
    "wd_onchain": _base64,
    "signature": _base64,
    "powers": _texts,
}
"""What is not JSON's own; the rest orjson writes as it is."""


class _Codec:
    """Encoder and decoder of one event class, its field lists made once."""

    def __init__(self, event_class: type[Event]) -> None:
        self.event_class = event_class
        names = sorted(name for name in event_class.__struct_fields__ if name not in _COLUMNS)
        self.values_of = attrgetter(*names)
        self.fields = [(name, _ENCODE.get(name)) for name in names]

    def encode(self, event: Event) -> str:
        body: dict[str, Any] = {}
        for (name, encode), value in zip(self.fields, self.values_of(event), strict=True):
            if value is not None:
                body[name] = encode(value) if encode is not None else value
        return orjson.dumps(body).decode()

    def decode(self, event_id: str, body: str) -> Event:
        values = {
            name: decode(value) if (decode := _DECODE.get(name)) else value
            for name, value in orjson.loads(body).items()
        }
        return self.event_class(id=event_id, **values)


_CODECS = {event_type: _Codec(event_class) for event_type, event_class in EVENT_CLASSES.items()}


def encode_event(event: Event) -> str:
    """The canonical body: the same content gives the same text, whatever its spelling was."""
    return _CODECS[event.type].encode(event)


def decode_event(event_id: str, event_type: str, body: str) -> Event:
    """The event that :func:`encode_event` wrote."""
    return _CODECS[EventType(event_type)].decode(event_id, body)


MOST_IN_STATEMENT: Final = 10_000
"""Values named in one statement: SQLite takes 32,766, PostgreSQL 65,535."""


def with_keys(
    connection: Connection,
    event_id: InstrumentedAttribute[str],
    subject: InstrumentedAttribute[str],
    keys: Iterable[EventKey],
) -> Iterator[ColumnElement[bool]]:
    """Conditions that together hold for the rows of these keys, for one statement each.

    One for each subject: so both databases look the rows up in an index that begins with these columns.
    """
    ids: dict[str, list[Any]] = defaultdict(list)
    for key in keys:
        ids[key.subject].append(key.id)
    for about, of_subject in ids.items():
        for start in range(0, len(of_subject), MOST_IN_STATEMENT):
            chunk = of_subject[start : start + MOST_IN_STATEMENT]
            yield and_(is_one_of(connection, event_id, chunk), subject == about)
