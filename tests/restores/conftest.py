"""Servers of PostgreSQL that can be lost, for the tests of backups."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.programs import missing
from tests.restores.machine import DEBIAN_15, Machine
from tests.restores.ways import running

ROOT = os.geteuid() == 0


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder for a socket, that the server's user may enter."""
    with tempfile.TemporaryDirectory(prefix="gw-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def debian(short: Path) -> Iterator[Machine]:
    if not DEBIAN_15.is_dir():
        missing("PostgreSQL 15 is not installed: apt-get install postgresql-15")
    with running(Machine(DEBIAN_15, short / "m", "postgres" if ROOT else None)) as machine:
        yield machine
