"""A range of a backfill is requested of a second provider before it is stored."""

from __future__ import annotations

import pytest

from app.watcher.loop.backfill import read_range
from app.watcher.loop.reader import Reader
from tests.watcher.kit import Watched, relay
from tests.watcher.loop.proven import payouts_of


def begun(watched: Watched, urls: int) -> Reader:
    """A reader that has read the newest blocks; a payout is in those of its backfill."""
    payouts_of(watched, 7)
    watched.add_urls(urls - 1)
    watched.chain.mine(relay(7))
    watched.chain.mine_many(30)
    reader = watched.reader()
    reader.poll()
    return reader


def test_equal_answers_of_providers_are_agreed(watched: Watched) -> None:
    reader = begun(watched, 2)
    fetched = read_range(reader.view)
    assert fetched is not None and fetched.logs and fetched.agreed
    reader.background()
    assert reader.view.readings.doubts == {}


@pytest.mark.parametrize("urls", [1, 2])
def test_range_read_from_one_provider_is_not_agreed(watched: Watched, urls: int) -> None:
    reader = begun(watched, urls)
    watched.nodes[-1].omit = lambda _log: urls > 1
    fetched = read_range(reader.view)
    assert fetched is not None and not fetched.agreed


def test_log_that_one_provider_lacks_is_in_doubt(watched: Watched) -> None:
    reader = begun(watched, 2)
    watched.nodes[1].omit = lambda _log: True
    reader.background()
    assert len(reader.view.readings.doubts) == 1


def test_range_is_compared_after_outage(watched: Watched) -> None:
    reader = begun(watched, 2)
    watched.nodes[1].fault = lambda _body: (500, {}, b"")
    fetched = read_range(reader.view)
    assert fetched is not None and fetched.logs and not fetched.agreed
