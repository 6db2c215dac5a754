"""Each key is rotated as docs/operations.md has it: both work for a while, then only the new one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask

from app.audit.services import record_separately
from app.audit.verification import verify_audit
from app.credentials.rules.ingest_token import EnvironmentTokens
from app.credentials.services.issued import list_tokens, revoke_key
from app.credentials.services.issuing import issue, new_key
from app.db.database import Database
from app.http.application import part_of
from config import ConfigError, load_settings
from tests.actors import TESTER
from tests.applications import OpenApp, audited_of, editing_of
from tests.feed.services.world import NOW, sent
from tests.feed.views.kit import CURSOR, bearer, post, verdict

pytestmark = pytest.mark.one_database

OLD, NEW = "the old key of the tests, 32 characters", "the new key of the tests, 32 characters"


@pytest.fixture
def app_with(open_app: OpenApp) -> Callable[..., Flask]:
    return lambda **settings: open_app(clock=lambda: NOW, **settings)


def status_of_report(app: Flask, number: int, token: str) -> int:
    """The status of reporting one event."""
    return post(app.test_client(), [sent(number)], token).status_code


def test_ingest_token_is_rotated(app_with: Callable[..., Flask]) -> None:
    app = app_with()
    cli, client = app.test_cli_runner(), app.test_client()
    old = cli.invoke(args=["ingest-tokens", "create", "relayer"]).stdout.strip()
    assert status_of_report(app, 1, old) == 200
    new = cli.invoke(args=["ingest-tokens", "rotate", "relayer"]).stdout.strip()
    assert [status_of_report(app, 2, old), status_of_report(app, 3, new)] == [200, 200], "both are valid"
    cursors = [client.get(CURSOR, headers=bearer(token)).json for token in (old, new)]
    assert cursors[0] == cursors[1], "the reporter goes on where it was"
    assert verdict(post(client, [sent(1)], new))["repeated"] == 1
    (first, *_) = [
        token
        for token in list_tokens(part_of(app, Database), part_of(app, EnvironmentTokens))
        if f"_{token.key_id}_" in old
    ]
    assert cli.invoke(args=["ingest-tokens", "revoke", "relayer", "--key", first.key_id]).exit_code == 0
    assert [status_of_report(app, 4, old), status_of_report(app, 4, new)] == [401, 200]


def test_token_of_environment_is_rotated(app_with: Callable[..., Flask]) -> None:
    old, new = "an old token of the tests", "a new token of the tests"
    assert status_of_report(app_with(ingest_tokens=(old,)), 1, old) == 200
    both = app_with(ingest_tokens=(old, new))
    assert [status_of_report(both, 2, old), status_of_report(both, 3, new)] == [200, 200]
    after = app_with(ingest_tokens=(new,))
    assert [status_of_report(after, 4, old), status_of_report(after, 4, new)] == [401, 200]


def test_api_key_is_rotated(app_with: Callable[..., Flask]) -> None:
    app = app_with()

    def status_with(key: str) -> int:
        return app.test_client().get("/v2/getTransferConfigs", headers=bearer(key)).status_code

    old = issue(*editing_of(app), new_key("wallet", ("read",), ""), actor=TESTER).text
    assert status_with(old) == 200
    new = issue(*editing_of(app), new_key("wallet-2", ("read",), ""), actor=TESTER).text
    assert [status_with(old), status_with(new)] == [200, 200]
    revoke_key(*audited_of(app), "wallet", actor=TESTER)
    assert [status_with(old), status_with(new)] == [401, 200]


def test_audit_key_is_rotated(app_with: Callable[..., Flask]) -> None:
    record_separately(*audited_of(app_with(audit_key=OLD)), TESTER, "test.action", "before")
    after = audited_of(app_with(audit_key=NEW, audit_keys_old=(OLD,)))
    record_separately(*after, TESTER, "test.action", "after")
    assert (verify_audit(*after).count, verify_audit(*after).fault) == (2, None)
    forgotten = verify_audit(*audited_of(app_with(audit_key=NEW)))
    assert "not one of the configured keys" in (forgotten.fault or ""), "it is needed for what it sealed"
    leaked = audited_of(app_with(audit_key=OLD, audit_keys_old=(NEW,)))
    assert "older key" in (verify_audit(*leaked).fault or "")


def test_old_secret_keys_are_long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOST", "0.0.0.0")
    monkeypatch.setenv("SECRET_KEYS_OLD", f"{'o' * 32},short")
    with pytest.raises(ConfigError, match="each key must have at least 32"):
        load_settings()
