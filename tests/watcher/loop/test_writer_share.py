"""Backfill gives way to others who write, and to nobody where there is nobody."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from app.values.identifiers import BlockNumber
from app.watcher.loop.fetch import Fetched
from app.watcher.loop.view import Blocks
from app.watcher.loop.writer_share import WriterShare
from app.watcher.rules.blocks import Header, Log
from app.watcher.services.advance import Advanced


class Time:
    """Seconds that pass when a test moves them."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def write(share: WriterShare, time: Time, seconds: float, written: Advanced) -> None:
    with share.turn() as mine:
        assert mine
        time.now += seconds
        share.wrote(written)


def test_sole_writer_does_not_rest() -> None:
    time = Time()
    share = WriterShare(time)
    write(share, time, 0.2, Advanced(log_start=5, log_end=9, by_turns=True))
    time.now += share.wait()  # who else writes is not known before the second write
    write(share, time, 0.2, Advanced(log_start=9, log_end=12, by_turns=True))
    assert share.wait() == 0


@pytest.mark.parametrize(
    "second",
    [
        pytest.param(Advanced(log_start=10, log_end=12, by_turns=True), id="somebody wrote between"),
        pytest.param(Advanced(log_start=9, log_end=12), id="somebody may have waited in vain"),
    ],
)
def test_writer_rests_as_long_as_writing(second: Advanced) -> None:
    """Beside others."""
    time = Time()
    share = WriterShare(time)
    write(share, time, 0.2, Advanced(log_start=5, log_end=9, by_turns=True))
    time.now += share.wait()
    write(share, time, 0.3, second)
    assert share.wait() == pytest.approx(0.3)
    with share.turn() as mine:
        assert not mine


def test_failed_write_counts_beside_others() -> None:
    time = Time()
    share = WriterShare(time)
    with pytest.raises(RuntimeError), share.turn():
        time.now += 0.2
        raise RuntimeError
    time.now += 0.1
    with share.turn() as mine:
        assert mine


def header(number: int) -> Header:
    return Header(
        BlockNumber(number), f"0x{number:064x}", f"0x{number - 1:064x}", datetime(2026, 1, 1, tzinfo=UTC)
    )


def log(block: int, index: int) -> Log:
    return Log(BlockNumber(block), f"0x{block:064x}", "0x" + "11" * 32, index, b"\1" * 20, (b"\2" * 32,), b"")


def test_long_range_is_written_in_parts() -> None:
    logs = [log(block, index) for block, count in ((3, 2), (4, 2), (9, 5), (11, 1)) for index in range(count)]
    headers = {BlockNumber(number): header(number) for number in (1, 3, 4, 9, 11, 20)}
    whole = Fetched(Blocks(BlockNumber(2), BlockNumber(20)), logs, headers, "RPC_URL_A", doubtful=False)
    parts = whole.pieces(4)
    assert [(part.blocks.first, part.blocks.last, len(part.logs)) for part in parts] == [
        (2, 4, 4),
        (5, 9, 5),
        (10, 20, 1),
    ]
    assert [each for part in parts for each in part.logs] == logs
    assert [each for part in parts for each in part.headers] == list(headers)
    assert [part.end.number for part in parts] == [4, 9, 20]
    assert whole.pieces(100) == [whole]
