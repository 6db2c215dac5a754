"""Accounts and tokens wait for a second administrator; what is one's own, and stops, do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.rules.proposal import TwoPersons
from app.accounts.rules.roles import Role
from app.accounts.services.account_changes import AccountRequest, AccountWish, create_account, request_account
from app.accounts.services.accounts import (
    AccountRefused,
    find_account,
    list_accounts,
    update_account,
)
from app.accounts.services.proposals import (
    ProposalRefused,
    ReasonMissing,
    SecondPersonNeeded,
    list_all,
    list_waiting,
    show_proposal,
    waiting_count,
)
from app.approvals.decide import approve, preview_proposal, reject
from app.audit.rules.records import Actor, Source
from app.audit.services import Conflict, show_audit
from app.audit.verification import verify_audit
from app.credentials.services.issued import revoke_token
from app.credentials.services.issuing import issue, new_token
from app.credentials.services.presented import authenticate
from app.values.errors import Unauthorized
from tests.approvals.kit import ALICE, BOB, OLGA, set_account, stored
from tests.gateway import Gateway
from tests.network.services.edits.kit import records

WHY = "Carol joins the team"
CLI = Actor("cli:root", Source.CLI)

REQUESTS: dict[str, tuple[AccountRequest, dict[str, Any]]] = {
    "a new account": (
        AccountRequest(AccountWish.CREATE, "carol@example.org", {"role": "operator"}, "the hash of carol"),
        {"role": Role.OPERATOR, "password": "the hash of carol", "active": True},
    ),
    "a role": (
        AccountRequest(
            AccountWish.CHANGE, OLGA.name, {"role": "admin", "active": True, "second_factor_required": False}
        ),
        {"role": Role.ADMIN},
    ),
    "switching off": (AccountRequest(AccountWish.CHANGE, OLGA.name, {"active": False}), {"active": False}),
    "a new password": (
        AccountRequest(AccountWish.NEW_PASSWORD, OLGA.name, hashed="another hash"),
        {"password": "another hash"},
    ),
    "a lost second factor": (
        AccountRequest(AccountWish.RESET_SECOND_FACTOR, OLGA.name),
        {"tf_primary_method": None, "tf_totp_secret": None},
    ),
}


def accounts(gateway: Gateway) -> dict[str, Any]:
    return {account.email: account for account in list_accounts(gateway.database)}


def propose(gateway: Gateway, request: AccountRequest) -> int:
    saved = request_account(*gateway.editing, request, actor=ALICE, reason=WHY)
    assert saved.proposal_id is not None
    return saved.proposal_id


@pytest.mark.parametrize("name", REQUESTS)
def test_an_account_changes_by_two(gateway: Gateway, name: str) -> None:
    request, becomes = REQUESTS[name]
    set_account(gateway, OLGA, tf_primary_method="authenticator", tf_totp_secret="secret")
    before = accounts(gateway)
    number = propose(gateway, request)
    assert accounts(gateway) == before
    preview = preview_proposal(gateway.database, gateway.two_persons, stored(gateway, number))
    assert preview.waits
    with pytest.raises(ProposalRefused, match="needs the role admin"):
        approve(*gateway.audited, number, actor=OLGA)
    with pytest.raises(ProposalRefused, match="You proposed this change"):
        approve(*gateway.audited, number, actor=ALICE)

    made = approve(*gateway.audited, number, actor=BOB)
    after = accounts(gateway)[request.email]
    assert {key: getattr(after, key) for key in becomes} == becomes
    old = before.get(request.email)
    assert old is None or (old.fs_uniquifier != after.fs_uniquifier) == (
        name not in ("a role", "switching off")
    )
    assert stored(gateway, number).secret is None, "hashes are forgotten"
    entry = show_audit(gateway.database, made.record_id or 0)
    assert entry is not None
    assert entry.record.subject == f"operator {request.email}"
    assert f"proposed by {ALICE.name}, approved by {BOB.name}" in entry.record.detail
    told = " ".join(f"{record.detail} {record.changes}" for record in records(gateway))
    assert "hash" not in told
    assert verify_audit(*gateway.audited).fault is None


@pytest.mark.parametrize("name", REQUESTS)
def test_without_setting_change_is_immediate(gateway: Gateway, name: str) -> None:
    request, becomes = REQUESTS[name]
    alone = gateway.but(two_persons=TwoPersons(frozenset({"chains"})))
    saved = request_account(*alone.editing, request, actor=ALICE)
    assert saved.proposal_id is None
    after = accounts(gateway)[request.email]
    assert {key: getattr(after, key) for key in becomes} == becomes


def test_rejection_erases_the_new_hash(gateway: Gateway) -> None:
    number = propose(gateway, REQUESTS["a new password"][0])
    assert stored(gateway, number).secret == "another hash"
    reject(*gateway.audited, number, "she found it", actor=BOB)
    assert stored(gateway, number).secret is None


@pytest.mark.parametrize(
    ("name", "meanwhile"),
    [
        ("a role", {"role": "viewer"}),
        ("switching off", {"second_factor_required": True}),
        ("a new password", {"password": "her own new hash"}),
        ("a lost second factor", {"tf_totp_secret": "set up again"}),
    ],
)
def test_an_account_that_changed_since(gateway: Gateway, name: str, meanwhile: dict[str, Any]) -> None:
    set_account(gateway, OLGA, tf_totp_secret="old")
    number = propose(gateway, REQUESTS[name][0])
    set_account(gateway, OLGA, **meanwhile)
    before = accounts(gateway)
    with pytest.raises(Conflict, match="since"):
        preview_proposal(gateway.database, gateway.two_persons, stored(gateway, number))
    with pytest.raises(Conflict, match="since"):
        approve(*gateway.audited, number, actor=BOB)
    assert accounts(gateway) == before


def test_account_or_token_made_meanwhile_is_refused(gateway: Gateway) -> None:
    alone = gateway.but(two_persons=TwoPersons())
    request = REQUESTS["a new account"][0]
    number = propose(gateway, request)
    saved = issue(*gateway.editing, new_token("relayer", [], []), actor=ALICE, reason=WHY).saved
    request_account(*alone.editing, request, actor=BOB)
    issue(*alone.editing, new_token("relayer"), actor=BOB)
    for proposal_id in (number, saved.proposal_id or 0):
        with pytest.raises(ProposalRefused, match="already"):
            preview_proposal(gateway.database, gateway.two_persons, stored(gateway, proposal_id))
        with pytest.raises(ProposalRefused, match="already"):
            approve(*gateway.audited, proposal_id, actor=BOB)
    with pytest.raises(AccountRefused):
        propose(gateway, request)


def test_what_is_ones_own_does_not_wait(gateway: Gateway) -> None:
    own = find_account(gateway.database, email=OLGA.name)
    assert own is not None
    for changes in ({"password": "own"}, {"tf_totp_secret": "own"}, {"fs_uniquifier": "own"}):
        update_account(*gateway.editing, own.id, changes, actor=OLGA)
    with pytest.raises(SecondPersonNeeded):
        update_account(*gateway.editing, own.id, {"role": "admin"}, actor=OLGA)


def test_ending_sessions_never_waits(gateway: Gateway) -> None:
    olga = find_account(gateway.database, email=OLGA.name)
    assert olga is not None
    assert (
        update_account(*gateway.editing, olga.id, {"fs_uniquifier": "ended"}, actor=ALICE).fs_uniquifier
        == "ended"
    )


Direct = Callable[[Gateway, Actor, str | None], object]
DIRECT: dict[str, Direct] = {
    "create": lambda g, actor, glass: create_account(
        *g.editing, "carol@example.org", "a long enough password", Role.ADMIN, actor=actor, break_glass=glass
    ),
    "change": lambda g, actor, glass: request_account(
        *g.editing, REQUESTS["a role"][0], actor=actor, break_glass=glass
    ),
    "password": lambda g, actor, glass: request_account(
        *g.editing, REQUESTS["a new password"][0], actor=actor, break_glass=glass
    ),
    "token": lambda g, actor, glass: issue(*g.editing, new_token("relayer"), actor=actor, break_glass=glass),
}


@pytest.mark.parametrize("name", DIRECT)
def test_one_person_needs_recorded_reason(gateway: Gateway, name: str) -> None:
    direct, before = DIRECT[name], accounts(gateway)
    for actor in (ALICE, CLI):
        with pytest.raises(SecondPersonNeeded):
            direct(gateway, actor, None)
    with pytest.raises(ReasonMissing):
        direct(gateway, CLI, "  ")
    assert (accounts(gateway), records(gateway)) == (before, [])
    direct(gateway, CLI, "both administrators are ill")
    glass, done = records(gateway)
    assert glass.action == "two_persons.break_glass"
    assert "both administrators are ill" in glass.detail
    assert done.subject == glass.subject


def test_server_makes_first_two_administrators(gateway: Gateway) -> None:
    set_account(gateway, BOB, active=False)
    with pytest.raises(SecondPersonNeeded):
        DIRECT["create"](gateway, ALICE, None)  # not from the console
    DIRECT["create"](gateway, CLI, None)
    with pytest.raises(SecondPersonNeeded):
        DIRECT["change"](gateway, CLI, None)
    with pytest.raises(SecondPersonNeeded):
        DIRECT["token"](gateway, CLI, None)


def test_token_counts_once_two_made_it(gateway: Gateway) -> None:
    issued = issue(*gateway.editing, new_token("relayer", ["transfer.sent"], [1]), actor=ALICE, reason=WHY)
    token, saved = issued.text, issued.saved
    number = saved.proposal_id or 0
    with pytest.raises(Unauthorized):
        authenticate(gateway.database, gateway.environment_tokens, token.encode())
    assert "transfer.sent" in str(
        preview_proposal(gateway.database, gateway.two_persons, stored(gateway, number))
    )
    approve(*gateway.audited, number, actor=BOB)
    known = authenticate(gateway.database, gateway.environment_tokens, token.encode())
    assert known.name == "relayer"
    assert known.scope.chains == {1}
    assert stored(gateway, number).secret is None
    assert token not in " ".join(str(record) for record in records(gateway))
    revoke_token(
        gateway.database, gateway.audit_keys, gateway.environment_tokens, "relayer", actor=ALICE
    )  # a stop waits for nobody
    with pytest.raises(Unauthorized):
        authenticate(gateway.database, gateway.environment_tokens, token.encode())


def test_only_administrators_see_account_proposals(gateway: Gateway) -> None:
    number = propose(gateway, REQUESTS["a role"][0])
    for role in (Role.VIEWER, Role.OPERATOR):
        assert list_waiting(gateway.database, role) == []
        assert list_all(gateway.database, role, None, 10).proposals == []
        assert show_proposal(gateway.database, role, number) is None
        assert waiting_count(gateway.database, gateway.two_persons, role) == 0
    assert [each.id for each in list_waiting(gateway.database, Role.ADMIN)] == [number]
