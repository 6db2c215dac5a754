"""What becomes of ingest tokens is recorded, their secrets are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask
from sqlalchemy import select

from app.audit.services import export_audit
from app.credentials.models import IngestToken
from app.credentials.rules.ingest_token import EnvironmentTokens
from app.credentials.services.issued import revoke_token
from app.credentials.services.issuing import issue, new_token
from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from tests.actors import TESTER
from tests.applications import audited_of, editing_of
from tests.audit.services.recorded import last, rows


def token_made(app: Flask) -> list[bytes]:
    token = issue(*editing_of(app), new_token("relayer-1", ["transfer.sent"], [1]), actor=TESTER).text
    secret = token.split("_", 2)[2]  # which may have underscores itself
    assert len(secret) > 20
    return [token.encode(), secret.encode()]


def token_revoked(app: Flask) -> list[bytes]:
    secrets = token_made(app)
    for _ in range(2):
        revoke_token(*audited_of(app), part_of(app, EnvironmentTokens), "relayer-1", actor=TESTER)
    return secrets


@pytest.mark.parametrize(("act", "action", "count"), [
    (token_made, "ingest_token.create", 1), (token_revoked, "ingest_token.revoke", 2),
])  # fmt: skip
def test_tokens_are_recorded_without_secrets(
    app: Flask, database: Database, act: Callable[[Flask], list[bytes]], action: str, count: int
) -> None:
    secrets = act(app)
    row, changes = last(database)
    assert (row.action, row.subject, len(rows(database))) == (action, "ingest token relayer-1", count)
    after = changes[0]["after"]
    assert after["types"] == ["transfer.sent"]
    assert set(after) == {"name", "types", "chains", "created_at", "revoked_at"}
    assert (after["revoked_at"] is None) == (action == "ingest_token.create")
    exported = b"".join(export_audit(database))
    assert not any(secret in exported for secret in secrets)
    with reading(database.engine) as connection:
        digest = connection.scalars(select(IngestToken.digest)).one()
    assert bytes(digest).hex().encode() not in exported
