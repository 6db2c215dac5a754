"""A list of an account has each of its transfers once, on pages of any size."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, insert

from app.db.database import Database
from app.db.engine import reading, writing
from app.transfers.models import Transfer
from app.transfers.queries.lists import ListCount, Position, TransferFilters, list_transfers
from app.values.codes import TransferHistoryStatus
from tests.amounts import costly

NOW = datetime(2026, 3, 8, 12, tzinfo=UTC)
ACCOUNTS = st.sampled_from(["a", "b", None])
TRANSFERS = st.lists(
    st.tuples(ACCOUNTS, ACCOUNTS, st.integers(0, 5), st.sampled_from(["X", "Y"])), max_size=25
)
"""Sender, receiver, the second of the last change, and the token."""


@given(transfers=TRANSFERS, size=st.integers(1, 6), symbol=st.sampled_from([None, "X"]))
@costly
def test_each_once_in_order(
    transfers: list[tuple[str | None, str | None, int, str]],
    size: int,
    symbol: str | None,
    database: Database,
) -> None:
    rows = [
        {
            "transfer_id": number.to_bytes(32, "big"),
            "status": TransferHistoryStatus.TRANSFER_COMPLETED,
            "refund_reason": 0,
            "updated_at": NOW + timedelta(seconds=second),
            "sender": sender,
            "receiver": receiver,
            "symbol": token,
        }
        for number, (sender, receiver, second, token) in enumerate(transfers)
    ]
    with writing(database.engine) as connection:
        connection.execute(delete(Transfer))
        if rows:
            connection.execute(insert(Transfer), rows)
    expected = sorted(
        (NOW - row["updated_at"], row["transfer_id"])  # type: ignore[operator]
        for row in rows
        if "a" in (row["sender"], row["receiver"]) and symbol in (None, row["symbol"])
    )
    found: list[tuple[timedelta, bytes]] = []
    after: Position | None = None
    many = ListCount(1, at_least=True)
    with reading(database.reads) as connection:
        for _page in range(30):
            filters = TransferFilters(account="a", symbol=symbol)
            page = list_transfers(connection, filters, after=after, size=size, count=many)
            found += [(NOW - row.updated_at, row.transfer_id) for row in page.rows]
            after = page.next_after
            if after is None:
                break
    assert found == expected
