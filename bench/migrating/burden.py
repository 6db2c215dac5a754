"""What a program that only computes does to the load, working as much of the time as ranges do.

It touches no table and takes no lock. What it costs those who ask, a migration costs them on this machine at
the least.
"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Final

from app.models.migrating.steps import RANGE_SECONDS
from bench.migrating.steady import Load, p99

SECONDS: Final = 15.0

_COMPUTES: Final = """
import sys, time
works, rests = map(float, sys.argv[1:])
while True:
    until = time.monotonic() + works
    while time.monotonic() < until:
        pass
    time.sleep(rests)
"""


def burdened(load: Load, percent: int) -> tuple[float, float]:
    """The p99 beside such a program, and that before, in milliseconds.

    :param percent: of the time that it works.
    """
    load.catch_up()
    base = time.time()
    time.sleep(SECONDS)
    rests = RANGE_SECONDS * (100 - percent) / percent
    start = time.time()
    program = subprocess.Popen([sys.executable, "-c", _COMPUTES, str(RANGE_SECONDS), str(rests)])
    try:
        time.sleep(SECONDS)
        end = time.time()
    finally:
        program.kill()
        program.wait()
    return p99(load.between(start, end)), p99(load.between(base, start))
