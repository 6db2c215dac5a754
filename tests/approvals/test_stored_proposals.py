"""Proposals as earlier versions stored them are approved and rejected as others."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert

from app.accounts import models as table
from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import ProposalState, TwoPersons
from app.accounts.services.accounts import find_account
from app.accounts.services.factors import demand_second_factor, everyone_needs_second_factor
from app.approvals.decide import approve, preview_proposal, reject
from app.credentials.rules.api_key import key_text
from app.credentials.rules.credential import digest_of
from app.credentials.rules.ingest_token import EnvironmentTokens, token_text
from app.credentials.services.issuing import TokenTerms, issue, new_token
from app.credentials.services.presented import authenticate, presented_key
from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from tests.applications import Audited
from tests.approvals.kit import ALICE, BOB, OLGA, set_account, stored

STORED: list[dict[str, Any]] = json.loads(Path(__file__).with_name("stored_proposals.json").read_text())
"""Written by an earlier version. The secrets of keys and tokens are those of ``text_of``."""

SUMMARIES = [row["summary"] for row in STORED]


def text_of(row: dict[str, Any]) -> str:
    """A text with the key ID of the proposed key or token."""
    key_id = json.loads(row["input"])["key_id"]
    return (key_text if row["kind"] == "api_key" else token_text)(key_id, "a" * 43)


@pytest.fixture
def before(app: Flask, database: Database, audited: Audited) -> Flask:
    """What the proposals were based on."""
    unguarded = TwoPersons()
    terms = TokenTerms(quota_events=5, quota_seconds=60)
    issue(*audited, unguarded, new_token("watcher-1", ["transfer.sent"], [56], terms=terms), actor=BOB)
    set_account(database, OLGA, tf_primary_method="authenticator", tf_totp_secret="secret")
    set_account(database, ALICE, tf_primary_method="authenticator", tf_totp_secret="x")
    alice = find_account(database, email=ALICE.name)
    assert alice is not None
    demand_second_factor(*audited, alice.id, actor=ALICE)
    return app


def insert_stored(database: Database, row: dict[str, Any]) -> int:
    """Store the proposal; its id."""
    now = database.clock()
    more = {
        "reason": "agreed",
        "state": ProposalState.OPEN.value,
        "proposed_by": ALICE.name,
        "proposed_at": now,
        "expires_at": now + timedelta(hours=72),
        "decision_reason": "",
    }
    if row["section"] != "operators":
        more["secret"] = digest_of(text_of(row).encode()).hex()
    with writing(database.engine) as connection:
        (number,) = connection.execute(insert(table.Proposal).values(row | more)).inserted_primary_key or (0,)
    return int(number)


def made(app: Flask, row: dict[str, Any]) -> Any:
    """What of the change can be seen."""
    database = part_of(app, Database)
    if row["kind"] == "api_key":
        key = presented_key(database, f"Bearer {text_of(row)}")
        return key and (key.name, sorted(key.scopes), key.rate_limit)
    if row["section"] == "ingest_tokens":
        token = authenticate(database, part_of(app, EnvironmentTokens), text_of(row).encode())
        return token.name, token.scope.types, token.scope.chains, str(token.quota), token.expires_at
    if row["kind"] == "relaxing":
        return everyone_needs_second_factor(database)
    account = find_account(database, email=json.loads(row["input"])["email"])
    assert account is not None
    return account.role, account.password, account.second_factor_required, account.tf_totp_secret


MADE: dict[str, Any] = {
    "create api key wallet": ("wallet", ["read", "webhooks"], "5/minute"),
    "create ingest token relayer": (
        "relayer", {"transfer.sent"}, {1}, "5 events in 60 s", datetime(2026, 11, 27, 12, 0, 0, 5, UTC),
    ),
    "create ingest token other": ("other", None, None, "None", None),
    "rotate ingest token watcher-1": ("watcher-1", {"transfer.sent"}, {56}, "5 events in 60 s", None),
    "create account carol@example.org with the role operator": (
        Role.OPERATOR, "the hash of carol", False, None,
    ),
    "create account dora@example.org with the role admin, second factor required": (
        Role.ADMIN, "the hash of dora", True, None,
    ),
    "change operator olga@example.org: role from operator to admin": (
        Role.ADMIN, f"the hash of {OLGA.name}", False, "secret",
    ),
    "create a new password for olga@example.org": (Role.OPERATOR, "another hash", False, "secret"),
    "reset the second factor of olga@example.org": (
        Role.OPERATOR, f"the hash of {OLGA.name}", False, None,
    ),
    "make a second factor optional for everyone": False,
}  # fmt: skip


@pytest.mark.parametrize("row", STORED, ids=SUMMARIES)
def test_stored_proposal_is_approved(
    before: Flask, database: Database, two_persons: TwoPersons, audited: Audited, row: dict[str, Any]
) -> None:
    number = insert_stored(database, row)
    preview = preview_proposal(database, two_persons, stored(database, number))
    assert preview.waits
    saved = approve(*audited, number, actor=BOB)
    assert saved.changes == (row["summary"],)
    assert saved.record_id is not None
    assert made(before, row) == MADE[row["summary"]]
    assert stored(database, number).state is ProposalState.APPROVED


def test_stored_proposal_is_rejected(before: Flask, database: Database, audited: Audited) -> None:
    """It is not read for that; its hash is erased."""
    (row,) = [row for row in STORED if row["summary"].startswith("create a new password")]
    number = insert_stored(database, row)
    assert stored(database, number).secret == "another hash"
    reject(*audited, number, "not now", actor=BOB)
    assert (stored(database, number).state, stored(database, number).secret) == (ProposalState.REJECTED, None)
