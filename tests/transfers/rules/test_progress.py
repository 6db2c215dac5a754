"""When programs poll again: bounds, order, and how late they see a release."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.transfers.rules.progress import (
    AFTER_THE_MEDIAN,
    LONGEST,
    SHORTEST,
    UNHURRIED,
    UNKNOWN_TIMES,
    FinalBy,
    NextActor,
    Progress,
    RouteTimes,
    over,
    poll_seconds,
    progress_of,
)
from app.values.codes import FINISHED_STATUSES
from app.values.codes import TransferHistoryStatus as Status

NOW = datetime(2026, 3, 8, 12, tzinfo=UTC)
SECONDS = st.floats(0, 10**6, allow_nan=False)


@st.composite
def routes(draw: st.DrawFn) -> RouteTimes:
    """Times of a route; the 90th percentile is not under the median."""
    median, p90 = sorted((draw(SECONDS), draw(SECONDS)))
    return RouteTimes(median, p90)


def polls(until: float, times: RouteTimes) -> list[float]:
    """When a client polls: first at the send, and for the last time at ``until`` or later."""
    polled_at = [0.0]
    while polled_at[-1] < until:
        polled_at.append(polled_at[-1] + poll_seconds(polled_at[-1], times))
    return polled_at


@given(st.floats(-(10**6), 10**9), routes())
def test_bounds(elapsed: float, times: RouteTimes) -> None:
    assert SHORTEST <= poll_seconds(elapsed, times) <= LONGEST


@given(SECONDS, SECONDS, routes())
def test_polling_peaks_at_the_median(one: float, other: float, times: RouteTimes) -> None:
    early, late = sorted((one, other))
    if late < times.median:
        assert poll_seconds(early, times) >= poll_seconds(late, times)
    if early >= times.median:
        assert poll_seconds(early, times) <= poll_seconds(late, times)


@given(routes())
def test_release_at_median_is_seen_soon(times: RouteTimes) -> None:
    """Two seconds later at most."""
    assert polls(times.median, times)[-1] - times.median <= SHORTEST


@given(SECONDS, routes())
def test_how_late_any_release_is_seen(released: float, times: RouteTimes) -> None:
    late = polls(released, times)[-1] - released
    if released <= times.median:
        assert late <= max(SHORTEST, times.median / 4)
    else:
        assert late <= max(SHORTEST, (times.p90 - times.median) / 8, (released - times.p90) / 8)
    assert late <= LONGEST


def progress_at(
    status: Status,
    *,
    sent: float | None = None,
    since: float | None = 0,
    times: RouteTimes,
    final_by: FinalBy | None = None,
) -> Progress:
    def before(seconds: float | None) -> datetime | None:
        return None if seconds is None else NOW - timedelta(seconds=seconds)

    return progress_of(
        status,
        sent_at=before(sent),
        status_since=before(since),
        now=NOW,
        times=times,
        final_by=final_by,
    )


TIMES = RouteTimes(600, 840)


@pytest.mark.parametrize(
    ("status", "actor"),
    [
        (Status.TRANSFER_UNKNOWN, NextActor.NETWORK),
        (Status.TRANSFER_SUBMITTING, NextActor.NETWORK),
        (Status.TRANSFER_FAILED, NextActor.NOBODY),
        (Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION, NextActor.NETWORK),
        (Status.TRANSFER_WAITING_FOR_FUND_RELEASE, NextActor.NETWORK),
        (Status.TRANSFER_COMPLETED, NextActor.NOBODY),
        (Status.TRANSFER_TO_BE_REFUNDED, NextActor.USER),
        (Status.TRANSFER_REQUESTING_REFUND, NextActor.NETWORK),
        (Status.TRANSFER_REFUND_TO_BE_CONFIRMED, NextActor.USER),
        (Status.TRANSFER_CONFIRMING_YOUR_REFUND, NextActor.NETWORK),
        (Status.TRANSFER_REFUNDED, NextActor.NOBODY),
        (Status.TRANSFER_DELAYED, NextActor.NETWORK),
    ],
)
def test_who_acts_next(status: Status, actor: NextActor) -> None:
    final_by = FinalBy.BLOCK if actor is NextActor.NOBODY else None
    progress = progress_at(status, sent=100, times=TIMES, final_by=final_by)
    assert progress.next_actor is actor
    assert progress.terminal == (actor is NextActor.NOBODY) == (progress == over(FinalBy.BLOCK))
    assert (progress.next_poll_seconds == 0) == progress.terminal


@pytest.mark.parametrize("status", sorted(FINISHED_STATUSES))
def test_finished_but_not_final_is_polled_by_its_age(status: Status) -> None:
    progress = progress_at(status, sent=700, since=80, times=TIMES, final_by=None)
    assert (progress.terminal, progress.next_actor) == (False, NextActor.NETWORK)
    assert progress.next_poll_seconds == 80 // AFTER_THE_MEDIAN  # age of the status, not of the send
    assert progress.final_by is None


def test_route_counts_from_send_until_end() -> None:
    waiting = Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION
    assert progress_at(waiting, sent=200, since=10, times=TIMES).next_poll_seconds == 100
    assert progress_at(waiting, sent=700, since=10, times=TIMES).next_poll_seconds == 30
    assert progress_at(waiting, sent=1_640, since=10, times=TIMES).next_poll_seconds == 100
    assert progress_at(waiting, sent=200, since=10, times=UNKNOWN_TIMES).next_poll_seconds == 25


def test_status_age_counts_without_route() -> None:
    announced = progress_at(Status.TRANSFER_SUBMITTING, since=400, times=TIMES)
    delayed = progress_at(Status.TRANSFER_DELAYED, sent=5_000, since=400, times=TIMES)
    refunding = progress_at(Status.TRANSFER_CONFIRMING_YOUR_REFUND, sent=5_000, since=400, times=TIMES)
    assert {each.next_poll_seconds for each in (announced, delayed, refunding)} == {50}


def test_poll_is_unhurried_without_a_time() -> None:
    assert progress_at(Status.TRANSFER_UNKNOWN, since=None, times=TIMES).next_poll_seconds == UNHURRIED
    assert progress_at(Status.TRANSFER_TO_BE_REFUNDED, sent=9_000, times=TIMES).next_poll_seconds == UNHURRIED


def test_a_send_ahead_of_the_clock() -> None:
    assert progress_at(Status.TRANSFER_SUBMITTING, sent=-300, times=TIMES).next_poll_seconds == 150
