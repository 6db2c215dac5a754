"""``flask deliver --once``."""

from __future__ import annotations

import pytest

from app.db.database import Database
from app.http.application import part_of
from tests.applications import OpenApp
from tests.feed.services.world import build_network, feed, sent
from tests.webhooks.services.hooks import deliveries, to_everything

pytestmark = pytest.mark.one_database


def test_once_sends_what_is_due_and_ends(open_app: OpenApp) -> None:
    app = open_app(webhook_allow_networks=("127.0.0.0/8",))
    with app.app_context():
        with part_of(app, Database).engine.begin() as connection:
            build_network(connection)
        to_everything(app, "http://127.0.0.1:9/")
        feed(app, sent(1))
    done = app.test_cli_runner().invoke(args=["deliver", "--once"])
    assert done.exit_code == 0, done.output
    assert "attempts to send: 1" in done.output
    with app.app_context():
        (row,) = deliveries(part_of(app, Database))
    assert "no connection" in row.tries


def test_unreadable_authorities_are_reported(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere.pem")
    app = open_app(webhook_allow_networks=("127.0.0.0/8",))
    done = app.test_cli_runner().invoke(args=["deliver", "--once"])
    assert done.exit_code == 1
    assert "SSL_CERT_FILE: must be a file of certificates in PEM: No such file" in done.output
