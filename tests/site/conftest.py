"""The site as `make docs` builds it, and a gateway to run the snippets against."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app import create_app
from app.credentials.rules.api_key import Scope
from app.credentials.services.issuing import issue, new_key
from app.db.models import db
from config import ALL_DOORS, DOCS_SITE
from scripts.docs_site.build import ensure_site
from tests.actors import TESTER
from tests.applications import editing_of, make_settings
from tests.serving.sandbox import serving_sandbox
from tests.serving.server import Server

LOOPBACK = "127.0.0.0/8"


@pytest.fixture(scope="session")
def site() -> Path:
    """The site of this repository, where `make docs` puts it: built once, until a page changes."""
    ensure_site()
    return DOCS_SITE


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the gateway of the snippets keeps its database."""
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="package")
def server(folder: Path, sqlite_template: Path) -> Iterator[Server]:
    """A gateway with the sandbox and every door, as the quick start has one; it may send to this machine."""
    doors = ",".join((*ALL_DOORS, "wait"))
    settings = {"WEB_CONCURRENCY": "1", "DOORS": doors, "WEBHOOK_ALLOW_NETWORKS": LOOPBACK}
    with serving_sandbox(folder, sqlite_template, **settings) as running:
        yield running


@pytest.fixture(scope="package")
def key(folder: Path, server: Server) -> str:
    """An API key of the gateway that may read and subscribe, as an administrator makes it."""
    app = create_app(make_settings(f"sqlite:///{folder / 'gateway.db'}"))
    with app.app_context():
        text = issue(
            *editing_of(app), new_key("snippets", [Scope.READ, Scope.WEBHOOKS], ""), actor=TESTER
        ).text
        db.engine.dispose()
    return text
