"""The database of processes that are killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.migrated import migrated


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A migrated database, which processes that are killed write to."""
    with migrated(request, request.param, tmp_path) as found:
        yield found
