"""A week of latencies whose medians stay those of the catalogue, however the sandbox ages."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from statistics import median

import pytest

from app.sandbox.catalogue import SANDBOX_LATENCIES
from app.sandbox.feed import fresh_events, fresh_latencies, sandbox_events
from app.transfers.rules.projected import TransferState
from app.transfers.rules.sums import latency_of
from tests.sandbox.conftest import NOW, project, read

WEEK = timedelta(days=7)


def medians(states: Iterable[TransferState], now: datetime) -> dict[tuple[int, int], tuple[int, float]]:
    """By pair of chains how many transfers count at ``now``, and the median in microseconds."""
    found: dict[tuple[int, int], list[int]] = {}
    for state in states:
        latency = latency_of(state)
        if latency is not None and now - WEEK < latency.released_at <= now:
            found.setdefault((latency.src_chain_id, latency.dst_chain_id), []).append(latency.microseconds)
    return {pair: (len(values), median(values)) for pair, values in found.items()}


def listed() -> dict[tuple[int, int], float]:
    return {
        (each.src_chain_id, each.dst_chain_id): each.median / timedelta(microseconds=1)
        for each in SANDBOX_LATENCIES
    }


def test_every_pair_has_a_week(states: dict[str, TransferState]) -> None:
    found = medians(states.values(), NOW)
    assert (1, 56) in listed()
    assert len(listed()) == len(SANDBOX_LATENCIES) >= 5
    for pair, expected in listed().items():
        count, value = found[pair]
        assert count >= 56, "eight a day for seven days"
        assert value == expected


@pytest.mark.parametrize("hours", [7, 40, 150])
def test_median_outlives_untopped_sandbox(hours: int, states: dict[str, TransferState]) -> None:
    later = NOW + timedelta(hours=hours)
    found = medians(states.values(), later)
    assert {pair: found[pair][1] for pair in listed()} == listed()


@pytest.mark.parametrize("days", [1, 9, 30])
def test_topping_up_keeps_the_median(days: int) -> None:
    loaded = datetime(2026, 3, 1, 9, 41, tzinfo=UTC)
    later = loaded + timedelta(days=days, minutes=13 * days)
    reported = {each["id"]: each for each in sandbox_events(loaded)}
    reported |= {each["id"]: each for each in fresh_events(later, loaded)}
    found = medians(project(read(reported.values(), later)).values(), later)
    assert {pair: found[pair][1] for pair in listed()} == listed()
    assert all(found[pair][0] >= 56 for pair in listed())


def test_window_opens_and_closes_exactly() -> None:
    """Open at its start, closed at its end."""
    now = datetime(2026, 5, 5, 5, tzinfo=UTC)
    releases = sorted(
        datetime.fromisoformat(str(each["at"]))
        for each in fresh_latencies(now, now - WEEK)
        if each["type"] == "transfer.released"
    )
    first, last = releases[0], releases[-1]
    assert now - WEEK < first <= last <= now
    counts = [
        sum(each["type"] == "transfer.released" for each in fresh_latencies(last, since))
        for since in (last, last - timedelta(microseconds=1))
    ]
    assert counts == [0, 1]


def test_never_yields_more_than_a_week() -> None:
    now = datetime(2026, 5, 5, 5, tzinfo=UTC)
    assert list(fresh_latencies(now, now - 10 * WEEK)) == list(fresh_latencies(now, now - WEEK))
    assert list(fresh_latencies(now, now + timedelta(days=1))) == []
