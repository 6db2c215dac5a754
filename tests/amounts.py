"""How much a test tries: a few inputs everyday, many in ``make test-all``."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings


def few_or_many(few: int, many: int) -> list[Any]:
    """Cases for ``parametrize``: a few inputs, and as a slow test many."""
    return [pytest.param(few, id="few"), pytest.param(many, id="many", marks=pytest.mark.slow)]


costly = settings(max_examples=settings().max_examples // 10)
"""For a property whose examples use a database or hash for milliseconds: a tenth of the examples."""
