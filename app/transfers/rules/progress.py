"""A transfer's progress for programs: is it over and final, who acts next, when to request again.

The times follow docs/interface/progress.md#progress: requests get more frequent as the release gets likely.
After the 90th percentile they get rarer: after a day of waiting, minutes do not matter. Where no latencies
are known they follow the time since the send, because the time between two blocks is not configured.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from app.network.rules.watch_terms import FINALIZED, Finality
from app.values.codes import TransferHistoryStatus
from app.values.identifiers import BlockNumber


class FinalBy(StrEnum):
    """Why an end is final: its block is final, or no block is known and only a reporter says so."""

    BLOCK = "block"
    REPORTED = "reported"


class ChainDepth(Struct, frozen=True):
    """How far a chain has been read. ``head`` is its highest block, None where that is not known.

    ``finalized``: the newest block that its watcher found final, -1 before there is one; None where the
    gateway does not read the chain itself.

    ``open_blocks`` are not final however deep they are: only one of several URLs has returned their logs.
    """

    head: BlockNumber | None = None
    finalized: BlockNumber | None = None
    open_blocks: frozenset[BlockNumber] = frozenset()


UNREAD: Final = ChainDepth()


def is_final(
    block: BlockNumber, depth: ChainDepth, finality: Finality | None, block_delay: int | None
) -> bool:
    """Whether no reorganisation is expected to reach a block.

    False where nothing is known of the chain: then the transfer stays open until a block is reported.

    :param finality: as configured. ``FINALIZED``: the nodes' own value counts where the gateway reads it.
    :param block_delay: counts where there is no finality; None where the chain is not configured.
    """
    if block in depth.open_blocks:
        return False
    if finality == FINALIZED and depth.finalized is not None:
        return block <= depth.finalized
    deep = block_delay if finality is None or finality == FINALIZED else finality
    return depth.head is not None and deep is not None and block <= depth.head - deep


SHORTEST: Final = 2
"""Seconds between two requests at least."""

LONGEST: Final = 300
"""Seconds between two requests at most."""

UNHURRIED: Final = 60
"""Seconds between two requests while only the user, or no known party, can move the transfer."""

BEFORE_THE_MEDIAN: Final = 4
"""Before the route's median the next request comes after the time left to it, divided by this."""

AFTER_THE_MEDIAN: Final = 8
"""From the median to the 90th percentile there are so many requests. Later the delay is divided by this."""


class NextActor(StrEnum):
    """Who has to act before the transfer goes on."""

    NETWORK = "network"
    USER = "user"
    NOBODY = "nobody"


class RouteTimes(Struct, frozen=True):
    """How long transfers between two chains take from send to release, in seconds."""

    median: float
    p90: float


UNKNOWN_TIMES: Final = RouteTimes(0, 0)
"""Of a route without transfers: the time to the next request is a part of the time that has passed."""


class Progress(Struct, frozen=True):
    """``next_poll_seconds`` is 0 where nothing is expected to change: no further request is needed."""

    terminal: bool
    next_actor: NextActor
    next_poll_seconds: int
    final_by: FinalBy | None = None
    """Why it is over; None while it is not."""


def over(final_by: FinalBy) -> Progress:
    return Progress(terminal=True, next_actor=NextActor.NOBODY, next_poll_seconds=0, final_by=final_by)


_S = TransferHistoryStatus
_BY_USER: Final = frozenset({_S.TRANSFER_TO_BE_REFUNDED, _S.TRANSFER_REFUND_TO_BE_CONFIRMED})
_TOWARDS_RELEASE: Final = frozenset(
    {
        _S.TRANSFER_SUBMITTING,
        _S.TRANSFER_WAITING_FOR_NET_CONFIRMATION,
        _S.TRANSFER_WAITING_FOR_FUND_RELEASE,
    }
)


def follows_route(status: TransferHistoryStatus) -> bool:
    """Whether a transfer of this status is on its way to its release, so its route's latencies count."""
    return status in _TOWARDS_RELEASE


def counted_from(
    status: TransferHistoryStatus, sent_at: datetime | None, status_since: datetime | None
) -> datetime | None:
    """The time that the delay to the next request follows from, of the parameters of :func:`progress_of`."""
    return sent_at if follows_route(status) and sent_at is not None else status_since


def progress_of(
    status: TransferHistoryStatus,
    *,
    sent_at: datetime | None,
    status_since: datetime | None,
    now: datetime,
    times: RouteTimes = UNKNOWN_TIMES,
    final_by: FinalBy | None = None,
) -> Progress:
    """The progress of a transfer at ``now``.

    :param sent_at: the time of the canonical send, from which latencies count; None where there is none.
    :param status_since: the time of the event that decides the status; None where none does.
    :param times: those of its route; used only where :func:`follows_route`.
    :param final_by: why its end is final; None where it has not ended or its end is not final.
    """
    if final_by is not None:
        return over(final_by)
    if status in _BY_USER:
        return Progress(terminal=False, next_actor=NextActor.USER, next_poll_seconds=UNHURRIED)
    seconds: int = UNHURRIED
    since = counted_from(status, sent_at, status_since)
    if since is not None:
        on_route = follows_route(status) and sent_at is not None
        seconds = poll_seconds((now - since).total_seconds(), times if on_route else UNKNOWN_TIMES)
    return Progress(terminal=False, next_actor=NextActor.NETWORK, next_poll_seconds=seconds)


def poll_seconds(elapsed: float, times: RouteTimes) -> int:
    """When to request again, in whole seconds from ``SHORTEST`` to ``LONGEST``. A client that follows it sees
    a release at the median less than ``SHORTEST`` late.

    :param elapsed: seconds since the send; under 0, where clocks differ, it counts as 0.
    """
    elapsed = max(elapsed, 0)
    if elapsed < times.median:
        seconds = (times.median - elapsed) / BEFORE_THE_MEDIAN
    else:
        seconds = max(times.p90 - times.median, elapsed - times.p90) / AFTER_THE_MEDIAN
    return int(min(max(seconds, SHORTEST), LONGEST))
