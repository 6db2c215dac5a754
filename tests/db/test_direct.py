"""A direct select gives what Core gives: values, rows, errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from sqlalchemy import Integer, bindparam, event, insert, literal, select, text
from sqlalchemy.exc import DataError, DBAPIError

from app.db.database import Database
from app.db.direct import DirectSelect
from app.db.engine import reading, writing
from app.estimates.models import ReportedFee

AT = datetime(2026, 3, 8, 12, 0, 0, 5, tzinfo=UTC)
STATEMENT = (
    select(ReportedFee.base_fee, ReportedFee.at, literal(7).label("seven"))
    .where(ReportedFee.symbol == bindparam("symbol"), ReportedFee.at <= bindparam("until"))
    .order_by(ReportedFee.src_chain_id)
)
VALUES = {"symbol": "USDT", "until": AT}


@pytest.fixture
def fees(database: Database) -> None:
    row = {"symbol": "USDT", "dst_chain_id": 9, "at": AT, "event_id": "e"}
    with writing(database.engine) as connection:
        rows = [row | {"src_chain_id": n, "base_fee": 2**256 - n} for n in (1, 2, 3)]
        connection.execute(insert(ReportedFee), rows)


@contextmanager
def statements(database: Database) -> Iterator[list[str]]:
    """What the reading engine is asked meanwhile."""
    seen: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        seen.append(statement)

    event.listen(database.reads, "before_cursor_execute", note)
    yield seen
    event.remove(database.reads, "before_cursor_execute", note)


@pytest.mark.usefixtures("fees")
def test_rows_equal_core_by_one_statement(database: Database) -> None:
    direct = DirectSelect(STATEMENT, lambda *values: values)
    for _ in range(3):
        with statements(database) as seen, reading(database.reads) as connection:
            assert direct.all(connection, VALUES) == [(2**256 - n, AT, 7) for n in (1, 2, 3)]
        with reading(database.reads) as connection:
            assert direct.all(connection, VALUES) == [
                tuple(row) for row in connection.execute(STATEMENT, VALUES)
            ]
            assert direct.first(connection, VALUES) == (2**256 - 1, AT, 7)
            assert direct.first(connection, VALUES | {"symbol": "none"}) is None
        assert len(seen) == 1


@pytest.mark.usefixtures("fees")
def test_errors_are_those_of_core(database: Database) -> None:
    direct = DirectSelect(STATEMENT, lambda *values: values)
    for _ in range(2):
        with reading(database.reads) as connection:
            direct.all(connection, VALUES)
    with reading(database.engine) as connection:
        connection.execute(text("ALTER TABLE fed_fees RENAME TO gone"))
    try:
        with reading(database.reads) as connection, pytest.raises(DBAPIError):
            direct.all(connection, VALUES)
    finally:
        with reading(database.engine) as connection:
            connection.execute(text("ALTER TABLE gone RENAME TO fed_fees"))
    with reading(database.reads) as connection:
        assert len(direct.all(connection, VALUES)) == 3


@pytest.mark.postgresql_alone  # SQLite goes on after an error
@pytest.mark.usefixtures("fees")
def test_transaction_error_is_its_own(database: Database) -> None:
    """And not that the transaction takes no further statement, which would hide what is unavailable."""
    one_over = select(literal(1) / bindparam("by", type_=Integer))
    direct = DirectSelect(one_over, int)
    with writing(database.engine) as connection:
        assert direct.all(connection, {"by": 1}) == [1]
    with pytest.raises(DataError, match="division by zero"), writing(database.engine) as connection:
        direct.all(connection, {"by": 0})
    with writing(database.engine) as connection:
        assert direct.all(connection, {"by": 1}) == [1]


@pytest.mark.postgresql_alone  # SQLite has no server to lose
@pytest.mark.usefixtures("fees")
def test_a_lost_connection_is_dropped_and_named(database: Database) -> None:
    direct = DirectSelect(STATEMENT, lambda *values: values)
    reads = database.reads
    reads.dispose()  # so that it is the only connection, and the same one each time
    with reading(reads) as connection:
        direct.all(connection, VALUES)
        process = connection.scalar(text("SELECT pg_backend_pid()"))
    with reading(database.engine) as other:
        other.execute(text("SELECT pg_terminate_backend(:process)"), {"process": process})
    with reading(reads) as connection, pytest.raises(DBAPIError) as lost:
        direct.all(connection, VALUES)
    assert lost.value.connection_invalidated
    with reading(reads) as connection:
        assert len(direct.all(connection, VALUES)) == 3


@pytest.mark.usefixtures("fees")
def test_connection_keeps_cursor_per_select(database: Database) -> None:
    one, other = (DirectSelect(STATEMENT, lambda *values: values) for _ in range(2))
    with reading(database.reads) as connection:
        for direct in (one, other) * 3:
            assert len(direct.all(connection, VALUES)) == 3
        kept = connection.info[one], connection.info[other]
        assert kept[0] is not kept[1]
        for direct in (one, other):
            direct.all(connection, VALUES)
        assert (connection.info[one], connection.info[other]) == kept
