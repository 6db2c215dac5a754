"""Compares the stored tables with those that were projected again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby, islice
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    Select,
    Table,
    UniqueConstraint,
    cast,
    exists,
    false,
    func,
    literal_column,
    or_,
    select,
    true,
    union_all,
)
from sqlalchemy.dialects.postgresql import JSONB

from app.db.models import Projected, ProjectedSum, table_of
from app.db.second_schema import SecondSchema
from app.feed.models import JournalRow
from app.feed.projection.chains import REFUND_OPEN
from app.feed.projection.latencies import counted_since
from app.feed.projection.transfers import transfer_row
from app.feed.queries.transfers import AT_A_TIME
from app.latency.models import LatencyCount
from app.network.queries import load_network_facts
from app.refunds.models import SignatureNotNeeded
from app.refunds.queries import load_histories
from app.transfers.models import Anomaly, RefundBasis, Transfer
from app.transfers.queries.logged import transfers_log
from app.transfers.rules.anomalies import AnomalyKind
from app.transfers.rules.events.codec import decode_event, encode_event
from app.transfers.rules.events.event_types import TransferSent, TransferSubmitted
from app.transfers.rules.events.fields import id_in_one_form
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.projected import transfer_state
from app.transfers.rules.refund_signatures import without
from app.values.identifiers import TransferId

OF_REPORTS: Final = (AnomalyKind.ID_WITH_TWO_CONTENTS, AnomalyKind.REPORT_CONTRADICTS_BLOCK)
"""Kinds of anomalies that are raised when something is reported. The log has no trace of them."""

AT_ONCE: Final = 200  # transfers whose logs are read

Values = Mapping[str, Any]


class Difference(Struct, frozen=True):
    """A row that differs from the log. None: there is no such row, or there should be none.

    :param reason: why, where the log shows that an earlier release read it in another way.
    """

    table: str
    key: Values
    stored: Values | None
    expected: Values | None
    reason: str = ""

    def __str__(self) -> str:
        return f"{self._words()} (because {self.reason})" if self.reason else self._words()

    def _words(self) -> str:
        row = " ".join([self.table, *(f"{name}={_text(value)}" for name, value in self.key.items())])
        if self.stored is None:
            return f"{row}: is missing"
        if self.expected is None:
            return f"{row}: does not follow from the log"
        columns = (
            f"{name} is {_text(self.stored[name])} and should be {_text(value)}"
            for name, value in self.expected.items()
            if self.stored[name] != value
        )
        return f"{row}: {', '.join(columns)}"

    def more(self, name: str) -> Any:
        """The amount that a column of a sum lacks."""
        expected, stored = ((row or {}).get(name, 0) for row in (self.expected, self.stored))
        return expected - stored


def _text(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    return value.isoformat() if isinstance(value, datetime) else str(value)


def differences(schema: SecondSchema, model: type[Projected]) -> Iterator[Difference]:
    """The differences from the rows that were projected again, in the order of their keys."""
    found = _rows_that_differ(schema, model)
    if model is Transfer:
        return _with_reasons(schema.connection, found)
    return _that_matter(schema.connection, found) if model is SignatureNotNeeded else found


def _rows_that_differ(schema: SecondSchema, model: type[Projected]) -> Iterator[Difference]:
    key = key_of(model)
    tables = schema.stored(table_of(model)), schema.second(table_of(model))
    stored, expected = (_compared(schema, model, table) for table in tables)
    sides = (stored.except_(expected), expected.except_(stored))
    both = union_all(
        *(
            select(literal_column(str(number)).label("is_expected"), *side.subquery().c)
            for number, side in enumerate(sides)
        )
    ).subquery()
    query = select(both).order_by(*(both.c[name] for name in key), both.c.is_expected)
    rows = schema.connection.execute(query.execution_options(yield_per=AT_A_TIME)).mappings()
    for values, of_key in groupby(rows, lambda row: tuple(row[name] for name in key)):
        there: list[Values | None] = [None, None]
        for row in of_key:
            there[row["is_expected"]] = {name: row[name] for name in row if name != "is_expected"}
        before, after = there
        yield Difference(table_of(model).name, dict(zip(key, values, strict=True)), before, after)


def in_batches(found: Iterable[Difference], most: int) -> Iterator[Sequence[Difference]]:
    left = iter(found)
    while some := list(islice(left, most)):
        yield some


def key_of(model: type[Projected]) -> tuple[str, ...]:
    """The columns that name a row: its primary key, or what else is unique where the database gives that."""
    table = table_of(model)
    if any(column.name in model.apart for column in table.primary_key):
        unique = (each for each in table.constraints if isinstance(each, UniqueConstraint))
        return tuple(next(unique).columns.keys())
    return tuple(column.name for column in table.primary_key)


def compared(model: type[Projected], table: Table, connection: Connection) -> list[ColumnElement[Any]]:
    """The columns of a table that follow from the log, each in one form."""
    columns = [column for column in table.columns if column.name not in model.apart]
    if connection.dialect.name == "postgresql":
        return [cast(c, JSONB).label(c.name) if isinstance(c.type, JSON) else c for c in columns]
    return [func.json(c, type_=c.type).label(c.name) if isinstance(c.type, JSON) else c for c in columns]


def _compared(schema: SecondSchema, model: type[Projected], table: Table) -> Select[*tuple[Any, ...]]:
    columns = compared(model, table, schema.connection)
    return select(*columns).where(_is_compared(schema, model, table))


def _is_compared(schema: SecondSchema, model: type[Projected], table: Table) -> ColumnElement[bool]:
    """Which rows of a table are compared. Those of most tables are all."""
    if model is LatencyCount and counted_since(schema.connection) is None:
        return false()  # nothing is counted until the next event: medians are found from the records
    if issubclass(model, ProjectedSum):
        return or_(*(column != 0 for column in table.columns if not column.primary_key))
    if model is RefundBasis:
        transfers = schema.second(table_of(Transfer)).c
        # The basis of a refund is read while it is open: other validators change it only then.
        is_closed = transfers.status.not_in([int(each) for each in REFUND_OPEN])
        return ~exists().where(transfers.transfer_id == table.c.transfer_id, is_closed)
    return table.c.kind.not_in([each.value for each in OF_REPORTS]) if model is Anomaly else true()


def _that_matter(connection: Connection, found: Iterable[Difference]) -> Iterator[Difference]:
    """The marks of signatures as not needed without which their transfer would be projected otherwise.

    They are stored when a transfer is projected, by the network of that time. So others than today's are
    no difference.
    """
    facts = load_network_facts(connection)
    for some in in_batches(found, AT_ONCE):
        surplus = [(each, each.stored["transfer_id"]) for each in some if each.stored is not None]
        positions: dict[TransferId, set[int]] = defaultdict(set)
        for each, transfer_id in surplus:
            positions[transfer_id].add(each.key["seq"])
        histories = load_histories(connection, positions, every_signature=True)
        for each, transfer_id in surplus:
            history = histories[transfer_id]
            if each.expected or not history.is_known:
                yield each
                continue
            left = without(history, positions[transfer_id])
            if transfer_row(transfer_state(left, facts)) != transfer_row(transfer_state(history, facts)):
                yield each


def journal_differences(schema: SecondSchema) -> Iterator[Difference]:
    """The transfers whose last row in the journal has another status than follows from the log.

    Those from before the journal may have no row.
    """
    transfers = schema.second(table_of(Transfer))
    status, reason = transfers.c.status, transfers.c.refund_reason
    newest = select(func.max(JournalRow.sequence)).where(JournalRow.transfer_id.is_not(None))
    query = (
        select(JournalRow.transfer_id, JournalRow.status, JournalRow.refund_reason, status, reason)
        .join(transfers, transfers.c.transfer_id == JournalRow.transfer_id)
        .where(JournalRow.sequence.in_(newest.group_by(JournalRow.transfer_id)))
        .where(or_(JournalRow.status != status, JournalRow.refund_reason != reason))
        .order_by(JournalRow.transfer_id)
    )
    names = ("status", "refund_reason")
    for transfer_id, *values in schema.connection.execute(query.execution_options(yield_per=AT_A_TIME)):
        last, expected = (dict(zip(names, each, strict=True)) for each in (values[:2], values[2:]))
        yield Difference(JournalRow.__tablename__, {"transfer_id": transfer_id}, last, expected)


def _with_reasons(connection: Connection, found: Iterable[Difference]) -> Iterator[Difference]:
    for some in in_batches(found, AT_ONCE):
        ids = [each.key["transfer_id"] for each in some]
        histories = load_histories(connection, ids, every_signature=True)
        for each in some:
            reasons = _reasons(connection, histories[each.key["transfer_id"]])
            yield replace(each, reason="; ".join(reasons))


def _is_respelled(connection: Connection, transfer_id: TransferId) -> bool:
    """Whether any event of the transfer is stored otherwise than it is read."""
    return any(
        id_in_one_form(row.event_id) != row.event_id
        or encode_event(decode_event(row.event_id, row.type, row.body)) != row.body
        for row in transfers_log(connection, transfer_id)
    )


def _reasons(connection: Connection, history: TransferHistory) -> Iterator[str]:
    """What the transfer's log has that earlier releases read in another way."""
    if _is_respelled(connection, history.transfer_id):
        yield "its reports spell one account, number or id in several ways"
    if any(each.chains is not None and isinstance(each.event, TransferSubmitted) for each in history.log):
        yield "a token that is limited to chains announced it, which counts for nothing next to other reports"
    if history.contradicting():
        yield "a send contradicts the transfer id"
    if history.misplaced(history.origin()):
        yield "reports of one fact together say that it was read on another chain"
    limits: dict[str, set[frozenset[int] | None]] = defaultdict(set)
    for each in history.log:
        if isinstance(each.event, TransferSent):
            limits[each.event.id].add(each.chains)
    if any(len(each) > 1 for each in limits.values()):
        yield "tokens with and without limits reported one send"
