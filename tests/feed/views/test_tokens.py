"""Tokens: made and shown once, recognised, bounded, replaced, and revoked at once and everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient, FlaskCliRunner
from sqlalchemy import select

from app.credentials.models import IngestToken
from app.credentials.rules.credential import digest_of
from app.credentials.rules.ingest_token import EnvironmentTokens, environment_token
from app.credentials.services.issued import CredentialRefused, revoke_token
from app.credentials.services.issuing import TokenTerms, issue, new_token, second_token
from app.db.database import Database
from app.db.engine import reading
from app.feed.services import ingest
from app.http.application import part_of
from tests.actors import TESTER
from tests.applications import Audited, Editing, OpenApp, change_part, editing_of
from tests.feed.services.world import NOW, event, proven, sent
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


@pytest.fixture
def set_clock(app: Flask) -> Callable[[float], None]:
    """Set the clock of the application to so many seconds after NOW."""

    def change(seconds: float) -> None:
        change_part(app, Database, clock=lambda: NOW + timedelta(seconds=seconds))

    return change


def heads(start: int, count: int) -> list[dict[str, Any]]:
    return [event("chain.head", chain_id=1, block=start + n) for n in range(count)]


class TestExpiry:
    TERMS = TokenTerms(expires_at=NOW + timedelta(hours=1))

    def test_expired_token_is_refused(
        self, client: FlaskClient, app: Flask, editing: Editing, set_clock: Callable[[float], None]
    ) -> None:
        token = issue(*editing, new_token("relayer-1", terms=self.TERMS), actor=TESTER).text
        set_clock(3599.9)
        assert verdict(post(client, [sent(1)], token))["accepted"] == 1
        set_clock(3600)
        for answer in (post(client, [sent(2)], token), client.get(CURSOR, headers=bearer(token))):
            assert "the token expired at 2026-06-01T13:00:00Z" in refused(answer, 401, "unauthorized")
        assert len(logged(app)) == 1

    def test_token_in_the_past_is_not_issued(self, editing: Editing) -> None:
        with pytest.raises(CredentialRefused, match="is in the past"):
            issue(*editing, new_token("relayer-1", terms=TokenTerms(expires_at=NOW)), actor=TESTER)


class TestQuota:
    TERMS = TokenTerms(quota_events=5, quota_seconds=60)

    def test_batch_over_rate_is_refused_whole(
        self, client: FlaskClient, app: Flask, editing: Editing, set_clock: Callable[[float], None]
    ) -> None:
        token = issue(*editing, new_token("relayer-1", terms=self.TERMS), actor=TESTER).text
        set_clock(20)
        assert verdict(post(client, heads(0, 3), token))["accepted"] == 3
        answer = post(client, heads(100, 3), token)
        message = refused(answer, 429, "rate_limited")
        assert answer.headers["Retry-After"] == "40"
        assert "may report 5 events in 60 s, and 2 are left until 2026-06-01T12:01:00Z" in message
        assert len(logged(app)) == 3, "nothing of the batch that was over it"
        assert verdict(post(client, heads(100, 2), token))["accepted"] == 2
        assert verdict(post(client, heads(0, 3), token))["repeated"] == 3, "what is repeated is free"
        set_clock(60)
        assert verdict(post(client, heads(100, 3), token))["accepted"] == 1

    def test_repeated_large_portion_completes(
        self, client: FlaskClient, app: Flask, editing: Editing, set_clock: Callable[[float], None]
    ) -> None:
        token = issue(*editing, new_token("relayer-1", terms=self.TERMS), actor=TESTER).text
        portion = heads(0, 12)
        for minute in range(2):
            set_clock(60 * minute)
            assert post(client, portion, token).status_code == 429
            assert len(logged(app)) == 5 * (minute + 1)
        set_clock(120)
        assert verdict(post(client, portion, token)) == {"accepted": 2, "repeated": 10, "refused": []}

    def test_refused_and_unreadable_lines_count(self, client: FlaskClient, editing: Editing) -> None:
        token = issue(*editing, new_token("relayer-1", ["chain.head"], terms=self.TERMS), actor=TESTER).text
        lost = [event("transfer.lost"), sent(1), event("lost"), event("lost"), event("lost")]
        assert len(verdict(post(client, lost, token))["refused"]) == 5
        assert post(client, heads(0, 1), token).status_code == 429


class TestRotation:
    def test_both_tokens_work_until_revocation(
        self, cli: FlaskCliRunner, client: FlaskClient, app: Flask, editing: Editing
    ) -> None:
        quota = TokenTerms(quota_events=3, quota_seconds=60)
        old = issue(*editing, new_token("relayer-1", ["chain.head"], [1], terms=quota), actor=TESTER).text
        made = cli.invoke(args=["ingest-tokens", "rotate", "relayer-1"])
        new = made.stdout.strip()
        assert (made.exit_code, new == old) == (0, False)
        for number, token in enumerate((old, new)):
            assert verdict(post(client, heads(number, 1), token))["accepted"] == 1
        assert logged(app)[1][1] == "relayer-1", "the reporter is the same"
        assert verdict(post(client, [event("chain.head", chain_id=2, block=1)], new))["refused"], (
            "the scope too"
        )
        assert post(client, heads(9, 1), new).status_code == 429, "and the quota is one"
        assert (
            client.get(CURSOR, headers=bearer(new)).get_json()
            == client.get(CURSOR, headers=bearer(old)).get_json()
        )
        key = old.split("_")[1]
        assert f"relayer-1 (key ID {key})" in cli.invoke(args=["ingest-tokens", "list"]).stdout
        done = cli.invoke(args=["ingest-tokens", "revoke", "relayer-1", "--key", key])
        assert done.stdout.startswith(f"relayer-1 (key ID {key}) was revoked at ")
        refused(post(client, heads(0, 1), old), 401, "unauthorized")
        assert verdict(post(client, heads(0, 1), new))["repeated"] == 1

    def test_third_token_is_refused(
        self, audited: Audited, editing: Editing, environment_tokens: EnvironmentTokens
    ) -> None:
        issue(*editing, new_token("relayer-1"), actor=TESTER)
        issue(*editing, second_token("relayer-1"), actor=TESTER)
        with pytest.raises(CredentialRefused, match="already has 2 valid tokens"):
            issue(*editing, second_token("relayer-1"), actor=TESTER)
        revoke_token(*audited, environment_tokens, "relayer-1", actor=TESTER)
        with pytest.raises(CredentialRefused, match="no token relayer-1 to replace"):
            issue(*editing, second_token("relayer-1"), actor=TESTER)
        with pytest.raises(CredentialRefused, match="is already used, or was used before"):
            issue(*editing, new_token("relayer-1"), actor=TESTER)

    def test_second_token_inherits_lifetime(
        self, app: Flask, client: FlaskClient, editing: Editing, set_clock: Callable[[float], None]
    ) -> None:
        issue(
            *editing,
            new_token("r", terms=TokenTerms(expires_at=NOW + timedelta(seconds=9))),
            actor=TESTER,
        )
        set_clock(5)
        token = issue(*editing_of(app), second_token("r"), actor=TESTER).text
        set_clock(13.9)
        assert verdict(post(client, heads(0, 1), token))["accepted"] == 1
        set_clock(14)
        assert post(client, heads(1, 1), token).status_code == 401

    def test_expired_token_is_replaced(
        self, app: Flask, client: FlaskClient, editing: Editing, set_clock: Callable[[float], None]
    ) -> None:
        nine_seconds = TokenTerms(expires_at=NOW + timedelta(seconds=9))
        issue(*editing, new_token("r", ["chain.head"], [1], terms=nine_seconds), actor=TESTER)
        set_clock(20)
        token = issue(*editing_of(app), second_token("r"), actor=TESTER).text
        assert verdict(post(client, heads(0, 1), token))["accepted"] == 1
        assert verdict(post(client, [event("chain.head", chain_id=2, block=1)], token))["refused"]
        set_clock(29)
        assert post(client, heads(1, 1), token).status_code == 401


def test_gateway_without_tokens_refuses_all(open_app: OpenApp) -> None:
    app = open_app(ingest_tokens=())
    with app.app_context():
        refused(app.test_client().get(CURSOR, headers=bearer("")), 401, "unauthorized")


@pytest.mark.parametrize(
    ("name", "message"), [("nobody", "there is no token nobody"), (ENVIRONMENT_NAME, "INGEST_TOKENS")]
)
def test_unknown_token_is_not_revoked(cli: FlaskCliRunner, name: str, message: str) -> None:
    tried = cli.invoke(args=["ingest-tokens", "revoke", name])
    assert tried.exit_code == 1
    assert message in tried.stderr
