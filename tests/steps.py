"""How much work something is: counted in calls of functions, so that no clock decides."""

from __future__ import annotations

import sys
from collections.abc import Callable


def steps(work: Callable[[], object]) -> int:
    """How many functions are called meanwhile in this thread."""
    called = 0

    def note(_frame: object, what: str, _argument: object) -> None:
        nonlocal called
        called += what in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return called
