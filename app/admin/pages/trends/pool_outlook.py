"""Which pools will soon be at a limit, and when: a warning before estimates are refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from app.domain.amounts import PPM
from app.domain.estimate.inputs import PoolState

NEAR_PPM: Final = 800_000
"""A cap of which so many millionths are used is nearly reached."""

AHEAD: Final = timedelta(hours=24)
"""A pool that will be full or empty within this time is warned of."""

PACE_HOURS: Final = 24
"""The pace is that of the transfers that began in so many hours before the current one, and in that."""


class Severity(StrEnum):
    """``reached``: estimates are refused by now."""

    REACHED = "reached"
    NEAR = "near"


@dataclass(frozen=True, slots=True)
class PoolWarning:
    """What is the matter with a pool. ``within`` is about how long it lasts at the pace of the last day."""

    severity: Severity
    words: str
    within: timedelta | None = None


def pool_warnings(pool: PoolState, came: int, went: int) -> tuple[PoolWarning, ...]:
    """What to know of a pool before its limits refuse estimates; those that are reached first.

    :param pool: as it is now, with the volume of its epoch.
    :param came: what transfers brought into it in ``PACE_HOURS`` hours, in its smallest units.
    :param went: what they took from it.
    """
    found = [*_of_total_cap(pool), *_of_epoch_cap(pool), *_of_pace(pool, came - went)]
    if pool.counters.balance <= 0:
        found.append(PoolWarning(Severity.REACHED, "empty: nothing can be paid out"))
    return tuple(sorted(found, key=lambda warning: warning.severity is not Severity.REACHED))


def _of_total_cap(pool: PoolState) -> Iterator[PoolWarning]:
    rest = pool.total_rest
    if rest is None or pool.total_cap is None:
        return
    if rest <= 0:
        yield PoolWarning(Severity.REACHED, "at its cap: nothing more can be sent from this chain")
    elif pool.balance * PPM >= pool.total_cap * NEAR_PPM:
        yield PoolWarning(Severity.NEAR, "nearly at its cap")


def _of_epoch_cap(pool: PoolState) -> Iterator[PoolWarning]:
    rest = pool.epoch_rest
    if rest is None or pool.epoch_cap is None:
        return
    if rest <= 0:
        yield PoolWarning(
            Severity.REACHED, "epoch cap used up: nothing more can be sent until the next epoch"
        )
    elif pool.epoch_volume * PPM >= pool.epoch_cap * NEAR_PPM:
        yield PoolWarning(Severity.NEAR, "epoch cap nearly used up")


def _of_pace(pool: PoolState, gained: int) -> Iterator[PoolWarning]:
    """Full or empty soon, if transfers go on as they did."""
    rest = pool.total_rest
    if gained > 0 and rest is not None and rest > 0:
        within = _lasts(rest, gained)
        if within <= AHEAD:
            yield PoolWarning(Severity.NEAR, "at its cap", within)
    if gained < 0 and pool.counters.balance > 0:
        within = _lasts(pool.balance, -gained)
        if within <= AHEAD:
            yield PoolWarning(Severity.NEAR, "empty", within)


def _lasts(amount: int, per_pace: int) -> timedelta:
    """How long an amount lasts, in whole minutes, rounded down; anything over a year is a year."""
    minutes = amount * PACE_HOURS * 60 // per_pace
    return timedelta(minutes=min(minutes, 366 * 24 * 60))
