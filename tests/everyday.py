"""How much a test tries that tries many: to be replaced, test by test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Case = TypeVar("Case")

SOAK = False
SEED = 1
PART = 8


def volume(soak: int, everyday: int | None = None) -> int:
    """How many inputs a test tries."""
    return -(-soak // PART) if everyday is None else everyday


def some(inputs: Sequence[Case], part: int = PART) -> Sequence[Case]:
    """Those of the inputs that a test tries."""
    return inputs[::part]
