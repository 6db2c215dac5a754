"""Programs of the system that tests run."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final, NoReturn

import pytest

from demo.anvil import AnvilMissing, installed

_SYSTEM: Final = "/usr/sbin:/usr/local/sbin:/usr/lib/postgresql/15/bin"
"""Where Debian has servers: not in the path of everybody."""

_OURS: Final = Path(sys.executable).parent

ALLOWED = True
"""Whether the test that runs is marked ``system`` (``tests/conftest.py``)."""


def found(name: str) -> str | None:
    """The path of a program of the system or of our own environment, None where it is not installed."""
    return shutil.which(name, path=f"{_SYSTEM}:{_OURS}:{os.environ.get('PATH', '')}")


def program(name: str, package: str = "") -> str:
    """The path of a program of the system or of our own environment.

    :param package: of Debian; the program's name where it is left out.
    """
    path = found(name)
    if path is None or not Path(path).is_relative_to(_OURS):
        marked_system(name)
    if path is None:
        missing(f"{name} is not installed: apt-get install {package or name}")
    return path


def anvil() -> None:
    """The node of the local chains is installed."""
    marked_system("anvil")
    try:
        installed()
    except AnvilMissing as error:
        missing(str(error))


def marked_system(name: str) -> None:
    """Fail a test that uses a program of the system and does not say so by the mark ``system``."""
    if not ALLOWED:
        pytest.fail(f"{name} does not come with pip: the test needs the mark `system`")


def missing(message: str) -> NoReturn:
    """Skip a test whose program is not here; continuous integration has them all."""
    if os.environ.get("CI"):
        pytest.fail(message)
    pytest.skip(message)
