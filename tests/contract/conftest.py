"""The sandbox of the recorded answers, loaded once in each process and copied for each application."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

from tests.applications import close_connections
from tests.contract.recorded_answers import app_on, sandbox_app

OpenSandbox = Callable[..., Flask]
"""An application with the sandbox: ``open_sandbox(doors=("api",))``."""


@pytest.fixture(scope="session")
def sandbox_file(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    shutil.copy(sqlite_template, folder / "gateway.db")
    with sandbox_app(folder).app_context():
        close_connections()  # then all of it is in the file
    return folder / "gateway.db"


@pytest.fixture
def open_sandbox(sandbox_file: Path, tmp_path: Path) -> OpenSandbox:
    def opened(**changes: object) -> Flask:
        copied = shutil.copy(sandbox_file, tmp_path / "sandbox.db")
        return app_on(f"sqlite:///{copied}", **changes)

    return opened
