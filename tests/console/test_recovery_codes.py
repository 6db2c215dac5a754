"""Recovery codes: made with the second factor, shown once, each used once."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from flask import Flask
from sqlalchemy import select

from app.accounts.models import OperatorRecoveryCode
from app.accounts.rules.roles import Role
from app.accounts.rules.sign_in import RECOVERY_CODES
from app.accounts.services.accounts import find_account, update_account
from app.accounts.services.factors import make_recovery_codes, recovery_codes_left, use_recovery_code
from app.audit.services import list_audit
from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from tests.actors import TESTER
from tests.applications import Audited, Editing
from tests.console.authenticator import Authenticator, add_passkey
from tests.console.second_factor import begin_set_up, code_of, key_of, set_up
from tests.console.visitor import PASSWORD, Visitor, add_account, email_of, signed_in, visitor_of

VIEWER = email_of(Role.VIEWER)
PATH = "/admin/account/recovery-codes"
CHANGE = "/admin/account/password"


def make(visitor: Visitor) -> list[str]:
    """Make codes and read them off the page."""
    page = visitor.post(PATH)
    return re.findall(r"<li><code>([0-9a-z-]+)</code>", page.text)


def recover(visitor: Visitor, code: str) -> Visitor:
    visitor.sign_in(VIEWER)
    visitor.post("/admin/sign-in/recovery", {"code": code})
    return visitor


def test_second_factor_setup_leads_to_codes(viewer: Visitor) -> None:
    assert not make(viewer), "they stand in for a second factor, and there is none"
    assert add_passkey(viewer, Authenticator()).location == PATH
    assert "You have no codes" in viewer.get(PATH).text
    codes = make(viewer)
    assert len(set(codes)) == RECOVERY_CODES
    assert f"You have {RECOVERY_CODES} codes left" in viewer.get(PATH).text
    assert codes[0] not in viewer.get(PATH).text, "shown once"
    assert f"{RECOVERY_CODES} left" in viewer.get("/admin/account/").text
    assert add_passkey(viewer, Authenticator(), "another").location == "/admin/account/"


def test_setup_at_sign_in_leads_to_codes(app: Flask) -> None:
    add_account(app, Role.VIEWER, second_factor_required=True)
    visitor = visitor_of(app, VIEWER)
    key = key_of(begin_set_up(visitor))
    assert visitor.post("/admin/sign-in/code", {"code": code_of(key)}).location == PATH
    other = visitor_of(app, VIEWER)
    assert other.post("/admin/sign-in/code", {"code": code_of(key, 1)}).location == "/admin/"


def test_invited_operator_is_led_to_codes(app: Flask) -> None:
    """The password that an administrator made has to be changed first, and hides the way from the setup."""
    admin, new = signed_in(app, Role.ADMIN), "Wickelrock 47 Zaunkoenig"
    fields = {"email": VIEWER, "password": PASSWORD, "role": "viewer", "second_factor_required": "y"}
    assert admin.post("/admin/operators/new", fields).status_code == 302
    visitor = visitor_of(app, VIEWER)
    key = key_of(begin_set_up(visitor))
    visitor.post("/admin/sign-in/code", {"code": code_of(key)})
    assert visitor.get(PATH).location == CHANGE
    fields = {"password": PASSWORD, "new_password": new, "new_password_confirm": new}
    assert visitor.post(CHANGE, fields).location == PATH
    assert len(make(visitor)) == RECOVERY_CODES
    fields = {"password": new, "new_password": new[::-1], "new_password_confirm": new[::-1]}
    assert visitor.post(CHANGE, fields).location == "/admin/account/", "it has codes now"


def test_code_replaces_second_factor_once(app: Flask, database: Database, viewer: Visitor) -> None:
    set_up(viewer)
    codes = make(viewer)
    visitor = recover(Visitor(app), codes[0].upper().replace("-", " ").replace("1", "l").replace("0", "O"))
    assert "9 recovery codes left" in visitor.get("/admin/").text
    assert not recover(Visitor(app), codes[0]).inside, "it is used up"
    assert not recover(Visitor(app), "0000-0000-0000-0000").inside
    assert recover(Visitor(app), codes[1]).inside
    reported = [(row.action, row.detail) for row in list_audit(database)]
    assert ("recovery_code.use", "9 left") in reported
    assert ("recovery_codes.make", "10 codes; earlier codes no longer work") in reported


def test_new_codes_end_the_old_ones(app: Flask, viewer: Visitor) -> None:
    set_up(viewer)
    old, new = make(viewer), make(viewer)
    assert not recover(Visitor(app), old[0]).inside
    assert recover(Visitor(app), new[0]).inside


def test_code_without_password_is_refused(app: Flask, viewer: Visitor) -> None:
    set_up(viewer)
    code = make(viewer)[0]
    visitor = Visitor(app)
    assert visitor.get("/admin/sign-in/recovery").location == "/admin/sign-in"
    visitor.post("/admin/sign-in/recovery", {"code": code})
    assert not visitor.inside
    visitor.sign_in(VIEWER, "a wrong password")
    visitor.post("/admin/sign-in/recovery", {"code": code})
    assert not visitor.inside
    assert recover(Visitor(app), code).inside, "it was not used up"


def test_guessing_codes_has_to_wait(app: Flask, viewer: Visitor) -> None:
    set_up(viewer)
    code = make(viewer)[0]
    visitor = visitor_of(app, VIEWER)
    for _ in range(5):
        visitor.post("/admin/sign-in/recovery", {"code": "0000-0000-0000-0000"})
    assert "Try again in" in visitor.post("/admin/sign-in/recovery", {"code": code}).text
    assert not visitor.inside


def test_malformed_codes_are_wrong_ones(app: Flask, viewer: Visitor) -> None:
    set_up(viewer)
    make(viewer)
    for number, code in enumerate(("", " ", "\0", "é" * 300, "-" * 5000)):
        visitor = Visitor(app, f"192.0.2.{number}")
        visitor.sign_in(VIEWER)
        assert visitor.post("/admin/sign-in/recovery", {"code": code}).status_code == 200, code
        assert not visitor.inside


def test_inactive_account_cannot_use_codes(
    app: Flask, database: Database, editing: Editing, viewer: Visitor
) -> None:
    set_up(viewer)
    code, account = make(viewer)[0], _account(app)
    visitor = visitor_of(app, VIEWER)
    update_account(*editing, account, {"active": False}, actor=TESTER)
    visitor.post("/admin/sign-in/recovery", {"code": code})
    assert not visitor.inside
    assert recovery_codes_left(database, account) == RECOVERY_CODES


def test_codes_are_stored_hashed(app: Flask, database: Database, audited: Audited) -> None:
    account = add_account(app, Role.VIEWER)
    codes = make_recovery_codes(*audited, account, actor=TESTER)
    with reading(database.engine) as connection:
        stored = list(connection.scalars(select(OperatorRecoveryCode.digest)))
    assert len(stored) == RECOVERY_CODES
    for code in codes:
        assert not any(code.replace("-", "").encode() in digest for digest in stored)


@pytest.mark.every_database
def test_one_code_lets_in_once(app: Flask, audited: Audited) -> None:
    account = add_account(app, Role.VIEWER)
    code = make_recovery_codes(*audited, account, actor=TESTER)[0]
    with ThreadPoolExecutor(8) as pool:
        used = list(pool.map(lambda _: use_recovery_code(*audited, account, code, actor=TESTER), range(8)))
    assert sorted(used) == [False] * 7 + [True]


def _account(app: Flask) -> int:
    account = find_account(part_of(app, Database), email=VIEWER)
    assert account
    return account.id
