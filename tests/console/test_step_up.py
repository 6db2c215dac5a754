"""Sensitive changes require a new proof of identity ten minutes after the last; typed values stay."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.accounts.rules.roles import Role
from app.accounts.services.accounts import find_account
from app.audit.services import list_audit
from app.console.shell.access import Audience
from app.db.database import Database
from tests.builders.clock import MovableClock
from tests.console.authenticator import Authenticator, PasskeyRequest, add_passkey
from tests.console.edits import BASE, changed_file
from tests.console.forms import form_of, save, send
from tests.console.second_factor import code_of, set_up
from tests.console.visitor import PASSWORD, Visitor, add_account, email_of, signed_in
from tests.network.services.edits.kit import document
from tests.network.services.network_kit import text
from tests.watcher.services.world import watch_a_chain

CONFIRM_IDENTITY = "Confirm that it is you"
VIEWER = email_of(Role.VIEWER)
NEW = {"email": "new@example.org", "password": 'a password <of> "an" admin\'s', "role": "viewer"}


def go_on(visitor: Visitor, page: TestResponse, **proof: str) -> TestResponse:
    """Send the page that requires a proof, with one."""
    action = re.search(r'<form method="post" action="([^"]+)" class="form"', page.text)
    assert action, page.text
    fields = form_of(page) | {f"step_up-{name}": value for name, value in proof.items()}
    return visitor.post(unescape(action[1]), fields)


@pytest.fixture
def late_admin(app: Flask, clock: MovableClock) -> Visitor:
    """An administrator who signed in more than ten minutes ago."""
    admin = signed_in(app, Role.ADMIN)
    clock.forward(minutes=10, seconds=1)
    return admin


def test_recent_sign_in_needs_no_proof(clock: MovableClock, admin: Visitor) -> None:
    clock.forward(minutes=10)
    assert admin.post("/admin/operators/new", NEW).status_code == 302


@pytest.mark.every_database
def test_after_ten_minutes_password_is_required(app: Flask, late_admin: Visitor, database: Database) -> None:
    """What was typed goes on afterwards."""
    page = late_admin.post("/admin/operators/new", NEW)
    assert CONFIRM_IDENTITY in page.text
    assert find_account(database, email=NEW["email"]) is None
    answer = go_on(late_admin, page, password=PASSWORD)
    assert answer.location == "/admin/operators/"
    made = Visitor(app)
    made.sign_in(NEW["email"], NEW["password"])
    assert made.get("/admin/").location == "/admin/account/password", "nothing that was typed is lost"
    account = find_account(database, email=NEW["email"])
    assert account
    assert late_admin.post(f"/admin/operators/{account.id}/end-sessions").status_code == 302, "once"


def test_wrong_password_changes_nothing(late_admin: Visitor, database: Database) -> None:
    page = late_admin.post("/admin/operators/new", NEW)
    for wrong in ("not mine", "x" * 5000, "\0", ""):
        page = go_on(late_admin, page, password=wrong)
        assert CONFIRM_IDENTITY in page.text
        assert wrong == "" or "Wrong password" in page.text
    assert find_account(database, email=NEW["email"]) is None
    assert go_on(late_admin, page, password=PASSWORD).status_code == 302


def test_guessing_is_throttled_like_sign_in(late_admin: Visitor, database: Database) -> None:
    page = late_admin.post("/admin/operators/new", NEW)
    for _ in range(5):
        page = go_on(late_admin, page, password="a guess")
    page = go_on(late_admin, page, password=PASSWORD)
    assert "Try again in" in page.text, "even the right password is not looked at"
    assert find_account(database, email=NEW["email"]) is None
    assert "sign_in.failed" in [row.action for row in list_audit(database)]


def test_code_is_accepted_and_used_up(app: Flask, clock: MovableClock, admin: Visitor) -> None:
    secret = set_up(admin)
    account = add_account(app, Role.VIEWER)
    clock.forward(minutes=11)
    path, code = f"/admin/operators/{account}/end-sessions", code_of(secret)
    assert CONFIRM_IDENTITY in go_on(admin, admin.post(path), code="000000").text
    assert go_on(admin, admin.post(path), code=code).status_code == 302
    clock.forward(minutes=11)
    assert "already used" in go_on(admin, admin.post(path), code=code).text


def test_passkey_is_accepted_as_proof(app: Flask, clock: MovableClock) -> None:
    admin, device = signed_in(app, Role.ADMIN), Authenticator()
    add_passkey(admin, device)
    thief, other = signed_in(app, Role.OPERATOR), Authenticator()
    add_passkey(thief, other)
    clock.forward(minutes=11)
    page = admin.post("/admin/operators/new", NEW)
    requested = PasskeyRequest(page)
    assert CONFIRM_IDENTITY in go_on(admin, page, credential=other.answer(requested.options)).text, (
        "of another account"
    )
    assert CONFIRM_IDENTITY in go_on(admin, page, credential="nonsense", seal="x").text
    answer = device.answer(requested.options)
    assert go_on(admin, page, credential=answer).location == "/admin/operators/"
    clock.forward(minutes=11)
    assert CONFIRM_IDENTITY in go_on(admin, page, credential=answer).text, (
        "an answer counts once, and only for a while"
    )


SENSITIVE: dict[str, dict[str, Any]] = {
    "/admin/operators/new": NEW,
    "/admin/operators/{id}": {"role": "admin", "active": "y"},
    "/admin/operators/{id}/end-sessions": {},
    "/admin/operators/{id}/reset-second-factor": {},
    "/admin/operators/{id}/new-password": {},
    "/admin/operators/second-factor": {"demanded": "1"},
    "/admin/ingest_tokens/new": {"name": "reporter"},
    "/admin/ingest_tokens/1/revoke": {"typed": "reporter"},
    "/admin/api_keys/new": {"name": "wallet", "scopes": "read"},
    "/admin/api_keys/1/revoke": {"typed": "wallet"},
    "/admin/account/second-factor": {"setup": "authenticator"},
    "/admin/account/second-factor/x": {"code": "000000"},
    "/admin/account/passkey": {"name": "phone"},
    "/admin/account/passkey/x": {"credential": "{}"},
    "/admin/account/remove-passkey": {"name": "phone"},
    "/admin/account/recovery-codes": {},
    "/admin/connect/?like=56": BASE,
    "/admin/document/apply": {"text": text(changed_file()).decode(), "row": "chain 1"},
    "/admin/chains/1/stop": {"disabled_reason": "a fork", "typed": "Ethereum", "confirm": "1"},
    "/admin/chains/stop": {"chain": ["1", "56"], "disabled_reason": "x", "typed": "stop 2 chains"},
    "/admin/chains/resume": {"chain": ["10"]},
    "/admin/validators/10/opening": {"validators": ""},
    "/admin/watching/1/stop": {"reason": "the node moves"},
}


def test_every_sensitive_change_needs_proof(
    app: Flask, network: Flask, clock: MovableClock, database: Database, admin: Visitor
) -> None:
    watch_a_chain(network)
    account = add_account(app, Role.VIEWER)
    clock.forward(minutes=11)
    before = len(list_audit(database))
    for path, fields in SENSITIVE.items():
        assert CONFIRM_IDENTITY in admin.post(path.format(id=account), fields).text, path
    assert len(list_audit(database)) == before, "nothing happened"


def test_account_and_token_changes_are_sensitive(app: Flask) -> None:
    """Also of routes that are added later."""
    rules = app.extensions["console"].rules
    changes = {name: rule for name, rule in rules.items() if rule.change is not Audience.NOBODY}
    sensitive = [name for name in changes if name.split(".")[0] in ("operators", "ingest_tokens", "api_keys")]
    assert len(sensitive) >= 10
    assert [name for name in sensitive if not changes[name].sensitive] == []


def test_other_changes_need_no_proof(operator: Visitor, clock: MovableClock) -> None:
    clock.forward(minutes=11)
    for path in ("/admin/account/sign-out-everywhere", "/admin/anomalies/acknowledge"):
        assert CONFIRM_IDENTITY not in operator.post(path).text, path


def test_only_the_stop_in_a_form_needs_proof(
    operator: Visitor, database: Database, clock: MovableClock
) -> None:
    path = "/admin/chains/1"
    clock.forward(minutes=11)
    assert save(operator, path, name="Other name").status_code == 302, "routine"
    preview = send(operator, path, disabled="1", disabled_reason="a fork")
    page = send(operator, path, preview, confirm="1", typed="Other name")
    assert CONFIRM_IDENTITY in page.text
    assert not document(database)["chains"][0]["disabled"]
    assert go_on(operator, page, password=PASSWORD).status_code == 302
    assert document(database)["chains"][0]["disabled"]


def test_proof_counts_for_one_session(app: Flask, clock: MovableClock) -> None:
    here, there = signed_in(app, Role.ADMIN), Visitor(app)
    there.sign_in(email_of(Role.ADMIN))
    account = add_account(app, Role.VIEWER)
    clock.forward(minutes=11)
    path = f"/admin/operators/{account}/end-sessions"
    assert go_on(here, here.post(path), password=PASSWORD).status_code == 302
    assert CONFIRM_IDENTITY in there.post(path).text
