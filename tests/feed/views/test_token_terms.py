"""Tokens that end, that allow so much, and that are replaced while both are valid."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient, FlaskCliRunner

from app.credentials.rules.ingest_token import EnvironmentTokens
from app.credentials.services.issued import CredentialRefused, revoke_token
from app.credentials.services.issuing import TokenTerms, issue, new_token, second_token
from app.db.database import Database
from tests.actors import TESTER
from tests.applications import Audited, Editing, change_part, editing_of
from tests.feed.services.world import NOW, event, sent
from tests.feed.views.kit import CURSOR, bearer, logged, post, refused, verdict


@pytest.fixture
def cli(app: Flask) -> FlaskCliRunner:
    return app.test_cli_runner()


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
        assert cli.invoke(args=["ingest-tokens", "revoke", "relayer-1", "--key", key]).exit_code == 0
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
        with pytest.raises(CredentialRefused, match="no valid token relayer-1 to replace"):
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
