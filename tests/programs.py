"""Programs of the system that tests run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

from demo.anvil import AnvilMissing, installed

_OURS = Path(__file__).resolve().parents[1] / ".venv/bin"
_SYSTEM = "/usr/sbin:/usr/local/sbin:/usr/lib/postgresql/15/bin"
"""Where Debian has servers: not in the path of everybody."""


def program(name: str, package: str = "") -> str:
    """The path of a program of the system or of our own environment.

    :param package: of Debian; the program's name where it is left out.
    """
    found = shutil.which(name, path=f"{_SYSTEM}:{_OURS}:{os.environ.get('PATH', '')}")
    if found is None:
        missing(f"{name} is not installed: apt-get install {package or name}")
    return found


def anvil() -> None:
    """The node of the local chains is installed."""
    try:
        installed()
    except AnvilMissing as error:
        missing(str(error))


def missing(message: str) -> NoReturn:
    """Skip a test whose program is not here; continuous integration has them all."""
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
