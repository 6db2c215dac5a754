"""``api-keys create|list|revoke`` as an operator types them: no browser is needed."""

from __future__ import annotations

from click.testing import Result
from flask import Flask

from app.audit.services import list_audit
from app.db.database import Database


def run(app: Flask, *words: str) -> Result:
    return app.test_cli_runner().invoke(args=["api-keys", *words])


def made(app: Flask, *words: str) -> str:
    result = run(app, "create", *words)
    assert result.exit_code == 0, result.output
    assert result.stderr == f"The API key {words[0]} (shown only once):\n"
    return result.stdout.strip()


def status_with(app: Flask, key: str, path: str = "/v2/getTransferConfigs") -> int:
    return app.test_client().get(path, headers={"Authorization": f"Bearer {key}"}).status_code


def test_key_is_made_used_listed_revoked(app: Flask, database: Database) -> None:
    key = made(app, "wallet")
    assert key.startswith("gwk_")
    assert (
        status_with(app, key),
        status_with(app, key[:-1] + "~"),
        status_with(app, key, "/v2/webhooks"),
    ) == (200, 401, 403)
    listed = run(app, "list").stdout
    assert key not in listed
    head, row = (
        line.split()
        for line in listed.replace("LAST USED", "LAST_USED").replace("KEY ID", "KEY_ID").splitlines()
    )
    assert head == ["NAME", "KEY_ID", "STATE", "SCOPES", "LIMIT", "CREATED", "LAST_USED"]
    assert (row[0], row[2:5]) == ("wallet", ["valid", "read", "none"])
    revoked = run(app, "revoke", "wallet")
    assert (revoked.exit_code, revoked.stdout[:22]) == (0, "wallet was revoked at ")
    assert status_with(app, key) == 401
    assert " revoked 20" in run(app, "list").stdout
    assert run(app, "revoke", "wallet").stdout == revoked.stdout
    actions = [(row.action, row.actor.startswith("cli:")) for row in list_audit(database)]
    assert actions == [("api_key.revoke", True), ("api_key.create", True)]


def test_created_key_has_given_scopes_and_limit(app: Flask) -> None:
    key = made(app, "ledger", "--scope", "webhooks", "--scope", "read", "--limit", "1/hour")
    assert [status_with(app, key, "/v2/webhooks") for _ in range(2)] == [200, 429]
    assert "read,webhooks  1/hour" in run(app, "list").stdout
