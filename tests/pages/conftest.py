"""A machine with an installation on it, and a gateway that holds the sandbox."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import create_app
from tests.applications import close_connections, make_settings
from tests.pages.shell import Shell, installation
from tests.sandboxes import load_into
from tests.serving.server import Server, serving

SECRETS = {
    "SECRET_KEY": "test-only secret key, 32 characters or more",
    "AUDIT_KEY": "test-only audit key, 32 characters or more",
}


@pytest.fixture(scope="package")
def sandbox(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with the sandbox, to be copied."""
    file = tmp_path_factory.mktemp("sandbox") / "gateway.db"
    shutil.copy(sqlite_template, file)
    app = create_app(make_settings(f"sqlite:///{file}"))
    with app.app_context():
        load_into(app)
        close_connections()
    return file


@pytest.fixture(scope="package")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return installation(tmp_path_factory.mktemp("machine"))


@pytest.fixture
def shell(machine: Shell, sandbox: Path) -> Shell:
    """The installation as it is before each test; its database is where ``make run`` has it."""
    file = machine.code / "instance/gateway.db"
    for left in (*file.parent.iterdir(), machine.root / "notes", machine.root / "var/log/gateway/heads"):
        left.unlink(missing_ok=True)
    shutil.rmtree(machine.root / "etc", ignore_errors=True)
    shutil.copy(sandbox, file)
    machine.settings = SECRETS | {
        "DATABASE_URL": f"sqlite:///{file}",
        "OPERATOR_PASSWORD": "only for this test, no secret",
    }
    return machine


@pytest.fixture(scope="package")
def server(sandbox: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A gateway for the public, as an installation has several."""
    folder = tmp_path_factory.mktemp("server")
    url = f"sqlite:///{shutil.copy(sandbox, folder / 'gateway.db')}"
    with serving(
        "wsgi:app", folder / "log", DATABASE_URL=url, WEB_CONCURRENCY="1", DOORS="api,grpcweb"
    ) as running:
        yield running
