"""Pages of the transfers of one token by amount, whose chains have different decimals."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import insert

from app.db.database import Database
from app.db.engine import reading, writing
from app.transfers.models import Transfer
from app.transfers.queries.lists import Amounts, Order, TransferFilters, list_transfers
from app.values.amounts import MAX_UINT256

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
