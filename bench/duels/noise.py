"""How much of the machine others used while something was measured."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import psutil

from tests.load.served import cpu_seconds

QUIET: Final = 0.12
"""The largest share of all cores that others may use. A machine at rest spends 5 to 7 % on itself; a program
that computes a quarter of the time takes 12 % of two cores."""


@dataclass(frozen=True, slots=True)
class Clocks:
    """Seconds, each since some time of its own."""

    wall: float
    busy: float
    """That all cores worked for any process, this machine's host included."""
    own: float
    """That they worked for what is measured and for the measuring process."""


def read_clocks(roots: Sequence[psutil.Process]) -> Clocks:
    """The clocks now.

    :param roots: processes of this run which are not under this one, such as the database's.
    """
    cores = psutil.cpu_times()
    # On other systems than Linux some of these do not exist.
    kinds = ("user", "nice", "system", "irq", "softirq", "steal")
    busy = sum(getattr(cores, kind, 0.0) for kind in kinds)
    return Clocks(time.monotonic(), busy, cpu_seconds([psutil.Process(), *roots]))


def share_of_others(before: Clocks, after: Clocks, cores: int) -> float:
    """The part of so many cores that others used between the two readings, 0 to 1.

    A core's time is counted in ticks of 10 ms, so in short spans it can look as if we had used more than all.
    """
    others = (after.busy - before.busy) - (after.own - before.own)
    return max(0.0, others / ((after.wall - before.wall) * cores))


def cores() -> int:
    return psutil.cpu_count() or 1
