"""The commands are all there, and what they import is not, until one of them is called."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click import Context
from flask import Flask

from app.cli.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]

SPARED = (
    "flask_admin", "flask_security", "flask_login", "flask_wtf", "wtforms", "webauthn", "zxcvbn", "argon2",
    "passlib", "redis", "httpx", "flask_migrate", "alembic", "psycopg",
)  # fmt: skip
"""Libraries that a process imports only where it needs them (docs/dependencies.md)."""

OF_PAGES = ("flask_babel", "babel", "pytz")
"""The same for processes without pages."""

DOORS = "api,grpcweb,ingest,wait"


@pytest.fixture
def bare(tmp_path: Path) -> dict[str, str]:
    url = f"sqlite:///{tmp_path / 'gateway.db'}"
    return os.environ | {"SECRET_KEY": "k" * 40, "DATABASE_URL": url, "DOORS": DOORS, "FLASK_APP": "wsgi"}


def test_process_imports_only_what_doors_need(bare: dict[str, str]) -> None:
    for name in ("RATE_LIMIT_STORAGE_URL", "RATE_LIMIT_STORAGE_URL_FILE"):
        bare.pop(name, None)
    code = f"import sys, wsgi; print(*[name for name in {SPARED} if name in sys.modules])"
    assert _run(bare, "-c", code.replace(str(SPARED), str(SPARED + OF_PAGES))).split() == [*OF_PAGES]
    without_pages = bare | {"DOORS": "grpcweb,ingest,wait"}
    assert _run(without_pages, "-c", code.replace(str(SPARED), str(OF_PAGES))).split() == []
    assert _run(bare | {"RATE_LIMIT_STORAGE_URL": "redis://cache"}, "-c", code).split() == ["redis"]


def test_flask_help_describes_every_command(bare: dict[str, str]) -> None:
    listed = _run(bare, "-m", "flask", "--help").partition("Commands:\n")[2].splitlines()
    helped = {name: words for name, _, words in (line.strip().partition(" ") for line in listed)}
    assert COMMANDS.keys() <= helped.keys()
    assert all(words.strip() for words in helped.values())
    assert not {"run", "shell", "routes"} & helped.keys(), "Flask's own, for developers"


def test_cli_finds_every_command_by_name(app: Flask) -> None:
    context = Context(app.cli)
    assert COMMANDS.keys() <= {*app.cli.list_commands(context)}
    for name in app.cli.list_commands(context):
        command = app.cli.get_command(context, name)
        assert command is not None and command.name == name
    assert app.cli.get_command(context, "cellar") is None


def _run(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout
