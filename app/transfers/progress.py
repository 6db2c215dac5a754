"""A transfer's progress for programs: is it over and final, who acts next, when to request again.

The times follow docs/interface.md#progress: questions get closer as the release gets likely. After the 90th
percentile they get rarer, for whoever has waited a day does not care about minutes. Where no latencies are
known they follow the time since the send, for the length of a block is configured nowhere.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from msgspec import Struct

from app.network.watch_terms import FINALIZED, Finality
from app.values.codes import TransferHistoryStatus
from app.values.identifiers import BlockNumber


class FinalBy(StrEnum):
    """Why an end is final: its block is, or no block is known and a reporter's word is all there is."""

    BLOCK = "block"
    REPORTED = "reported"


class ChainDepth(Struct, frozen=True):
    """How far a chain has been read: its highest block, None where that is not known.

    ``finalized``: the newest block that is final by its watcher, -1 before there is one; None where the
    gateway does not read the chain itself.
    """

    head: BlockNumber | None = None
    finalized: BlockNumber | None = None


UNREAD: Final = ChainDepth()


def is_final(
    block: BlockNumber, depth: ChainDepth, finality: Finality | None, block_delay: int | None
) -> bool:
    """Whether no reorganisation of the chain is to be expected that reaches a block.

    Where nothing is known of the chain, it is not: who waits for an end waits for a block that tells.

    :param finality: as it is configured. The nodes' own word counts where the gateway reads it itself.
    :param block_delay: what counts where there is no finality; None where the chain is not configured.
    """
    if finality == FINALIZED and depth.finalized is not None:
        return block <= depth.finalized
    deep = block_delay if finality is None or finality == FINALIZED else finality
    return depth.head is not None and deep is not None and block <= depth.head - deep


SHORTEST: Final = 2
"""Seconds between two questions at least."""

LONGEST: Final = 300
"""Seconds between two questions at most."""

UNHURRIED: Final = 60
"""Seconds between two questions while only the user, or nobody that is known, can move the transfer."""

BEFORE_THE_MEDIAN: Final = 4
"""Before the route's median a question comes after this part of the time that is left to it."""

AFTER_THE_MEDIAN: Final = 8
"""From there to the 90th percentile there are this many questions; later, so many parts of the delay."""


class NextActor(StrEnum):
    """Who has to do something before the transfer goes on."""

    NETWORK = "network"
    USER = "user"
    NOBODY = "nobody"


class RouteTimes(Struct, frozen=True):
    """How long transfers between two chains take from send to release, in seconds."""

    median: float
    p90: float


UNKNOWN_TIMES: Final = RouteTimes(0, 0)
"""Of a route without transfers: each question comes after a part of the time that has passed."""


class Progress(Struct, frozen=True):
    """``next_poll_seconds`` is 0 where nothing is expected to change any more: then nobody needs to ask."""

    terminal: bool
    next_actor: NextActor
    next_poll_seconds: int
    final_by: FinalBy | None = None
    """Why it is over; None while it is not."""


def over(final_by: FinalBy) -> Progress:
    """The progress of a transfer whose end is final."""
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
    """Whether such a transfer is on its way to its release, for which its route's latencies count."""
    return status in _TOWARDS_RELEASE


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

    :param sent_at: of the standing send, from which latencies count; None where there is none.
    :param status_since: of the event that decides the status; None where none does.
    :param times: of its route; looked at only where :func:`follows_route`.
    :param final_by: why its end is final; None while that is not, or where it is at none.
    """
    if final_by is not None:
        return over(final_by)
    if status in _BY_USER:
        return Progress(terminal=False, next_actor=NextActor.USER, next_poll_seconds=UNHURRIED)
    seconds: int = UNHURRIED
    if follows_route(status) and sent_at is not None:
        seconds = poll_seconds((now - sent_at).total_seconds(), times)
    elif status_since is not None:
        seconds = poll_seconds((now - status_since).total_seconds(), UNKNOWN_TIMES)
    return Progress(terminal=False, next_actor=NextActor.NETWORK, next_poll_seconds=seconds)


def poll_seconds(elapsed: float, times: RouteTimes) -> int:
    """When to ask again, in whole seconds from ``SHORTEST`` to ``LONGEST``.

    Who asks by it sees a transfer that takes as long as the median less than ``SHORTEST`` later.

    :param elapsed: seconds since the send; under 0, where clocks differ, it counts as 0.
    """
    elapsed = max(elapsed, 0)
    if elapsed < times.median:
        seconds = (times.median - elapsed) / BEFORE_THE_MEDIAN
    else:
        seconds = max(times.p90 - times.median, elapsed - times.p90) / AFTER_THE_MEDIAN
    return int(min(max(seconds, SHORTEST), LONGEST))
