"""Tokens: made and shown once, recognised, revoked at once and everywhere."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient, FlaskCliRunner
from sqlalchemy import select

from app.credentials.models import IngestToken
from app.credentials.rules.credential import digest_of
from app.credentials.rules.ingest_token import EnvironmentTokens, environment_token
from app.credentials.services.issued import revoke_token
from app.credentials.services.issuing import issue, new_token
from app.db.database import Database
from app.db.engine import reading
from app.feed.services import ingest
from app.http.application import part_of
from tests.actors import TESTER
from tests.applications import Audited, Editing, OpenApp
from tests.feed.services.world import NOW, proven, sent
from tests.feed.views.kit import CURSOR, EVENTS, NDJSON, TOKEN, bearer, logged, ndjson, post, refused, verdict

MADE = re.compile(r"gwi_[0-9a-f]{16}_[A-Za-z0-9_-]{43}")
ENVIRONMENT_NAME = "env-" + digest_of(TOKEN.encode()).hex()[:8]


@pytest.fixture
def cli(app: Flask) -> FlaskCliRunner:
    return app.test_cli_runner()


@pytest.fixture
def elsewhere(open_app: OpenApp) -> Flask:
    """Another process, with a memory of its own."""
    return open_app()


def test_token_is_shown_once_only(
    app: Flask, database: Database, cli: FlaskCliRunner, client: FlaskClient
) -> None:
    made = cli.invoke(args=["ingest-tokens", "create", "relayer-1"])
    assert made.exit_code == 0
    token = made.stdout.strip()
    assert MADE.fullmatch(token)
    assert token not in made.stderr
    assert verdict(post(client, [sent(1)], token))["accepted"] == 1
    assert logged(app) == [(sent(1)["id"], "relayer-1")]
    with reading(database.engine) as connection:
        row = connection.execute(select(IngestToken.__table__)).one()
    assert row.digest == digest_of(token.encode())
    assert token.split("_", 2)[2] not in repr(row)
    assert (row.types, row.chains, row.created_at, row.revoked_at) == (None, None, NOW, None)
    listed = cli.invoke(args=["ingest-tokens", "list"])
    assert token.split("_", 2)[2] not in listed.output


def test_list_shows_every_token(cli: FlaskCliRunner, client: FlaskClient) -> None:
    arguments = ["--type", "chain.head", "--type", "transfer.sent", "--chain", "56", "--chain", "1"]
    scoped = cli.invoke(args=["ingest-tokens", "create", "scoped", *arguments]).stdout.strip()
    cli.invoke(args=["ingest-tokens", "create", "gone"])
    cli.invoke(args=["ingest-tokens", "revoke", "gone"])
    post(client, [proven(1)], scoped)
    rows = [line.split() for line in cli.invoke(args=["ingest-tokens", "list"]).stdout.splitlines()]
    now = "2026-06-01T12:00:00Z"
    assert rows == [
        ["NAME", "STATE", "TYPES", "CHAINS", "CREATED", "LAST", "ACCEPTED"],
        [ENVIRONMENT_NAME, "environment", "all", "all", "-", "-"],
        ["gone", "revoked", now, "all", "all", now, "-"],
        ["scoped", "valid", "transfer.sent,chain.head", "1,56", now, now],
    ]


NOT_MADE = [
    (["Relayer"], "is not a valid name"),
    (["taken"], "is already used, or was used before"),
    (["gone"], "is already used, or was used before"),
    (["x", "--type", "events.retracted"], "'events.retracted' is not an event type"),
    (["x", "--chain", "4294967296"], "4294967296 is not a chain id"),
]


def test_invalid_token_is_not_created(
    cli: FlaskCliRunner,
    database: Database,
    audited: Audited,
    editing: Editing,
    environment_tokens: EnvironmentTokens,
) -> None:
    for name in ("taken", "gone"):
        issue(*editing, new_token(name), actor=TESTER)
    revoke_token(*audited, environment_tokens, "gone", actor=TESTER)
    for arguments, message in NOT_MADE:
        tried = cli.invoke(args=["ingest-tokens", "create", *arguments])
        assert tried.exit_code != 0, arguments
        assert message in tried.stderr
        assert tried.stdout == ""
    with reading(database.engine) as connection:
        assert len(connection.execute(select(IngestToken.name)).all()) == 2


def test_revoked_everywhere_at_once(
    cli: FlaskCliRunner, client: FlaskClient, elsewhere: Flask, editing: Editing
) -> None:
    token = issue(*editing, new_token("relayer-1"), actor=TESTER).text
    other = elsewhere.test_client()
    for each in (client, other):
        assert verdict(post(each, [sent(1)], token))
    done = cli.invoke(args=["ingest-tokens", "revoke", "relayer-1"])
    assert (done.exit_code, done.stdout) == (0, "relayer-1 was revoked at 2026-06-01T12:00:00Z\n")
    for each in (client, other):
        refused(post(each, [sent(2)], token), 401, "unauthorized")
        refused(each.get(CURSOR, headers=bearer(token)), 401, "unauthorized")
    assert cli.invoke(args=["ingest-tokens", "revoke", "relayer-1"]).stdout == done.stdout


def test_revoked_token_ends_its_upload(
    client: FlaskClient,
    app: Flask,
    audited: Audited,
    editing: Editing,
    environment_tokens: EnvironmentTokens,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ingest, "BATCH", 2)
    token = issue(*editing, new_token("relayer-1"), actor=TESTER).text
    read = ingest._read

    def revoke_then_read(*arguments: Any) -> Any:
        if len(logged(app)) == 4:
            revoke_token(*audited, environment_tokens, "relayer-1", actor=TESTER)
        return read(*arguments)

    monkeypatch.setattr(ingest, "_read", revoke_then_read)
    message = refused(post(client, [sent(n) for n in range(10)], token), 401, "unauthorized")
    assert "revoked" in message
    assert len(logged(app)) == 4


NOT_BEARERS = [
    None, "", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, f"Bearer{TOKEN}", f"Bearer {TOKEN}1",
    f"Bearer {TOKEN[:-2]}", f"Bearer {TOKEN.upper()}", f"Bearer {TOKEN},{TOKEN}", "Bearer \u00e9",
    f"Bearer {TOKEN}\u00a0", "Bearer gwi_0123456789abcdef_" + "a" * 43, "Bearer " + ENVIRONMENT_NAME,
    f'Bearer "{TOKEN}"',
]  # fmt: skip


def test_request_without_valid_token_is_refused(client: FlaskClient, app: Flask) -> None:
    for header in NOT_BEARERS:
        headers = {} if header is None else {"Authorization": header}
        for response in (
            client.post(EVENTS, data=ndjson(sent(1)), content_type=NDJSON, headers=headers),
            client.post(EVENTS, data=b"\xff" * 100, content_type="text/plain", headers=headers),
            client.get(CURSOR, headers=headers),
        ):
            refused(response, 401, "unauthorized")
            assert response.headers["WWW-Authenticate"] == "Bearer"
    assert logged(app) == []


def test_tokens_of_the_environment(open_app: OpenApp) -> None:
    tokens = ("first-token", "second token", "t\u00f6ken")
    app = open_app(ingest_tokens=(*tokens, tokens[0]))
    with app.app_context():
        client = app.test_client()
        for n, token in enumerate(tokens):
            on_the_wire = token.encode().decode("latin-1")
            assert verdict(post(client, [sent(n)], on_the_wire))["accepted"] == 1
        names = [reporter for _, reporter in logged(app)]
        assert names == [environment_token(token).name for token in tokens]
        assert all(re.fullmatch(r"env-[0-9a-f]{8}", name) for name in names)
        assert len(set(names)) == len(part_of(app, EnvironmentTokens)) == 3


def test_refused_tokens_are_logged_once_a_minute(
    client: FlaskClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever guesses at tokens is seen, and cannot fill the disk. No token is in the log."""
    for n in range(20):
        refused(post(client, [sent(1)], f"guess-number-{n}"), 401, "unauthorized")
    lines = [record for record in caplog.records if "answered 401" in record.getMessage()]
    assert len(lines) == 1
    assert "guess-number" not in caplog.text
