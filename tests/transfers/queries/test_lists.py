"""A list has each of its transfers once, on pages of any size, and reads no more than it shows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, insert

from app.db.database import Database
from app.db.engine import reading, writing
from app.transfers.models import Transfer
from app.transfers.queries.lists import (
    SCANNED,
    Amounts,
    ListCount,
    Order,
    Position,
    TransferFilters,
    list_transfers,
)
from app.values.amounts import MAX_UINT256
from app.values.codes import TransferHistoryStatus
from tests.amounts import costly
from tests.steps import statements

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


COARSE, FINE = 1, 2
"""A chain of 6 decimals and one of 18."""

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


def test_largest_amounts_of_chains_are_all_listed(database: Database) -> None:
    """The largest number of smallest units is worth more on the coarse chain, and beyond any amount of the
    fine one.
    """
    on_coarse, on_fine = b"\xff" * 32, b"\x00" * 32
    with writing(database.engine) as connection:
        for transfer_id, chain in ((on_coarse, COARSE), (on_fine, FINE)):
            connection.execute(
                insert(Transfer).values(
                    transfer_id=transfer_id, status=5, refund_reason=0, updated_at=NOON, src_chain_id=chain,
                    symbol="USDC", amount=MAX_UINT256,
                )
            )  # fmt: skip
    amounts = {COARSE: Amounts(0, MAX_UINT256, 10**12), FINE: Amounts(0, MAX_UINT256, 1)}
    filters = TransferFilters(symbol="USDC", amounts=amounts)
    with reading(database.reads) as connection:
        first = list_transfers(connection, filters, Order.LARGEST, size=1)
        second = list_transfers(connection, filters, Order.LARGEST, after=first.next_after, size=1)
    assert [row.transfer_id for page in (first, second) for row in page.rows] == [on_coarse, on_fine]
    assert second.next_after is None


def test_transfer_list_statement_has_limits(database: Database) -> None:
    with statements(database.reads) as executed, reading(database.reads) as connection:
        list_transfers(connection, TransferFilters(), size=50, count=ListCount(1, at_least=True))
    assert "LIMIT 51" in executed[0]
    assert f"LIMIT {SCANNED}" in executed[0]
