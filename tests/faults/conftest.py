"""The database of processes that are killed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import empty_tables


@pytest.fixture
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A migrated database, which processes that are killed write to."""
    if request.param == "sqlite":
        yield f"sqlite:///{shutil.copy(request.getfixturevalue('sqlite_template'), tmp_path / 'gateway.db')}"
    else:
        found = request.getfixturevalue("postgres_url")
        yield found
        empty_tables(found)
