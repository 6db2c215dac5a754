"""Programs of the system that tests run."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

from bench.programs import found
from demo.anvil import AnvilMissing, installed


def program(name: str, package: str = "") -> str:
    """The path of a program of the system or of our own environment.

    :param package: of Debian; the program's name where it is left out.
    """
    path = found(name)
    if path is None:
        missing(f"{name} is not installed: apt-get install {package or name}")
    return path


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
