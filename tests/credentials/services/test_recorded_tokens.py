"""What becomes of ingest tokens is recorded, their secrets are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask

from app.audit.services import export_audit
from app.credentials.services.issued import revoke_token
from app.credentials.services.issuing import issue, new_token
from app.db.engine import reading
from tests.actors import TESTER
from tests.audit.services.recorded import last, rows
from tests.gateway import Gateway, current_gateway


@pytest.fixture
def gateway(app: Flask) -> Gateway:
    return current_gateway()


def token_made(gateway: Gateway) -> list[bytes]:
    token = issue(*gateway.editing, new_token("relayer-1", ["transfer.sent"], [1]), actor=TESTER).text
    secret = token.split("_", 2)[2]  # which may have underscores itself
    assert len(secret) > 20
    return [token.encode(), secret.encode()]


def token_revoked(gateway: Gateway) -> list[bytes]:
    secrets = token_made(gateway)
    for _ in range(2):
        revoke_token(*gateway.audited, gateway.environment_tokens, "relayer-1", actor=TESTER)
    return secrets


@pytest.mark.parametrize(("act", "action", "count"), [
    (token_made, "ingest_token.create", 1), (token_revoked, "ingest_token.revoke", 2),
])  # fmt: skip
def test_tokens_are_recorded_without_their_secrets(
    gateway: Gateway, act: Callable[[Gateway], list[bytes]], action: str, count: int
) -> None:
    secrets = act(gateway)
    row, changes = last(gateway)
    assert (row.action, row.subject, len(rows(gateway))) == (action, "ingest token relayer-1", count)
    after = changes[0]["after"]
    assert after["types"] == ["transfer.sent"]
    assert set(after) == {"name", "types", "chains", "created_at", "revoked_at"}
    assert (after["revoked_at"] is None) == (action == "ingest_token.create")
    exported = b"".join(export_audit(gateway.database))
    assert not any(secret in exported for secret in secrets)
    with reading(gateway.engine) as connection:
        digest = connection.exec_driver_sql("SELECT digest FROM ingest_tokens").scalar()
    assert bytes(digest).hex().encode() not in exported
