"""How much is tried by tests that try many inputs: everyday a part of each, in full with ``FULL_TESTS=1``.

``make test-all`` and continuous integration try everything. Every test runs in both: only how much it tries
differs.
"""

from __future__ import annotations

import os

FULL = bool(os.environ.get("FULL_TESTS"))
PART = 4
"""One of so many, where a test does not say how many it needs."""


def volume(full: int, everyday: int | None = None) -> int:
    """How many inputs a test tries: ``full``, or everyday a quarter of these or as many as it says."""
    if FULL:
        return full
    return -(-full // PART) if everyday is None else everyday
