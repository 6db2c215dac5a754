"""Seeds of random histories: a few everyday, and as slow tests two thousand."""

from __future__ import annotations

from typing import Any, Final

import pytest

MANY: Final = 2_000
PART: Final = 250
"""Seeds of one slow test, so that several processes share them."""


def seeds(few: int, many: int = MANY) -> list[Any]:
    """Cases for ``parametrize``, each a range of seeds."""
    parts = (range(first, min(first + PART, many)) for first in range(0, many, PART))
    slow = [pytest.param(part, id=f"{part.start}-{part.stop}", marks=pytest.mark.slow) for part in parts]
    return [pytest.param(range(few), id="few"), *slow]
