"""Proposals of replaced tokens, of second factors, and of passwords that somebody else made."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import insert

from app.accounts.models import OperatorPasskey
from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.accounts.services.account_changes import (
    AccountAction,
    AccountRequest,
    request_account,
    request_optional_factor,
)
from app.accounts.services.accounts import AccountRefused, find_account
from app.accounts.services.factors import (
    accounts_that_have_passkeys,
    demand_second_factor,
    everyone_needs_second_factor,
)
from app.accounts.services.proposals import ProposalRefused, ReasonMissing, SecondPersonNeeded
from app.approvals.decide import approve, preview_proposal
from app.audit.services import Conflict
from app.credentials.rules.ingest_token import EnvironmentTokens
from app.credentials.services.issued import list_tokens, revoke_token
from app.credentials.services.issuing import TokenTerms, issue, new_token, second_token
from app.credentials.services.presented import authenticate
from app.db.database import Database
from app.db.engine import writing
from app.values.errors import Unauthorized
from tests.applications import Audited, Editing
from tests.approvals.kit import ALICE, BOB, OLGA, set_account, stored

WHY = "agreed"


@pytest.fixture
def unguarded() -> TwoPersons:
    """Nobody needs a second person."""
    return TwoPersons()


def id_of(database: Database, email: str) -> int:
    account = find_account(database, email=email)
    assert account is not None
    return account.id


def add_passkey(database: Database, account_id: int) -> None:
    row = {
        "operator_id": account_id,
        "name": "Laptop",
        "credential_id": b"one",
        "public_key": b"key",
        "sign_count": 0,
        "transports": [],
        "synced": False,
        "created_at": database.clock(),
    }
    with writing(database.engine) as connection:
        connection.execute(insert(OperatorPasskey).values(row))


def test_replacement_token_waits_with_its_expiry(
    database: Database,
    audited: Audited,
    editing: Editing,
    two_persons: TwoPersons,
    environment_tokens: EnvironmentTokens,
    unguarded: TwoPersons,
) -> None:
    ends = database.clock() + timedelta(days=7)
    terms = TokenTerms(expires_at=ends, quota_events=5, quota_seconds=60)
    issue(*audited, unguarded, new_token("relayer", ["transfer.sent"], [56], terms=terms), actor=BOB)
    with pytest.raises(SecondPersonNeeded):
        issue(*editing, second_token("relayer"), actor=ALICE)
    with pytest.raises(ReasonMissing):
        issue(*editing, second_token("relayer"), actor=ALICE, reason="")

    issued = issue(*editing, second_token("relayer"), actor=ALICE, reason=WHY)
    token, saved = issued.text, issued.saved
    number = saved.proposal_id or 0
    assert preview_proposal(database, two_persons, stored(database, number)).waits
    with pytest.raises(Unauthorized):
        authenticate(database, environment_tokens, token.encode())
    approve(*audited, number, actor=BOB)
    assert authenticate(database, environment_tokens, token.encode()).name == "relayer"
    first, second = [
        record for record in list_tokens(database, environment_tokens) if record.name == "relayer"
    ]
    assert (second.scope, second.quota, second.expires_at) == (first.scope, first.quota, ends)


def test_replacement_needs_an_existing_token(
    audited: Audited,
    editing: Editing,
    environment_tokens: EnvironmentTokens,
    database: Database,
    two_persons: TwoPersons,
    unguarded: TwoPersons,
) -> None:
    issue(*audited, unguarded, new_token("relayer"), actor=BOB)
    saved = issue(*editing, second_token("relayer"), actor=ALICE, reason=WHY).saved
    revoke_token(*audited, environment_tokens, "relayer", actor=BOB)
    for step in (
        lambda: preview_proposal(database, two_persons, stored(database, saved.proposal_id or 0)),
        lambda: approve(*audited, saved.proposal_id or 0, actor=BOB),
    ):
        with pytest.raises(ProposalRefused, match="no token relayer to replace"):
            step()


def test_only_relaxing_the_factor_waits(
    database: Database, two_persons: TwoPersons, audited: Audited, editing: Editing
) -> None:
    with pytest.raises(AccountRefused, match="not required"):
        request_optional_factor(*editing, actor=ALICE, reason=WHY)
    set_account(database, ALICE, tf_primary_method="authenticator", tf_totp_secret="x")
    demand_second_factor(*audited, id_of(database, ALICE.name), actor=ALICE)
    assert everyone_needs_second_factor(database)
    with pytest.raises(ReasonMissing):
        request_optional_factor(*editing, actor=ALICE)

    saved = request_optional_factor(*editing, actor=ALICE, reason=WHY)
    number = saved.proposal_id or 0
    preview_proposal(database, two_persons, stored(database, number))
    assert everyone_needs_second_factor(database), "not yet"
    with pytest.raises(ProposalRefused):
        approve(*audited, number, actor=ALICE)
    approve(*audited, number, actor=BOB)
    assert not everyone_needs_second_factor(database)


def test_reset_of_factor_removes_passkeys(database: Database, audited: Audited, editing: Editing) -> None:
    olga = id_of(database, OLGA.name)
    add_passkey(database, olga)
    request = AccountRequest(AccountAction.RESET_SECOND_FACTOR, OLGA.name)
    with pytest.raises(SecondPersonNeeded):
        request_account(*editing, request, actor=ALICE)
    number = request_account(*editing, request, actor=ALICE, reason=WHY).proposal_id or 0
    assert accounts_that_have_passkeys(database) == {olga}
    approve(*audited, number, actor=BOB)
    assert not accounts_that_have_passkeys(database)


def test_passkey_added_meanwhile_conflicts(database: Database, audited: Audited, editing: Editing) -> None:
    olga = id_of(database, OLGA.name)
    set_account(database, OLGA, tf_totp_secret="old")
    request = AccountRequest(AccountAction.RESET_SECOND_FACTOR, OLGA.name)
    number = request_account(*editing, request, actor=ALICE, reason=WHY).proposal_id or 0
    add_passkey(database, olga)
    with pytest.raises(Conflict, match="since"):
        approve(*audited, number, actor=BOB)


def test_approved_password_must_be_changed(database: Database, audited: Audited, editing: Editing) -> None:
    create = AccountRequest(AccountAction.CREATE, "carol@example.org", {"role": Role.VIEWER.value}, "hash")
    renew = AccountRequest(AccountAction.NEW_PASSWORD, OLGA.name, hashed="another hash")
    for request in (create, renew):
        number = request_account(*editing, request, actor=ALICE, reason=WHY).proposal_id or 0
        approve(*audited, number, actor=BOB)
        account = find_account(database, email=request.email)
        assert account is not None
        assert account.must_change_password, request.action
