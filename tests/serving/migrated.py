"""Migrated databases for servers, which are processes of their own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.databases import empty_tables


def sqlite_url(folder: Path, template: Path) -> str:
    """A copy of a migrated, empty file in a folder."""
    return f"sqlite:///{shutil.copy(template, folder / 'gateway.db')}"


@contextmanager
def migrated(request: pytest.FixtureRequest, backend: str, folder: Path) -> Iterator[str]:
    """The URL of an empty database of this kind, for the time of the block."""
    if backend == "sqlite":
        yield sqlite_url(folder, request.getfixturevalue("sqlite_template"))
    else:
        url: str = request.getfixturevalue("postgres_url")
        yield url
        empty_tables(url)
