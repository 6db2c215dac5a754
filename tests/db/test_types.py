"""Amounts and times keep every digit on both databases."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import insert, select

from app.db.database import Database
from app.db.engine import reading, writing
from app.db.models import Base
from app.db.types import Uint64, exact_sum
from app.estimates.models import PoolCounter, ReportedFee

HUGE = 2**256 - 1


def test_amounts_survive_and_sum_exactly(database: Database) -> None:
    engine = database.engine
    with writing(engine) as connection:
        for chain in (1, 2):
            connection.execute(
                insert(PoolCounter).values(
                    chain_id=chain, symbol="A", added=HUGE, sent=0, relayed=-5, withdrawn=1
                )
            )
    with reading(engine) as connection:
        row = connection.execute(select(PoolCounter.added, PoolCounter.relayed)).first()
        assert row == (HUGE, -5)
        assert connection.scalar(select(exact_sum(PoolCounter.added))) == 2 * HUGE
        assert (
            connection.scalar(select(exact_sum(PoolCounter.added)).where(PoolCounter.chain_id == 9)) is None
        )


def test_times_are_utc_to_the_microsecond(database: Database) -> None:
    engine = database.engine
    at = datetime(2026, 3, 1, 1, 2, 3, 456789, timezone(timedelta(hours=5, minutes=30)))
    with writing(engine) as connection:
        connection.execute(
            insert(ReportedFee).values(
                symbol="A", src_chain_id=1, dst_chain_id=2, base_fee=HUGE, at=at, event_id="x"
            )
        )
    with reading(engine) as connection:
        fee, stored = connection.execute(select(ReportedFee.base_fee, ReportedFee.at)).one()
    assert fee == HUGE
    assert stored == at
    assert stored.tzinfo is UTC


@pytest.mark.parametrize("value", [-1, HUGE + 1])
def test_amount_out_of_range_is_refused(value: int, database: Database) -> None:
    with pytest.raises(Exception, match="an amount is 0 to"), writing(database.engine) as connection:
        connection.execute(
            insert(ReportedFee).values(
                symbol="A", src_chain_id=1, dst_chain_id=2, base_fee=value, at=datetime.now(UTC), event_id="x"
            )
        )


def test_chain_id_columns_take_64_bits() -> None:
    """Also those that refer to a chain, whose type is that of what they refer to."""
    narrow = [
        f"{table.name}.{column.name}"
        for table in Base.metadata.tables.values()
        for column in table.columns
        if column.name.endswith("chain_id") and not isinstance(column.type, Uint64)
    ]
    assert narrow == []
