"""Accounts and tokens wait for a second administrator; own changes and stops do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.accounts.services.account_changes import (
    AccountAction,
    AccountRequest,
    create_account,
    request_account,
)
from app.accounts.services.accounts import AccountRefused, find_account, list_accounts, update_account
from app.accounts.services.proposals import (
    ProposalRefused,
    ReasonMissing,
    SecondPersonNeeded,
    list_all,
    list_waiting,
    show_proposal,
    waiting_count,
)
from app.approvals.decide import approve, preview_proposal
from app.audit.rules.records import Actor, Source
from app.audit.services import Conflict, show_audit
from app.audit.verification import verify_audit
from app.credentials.rules.ingest_token import EnvironmentTokens
from app.credentials.services.issued import revoke_token
from app.credentials.services.issuing import issue, new_token
from app.credentials.services.presented import authenticate
from app.db.database import Database
from app.values.errors import Unauthorized
from tests.applications import Audited, Editing
from tests.approvals.kit import ALICE, BOB, OLGA, set_account, stored
from tests.network.services.edits.kit import records

pytestmark = pytest.mark.one_database
"""What waits for whom. How rows are written is tested with each feature, on both databases."""

WHY = "Carol joins the team"
CLI = Actor("cli:root", Source.CLI)

REQUESTS: dict[str, tuple[AccountRequest, dict[str, Any]]] = {
    "a new account": (
        AccountRequest(AccountAction.CREATE, "carol@example.org", {"role": "operator"}, "the hash of carol"),
        {"role": Role.OPERATOR, "password": "the hash of carol", "active": True},
    ),
    "a role": (
        AccountRequest(
            AccountAction.CHANGE,
            OLGA.name,
            {"role": "admin", "active": True, "second_factor_required": False},
        ),
        {"role": Role.ADMIN},
    ),
    "switching off": (AccountRequest(AccountAction.CHANGE, OLGA.name, {"active": False}), {"active": False}),
    "a new password": (
        AccountRequest(AccountAction.NEW_PASSWORD, OLGA.name, hashed="another hash"),
        {"password": "another hash"},
    ),
    "a lost second factor": (
        AccountRequest(AccountAction.RESET_SECOND_FACTOR, OLGA.name),
        {"tf_primary_method": None, "tf_totp_secret": None},
    ),
}


def accounts(database: Database) -> dict[str, Any]:
    return {account.email: account for account in list_accounts(database)}


def propose(editing: Editing, request: AccountRequest) -> int:
    saved = request_account(*editing, request, actor=ALICE, reason=WHY)
    assert saved.proposal_id is not None
    return saved.proposal_id


@pytest.mark.every_database
@pytest.mark.parametrize("name", REQUESTS)
def test_account_is_changed_by_two(
    database: Database, two_persons: TwoPersons, audited: Audited, editing: Editing, name: str
) -> None:
    request, becomes = REQUESTS[name]
    set_account(database, OLGA, tf_primary_method="authenticator", tf_totp_secret="secret")
    before = accounts(database)
    number = propose(editing, request)
    assert accounts(database) == before
    preview = preview_proposal(database, two_persons, stored(database, number))
    assert preview.waits
    with pytest.raises(ProposalRefused, match="needs the role admin"):
        approve(*audited, number, actor=OLGA)
    with pytest.raises(ProposalRefused, match="You proposed this change"):
        approve(*audited, number, actor=ALICE)

    made = approve(*audited, number, actor=BOB)
    after = accounts(database)[request.email]
    assert {key: getattr(after, key) for key in becomes} == becomes
    old = before.get(request.email)
    assert old is None or (old.fs_uniquifier != after.fs_uniquifier) == (
        name not in ("a role", "switching off")
    )
    assert stored(database, number).secret is None, "hashes are forgotten"
    entry = show_audit(database, made.record_id or 0)
    assert entry is not None
    assert entry.record.subject == f"operator {request.email}"
    assert f"proposed by {ALICE.name}, approved by {BOB.name}" in entry.record.detail
    recorded = " ".join(f"{record.detail} {record.changes}" for record in records(database))
    assert "hash" not in recorded
    assert verify_audit(*audited).fault is None


@pytest.mark.parametrize("name", REQUESTS)
def test_unguarded_change_is_immediate(database: Database, audited: Audited, name: str) -> None:
    request, becomes = REQUESTS[name]
    unguarded = TwoPersons(frozenset({"chains"}))
    saved = request_account(*audited, unguarded, request, actor=ALICE)
    assert saved.proposal_id is None
    after = accounts(database)[request.email]
    assert {key: getattr(after, key) for key in becomes} == becomes


@pytest.mark.parametrize(
    ("name", "meanwhile"),
    [
        ("a role", {"role": "viewer"}),
        ("switching off", {"second_factor_required": True}),
        ("a new password", {"password": "her own new hash"}),
        ("a lost second factor", {"tf_totp_secret": "set up again"}),
    ],
)
def test_changed_account_conflicts(
    database: Database,
    two_persons: TwoPersons,
    audited: Audited,
    editing: Editing,
    name: str,
    meanwhile: dict[str, Any],
) -> None:
    set_account(database, OLGA, tf_totp_secret="old")
    number = propose(editing, REQUESTS[name][0])
    set_account(database, OLGA, **meanwhile)
    before = accounts(database)
    with pytest.raises(Conflict, match="since"):
        preview_proposal(database, two_persons, stored(database, number))
    with pytest.raises(Conflict, match="since"):
        approve(*audited, number, actor=BOB)
    assert accounts(database) == before


def test_account_made_meanwhile_is_refused(
    database: Database, two_persons: TwoPersons, audited: Audited, editing: Editing
) -> None:
    unguarded = TwoPersons()
    request = REQUESTS["a new account"][0]
    number = propose(editing, request)
    saved = issue(*editing, new_token("relayer", [], []), actor=ALICE, reason=WHY).saved
    request_account(*audited, unguarded, request, actor=BOB)
    issue(*audited, unguarded, new_token("relayer"), actor=BOB)
    for proposal_id in (number, saved.proposal_id or 0):
        with pytest.raises(ProposalRefused, match="already"):
            preview_proposal(database, two_persons, stored(database, proposal_id))
        with pytest.raises(ProposalRefused, match="already"):
            approve(*audited, proposal_id, actor=BOB)
    with pytest.raises(AccountRefused):
        propose(editing, request)


def test_own_changes_do_not_wait(database: Database, editing: Editing) -> None:
    own = find_account(database, email=OLGA.name)
    assert own is not None
    for changes in ({"password": "own"}, {"tf_totp_secret": "own"}, {"fs_uniquifier": "own"}):
        update_account(*editing, own.id, changes, actor=OLGA)
    with pytest.raises(SecondPersonNeeded):
        update_account(*editing, own.id, {"role": "admin"}, actor=OLGA)


def test_ending_sessions_never_waits(database: Database, editing: Editing) -> None:
    olga = find_account(database, email=OLGA.name)
    assert olga is not None
    assert update_account(*editing, olga.id, {"fs_uniquifier": "ended"}, actor=ALICE).fs_uniquifier == "ended"


Direct = Callable[[Editing, Actor, str | None], object]
DIRECT: dict[str, Direct] = {
    "create": lambda editing, actor, reason: create_account(
        *editing, "carol@example.org", "a long enough password", Role.ADMIN, actor=actor, break_glass=reason
    ),
    "change": lambda editing, actor, reason: request_account(
        *editing, REQUESTS["a role"][0], actor=actor, break_glass=reason
    ),
    "password": lambda editing, actor, reason: request_account(
        *editing, REQUESTS["a new password"][0], actor=actor, break_glass=reason
    ),
    "token": lambda editing, actor, reason: issue(
        *editing, new_token("relayer"), actor=actor, break_glass=reason
    ),
}


@pytest.mark.parametrize("name", DIRECT)
def test_one_person_needs_recorded_reason(database: Database, editing: Editing, name: str) -> None:
    direct, before = DIRECT[name], accounts(database)
    for actor in (ALICE, CLI):
        with pytest.raises(SecondPersonNeeded):
            direct(editing, actor, None)
    with pytest.raises(ReasonMissing):
        direct(editing, CLI, "  ")
    assert (accounts(database), records(database)) == (before, [])
    direct(editing, CLI, "both administrators are ill")
    break_glass, change = records(database)
    assert break_glass.action == "two_persons.break_glass"
    assert "both administrators are ill" in break_glass.detail
    assert change.subject == break_glass.subject


def test_server_makes_first_two_administrators(database: Database, editing: Editing) -> None:
    set_account(database, BOB, active=False)
    with pytest.raises(SecondPersonNeeded):
        DIRECT["create"](editing, ALICE, None)  # not from the console
    DIRECT["create"](editing, CLI, None)
    with pytest.raises(SecondPersonNeeded):
        DIRECT["change"](editing, CLI, None)
    with pytest.raises(SecondPersonNeeded):
        DIRECT["token"](editing, CLI, None)


@pytest.mark.every_database
def test_ingest_token_works_after_second_approval(
    database: Database,
    two_persons: TwoPersons,
    audited: Audited,
    editing: Editing,
    environment_tokens: EnvironmentTokens,
) -> None:
    issued = issue(*editing, new_token("relayer", ["transfer.sent"], [1]), actor=ALICE, reason=WHY)
    token, saved = issued.text, issued.saved
    number = saved.proposal_id or 0
    with pytest.raises(Unauthorized):
        authenticate(database, environment_tokens, token.encode())
    assert "transfer.sent" in str(preview_proposal(database, two_persons, stored(database, number)))
    approve(*audited, number, actor=BOB)
    known = authenticate(database, environment_tokens, token.encode())
    assert known.name == "relayer"
    assert known.scope.chains == {1}
    assert stored(database, number).secret is None
    assert token not in " ".join(str(record) for record in records(database))
    revoke_token(*audited, environment_tokens, "relayer", actor=ALICE)  # a stop waits for nobody
    with pytest.raises(Unauthorized):
        authenticate(database, environment_tokens, token.encode())


def test_only_admins_see_account_proposals(
    database: Database, two_persons: TwoPersons, editing: Editing
) -> None:
    number = propose(editing, REQUESTS["a role"][0])
    for role in (Role.VIEWER, Role.OPERATOR):
        assert list_waiting(database, role) == []
        assert list_all(database, role, None, 10).proposals == []
        assert show_proposal(database, role, number) is None
        assert waiting_count(database, two_persons, role) == 0
    assert [each.id for each in list_waiting(database, Role.ADMIN)] == [number]
