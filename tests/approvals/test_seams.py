"""Proposals of replaced tokens, of second factors, and of passwords that somebody else made."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import insert

from app.accounts.models import OperatorPasskey
from app.accounts.rules.proposal import TwoPersons
from app.accounts.rules.roles import Role
from app.accounts.services.account_changes import (
    AccountRequest,
    AccountWish,
    request_account,
    request_relaxing,
)
from app.accounts.services.accounts import AccountRefused, find_account
from app.accounts.services.factors import (
    accounts_that_have_passkeys,
    demand_second_factor,
    second_factor_demanded,
)
from app.accounts.services.proposals import ProposalRefused, ReasonMissing, SecondPersonNeeded
from app.approvals.decide import approve, preview_proposal
from app.audit.services import Conflict
from app.credentials.services.issued import list_tokens, revoke_token
from app.credentials.services.issuing import TokenTerms, issue, new_token, second_token
from app.credentials.services.presented import authenticate
from app.db.engine import writing
from app.values.errors import Unauthorized
from tests.approvals.kit import ALICE, BOB, OLGA, set_account, stored
from tests.gateway import Gateway

WHY = "agreed"


@pytest.fixture
def alone(gateway: Gateway) -> Gateway:
    """The same gateway without second persons."""
    return gateway.but(two_persons=TwoPersons())


def id_of(gateway: Gateway, email: str) -> int:
    account = find_account(gateway.database, email=email)
    assert account is not None
    return account.id


def add_passkey(gateway: Gateway, account_id: int) -> None:
    row = {
        "operator_id": account_id,
        "name": "Laptop",
        "credential_id": b"one",
        "public_key": b"key",
        "sign_count": 0,
        "transports": [],
        "synced": False,
        "created_at": gateway.clock(),
    }
    with writing(gateway.engine) as connection:
        connection.execute(insert(OperatorPasskey).values(row))


def test_replacement_token_waits_with_its_expiry(gateway: Gateway, alone: Gateway) -> None:
    ends = gateway.clock() + timedelta(days=7)
    terms = TokenTerms(expires_at=ends, quota_events=5, quota_seconds=60)
    issue(*alone.editing, new_token("relayer", ["transfer.sent"], [56], terms=terms), actor=BOB)
    with pytest.raises(SecondPersonNeeded):
        issue(*gateway.editing, second_token("relayer"), actor=ALICE)
    with pytest.raises(ReasonMissing):
        issue(*gateway.editing, second_token("relayer"), actor=ALICE, reason="")

    issued = issue(*gateway.editing, second_token("relayer"), actor=ALICE, reason=WHY)
    token, saved = issued.text, issued.saved
    number = saved.proposal_id or 0
    assert preview_proposal(gateway.database, gateway.two_persons, stored(gateway, number)).waits
    with pytest.raises(Unauthorized):
        authenticate(gateway.database, gateway.environment_tokens, token.encode())
    approve(*gateway.audited, number, actor=BOB)
    assert authenticate(gateway.database, gateway.environment_tokens, token.encode()).name == "relayer"
    first, second = [
        record
        for record in list_tokens(gateway.database, gateway.environment_tokens)
        if record.name == "relayer"
    ]
    assert (second.scope, second.quota, second.expires_at) == (first.scope, first.quota, ends)


def test_replacement_needs_an_existing_token(gateway: Gateway, alone: Gateway) -> None:
    issue(*alone.editing, new_token("relayer"), actor=BOB)
    saved = issue(*gateway.editing, second_token("relayer"), actor=ALICE, reason=WHY).saved
    revoke_token(gateway.database, gateway.audit_keys, gateway.environment_tokens, "relayer", actor=BOB)
    for step in (
        lambda: preview_proposal(
            gateway.database, gateway.two_persons, stored(gateway, saved.proposal_id or 0)
        ),
        lambda: approve(*gateway.audited, saved.proposal_id or 0, actor=BOB),
    ):
        with pytest.raises(ProposalRefused, match="no valid token"):
            step()


def test_a_first_token_keeps_what_was_proposed(gateway: Gateway) -> None:
    ends = gateway.clock() + timedelta(days=7)
    issued = issue(
        *gateway.editing,
        new_token("relayer", [], [1], terms=TokenTerms(expires_at=ends)),
        actor=ALICE,
        reason=WHY,
    )
    token, saved = issued.text, issued.saved
    approve(*gateway.audited, saved.proposal_id or 0, actor=BOB)
    assert authenticate(gateway.database, gateway.environment_tokens, token.encode()).expires_at == ends


def test_requiring_factor_is_immediate_relaxing_waits(gateway: Gateway) -> None:
    with pytest.raises(AccountRefused, match="not required"):
        request_relaxing(*gateway.editing, actor=ALICE, reason=WHY)
    set_account(gateway, ALICE, tf_primary_method="authenticator", tf_totp_secret="x")
    demand_second_factor(*gateway.audited, id_of(gateway, ALICE.name), actor=ALICE)
    assert second_factor_demanded(gateway.database)
    with pytest.raises(ReasonMissing):
        request_relaxing(*gateway.editing, actor=ALICE)

    saved = request_relaxing(*gateway.editing, actor=ALICE, reason=WHY)
    number = saved.proposal_id or 0
    preview_proposal(gateway.database, gateway.two_persons, stored(gateway, number))
    assert second_factor_demanded(gateway.database), "not yet"
    with pytest.raises(ProposalRefused):
        approve(*gateway.audited, number, actor=ALICE)
    approve(*gateway.audited, number, actor=BOB)
    assert not second_factor_demanded(gateway.database)


def test_a_lost_second_factor_takes_passkeys_along(gateway: Gateway) -> None:
    olga = id_of(gateway, OLGA.name)
    add_passkey(gateway, olga)
    request = AccountRequest(AccountWish.RESET_SECOND_FACTOR, OLGA.name)
    with pytest.raises(SecondPersonNeeded):
        request_account(*gateway.editing, request, actor=ALICE)
    number = request_account(*gateway.editing, request, actor=ALICE, reason=WHY).proposal_id or 0
    assert accounts_that_have_passkeys(gateway.database) == {olga}
    approve(*gateway.audited, number, actor=BOB)
    assert not accounts_that_have_passkeys(gateway.database)


def test_passkey_added_meanwhile_conflicts(gateway: Gateway) -> None:
    olga = id_of(gateway, OLGA.name)
    set_account(gateway, OLGA, tf_totp_secret="old")
    request = AccountRequest(AccountWish.RESET_SECOND_FACTOR, OLGA.name)
    number = request_account(*gateway.editing, request, actor=ALICE, reason=WHY).proposal_id or 0
    add_passkey(gateway, olga)
    with pytest.raises(Conflict, match="since"):
        approve(*gateway.audited, number, actor=BOB)


def test_password_made_by_others_must_change(gateway: Gateway) -> None:
    create = AccountRequest(AccountWish.CREATE, "carol@example.org", {"role": Role.VIEWER.value}, "hash")
    renew = AccountRequest(AccountWish.NEW_PASSWORD, OLGA.name, hashed="another hash")
    for request in (create, renew):
        number = request_account(*gateway.editing, request, actor=ALICE, reason=WHY).proposal_id or 0
        approve(*gateway.audited, number, actor=BOB)
        account = find_account(gateway.database, email=request.email)
        assert account is not None
        assert account.must_change_password, request.wish
