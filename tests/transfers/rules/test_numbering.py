"""Facts of logs under the ids that they were reported by before, however their reporters count."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from app.transfers.rules.events.event_types import Event, LiquidityAdded, TransferConfirmed, TransferReleased
from app.transfers.rules.events.renumbered import as_reported_before
from app.values.identifiers import BlockNumber, ChainId, TransferId

AT = datetime(2026, 5, 1, tzinfo=UTC)
TX, OTHER_TX = (f"1:0x{'ab' * 32}:0x{digits * 32}" for digits in ("cd", "ef"))


def added(index: str, amount: int, tx: str = TX, log_index: int | None = None) -> LiquidityAdded:
    return LiquidityAdded(
        id=f"{tx}:{index}", at=AT, chain_id=ChainId(1), block=BlockNumber(7), log_index=log_index,
        symbol="USDT", amount=amount,
    )  # fmt: skip


def ids(events: list[Event], reported: list[Event]) -> list[str]:
    return [event.id.removeprefix(f"{TX}:") for event in as_reported_before(events, reported)]


@pytest.mark.parametrize(
    ("events", "reported", "expected"),
    [
        ([added("3", 5)], [], ["3"]),
        ([added("3", 5)], [added("0", 5)], ["0"]),
        ([added("3", 5)], [added("0", 6)], ["3"]),
        ([added("3", 5)], [added("0", 5, OTHER_TX)], ["3"]),
        # several of the same content: the n-th is the n-th, and more than there were are new
        ([added("3", 5), added("4", 5)], [added("0", 5), added("1", 5)], ["0", "1"]),
        ([added("10", 5), added("9", 5)], [added("0", 5), added("1", 5)], ["1", "0"]),
        ([added("3", 5), added("4", 5)], [added("0", 5)], ["0", "4"]),
        ([added("4", 5)], [added("0", 5), added("1", 5)], ["0"]),
        # the same id comes first
        ([added("1", 5)], [added("0", 5), added("1", 5)], ["1"]),
        ([added("1", 5), added("2", 5)], [added("0", 5), added("1", 5)], ["1", "0"]),
        ([added("3", 5), added("3", 5)], [added("0", 5), added("1", 5)], ["0", "0"]),
        # the index of one is that of another
        ([added("0", 5), added("1", 6)], [added("1", 5), added("2", 6)], ["1", "2"]),
        ([added("0", 5), added("1", 6)], [added("1", 5)], ["1", "1:liquidity.added"]),
        ([added("2", 6)], [added("1", 5), added("1:liquidity.added", 6)], ["1:liquidity.added"]),
        # another content is another fact, or a contradiction
        ([added("1", 6)], [added("1", 5)], ["1"]),
    ],
)
def test_numbering_reuses_id_of_first_report(
    events: list[Event], reported: list[Event], expected: list[str]
) -> None:
    assert ids(events, reported) == expected


def test_further_fact_of_a_log_follows_its_first() -> None:
    transfer = TransferId(b"\x01" * 32)
    released = TransferReleased(id=f"{TX}:0", at=AT, transfer_id=transfer, chain_id=None, dst_tx_hash="0x1")
    again = TransferReleased(id=f"{TX}:3", at=AT, transfer_id=transfer, chain_id=None, dst_tx_hash="0x1")
    further = TransferConfirmed(id=f"{TX}:3:transfer.confirmed", at=AT, transfer_id=transfer)
    assert ids([again, further], [released]) == ["0", "0:transfer.confirmed"]
