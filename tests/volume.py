"""How much is tried by tests that try many inputs: everyday a part of each, in full with ``FULL_TESTS=1``.

``make test-all`` and continuous integration try everything. Which tests and cases run everyday is said in
``tests/everyday.py``; here, how much one test tries.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

FULL = bool(os.environ.get("FULL_TESTS"))
Input = TypeVar("Input")

PART = 8
"""One of so many, where a test does not say how many it needs."""


def volume(full: int, everyday: int | None = None) -> int:
    """How many inputs a test tries: ``full``, or everyday an eighth of these or as many as it says."""
    if FULL:
        return full
    return -(-full // PART) if everyday is None else everyday


def some(inputs: Sequence[Input], part: int = PART) -> Sequence[Input]:
    """Those of the inputs that a test tries: all, or everyday one of so many, from the first."""
    return inputs if FULL else inputs[::part]
