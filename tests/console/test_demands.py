"""What is demanded before anything is served: one's own password, and a second factor of everyone."""

from __future__ import annotations

import re
from random import Random
from time import process_time

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from app.accounts.services.account_changes import (
    AccountAction,
    AccountRequest,
    create_account,
    request_account,
)
from app.accounts.services.accounts import find_account
from app.accounts.services.passwords import generate_password, hash_password, why_refused
from app.audit.services import list_audit
from app.db.database import Database
from scripts.start import first_account
from tests.actors import TESTER
from tests.applications import Editing, editing_of
from tests.console.authenticator import Authenticator, add_passkey
from tests.console.roles import EXPECTED, NOBODY, console_rules, path_of
from tests.console.second_factor import begin_set_up, code_of, key_of, set_up
from tests.console.visitor import PASSWORD, Visitor, add_account, email_of, signed_in, visitor_of

VIEWER = email_of(Role.VIEWER)
OWN = "quite another password"
CHANGE = "/admin/account/password"
STILL_SERVED = ("security.change_password", "security.logout", "console.static")


def change(visitor: Visitor, old: str, new: str = OWN) -> None:
    visitor.post(CHANGE, {"password": old, "new_password": new, "new_password_confirm": new})


def new_password(app: Flask) -> str:
    """Give the viewer a new password, as the command does."""
    password = generate_password()
    request = AccountRequest(AccountAction.NEW_PASSWORD, VIEWER, hashed=hash_password(password))
    request_account(*editing_of(app), request, actor=TESTER)
    return password


def test_password_of_administrator_is_changed_first(app: Flask, database: Database, admin: Visitor) -> None:
    admin.post("/admin/operators/new", {"email": VIEWER, "password": PASSWORD, "role": "viewer"})
    visitor = visitor_of(app, VIEWER)
    assert "Choose your own password" in visitor.get(CHANGE).text
    for rule in console_rules(app):
        who = EXPECTED[rule.endpoint]
        for method in ("GET", "POST"):
            open_to = who[method == "POST"]
            if open_to == NOBODY or rule.endpoint in STILL_SERVED:
                continue
            path = path_of(app, rule)
            answer = visitor.get(path) if method == "GET" else visitor.post(path)
            led = answer.status_code == 302 and answer.location == CHANGE
            assert led or answer.status_code == 403, f"{method} {path}: {answer.status}"
    change(visitor, PASSWORD, PASSWORD)
    assert not visitor.inside, "the same password is not another one"
    change(visitor, PASSWORD)
    assert visitor.inside
    reported = [row.detail for row in list_audit(database) if row.action == "operator.change"]
    assert reported[0] == "new password, signed out everywhere"


@pytest.mark.parametrize("by", ["console", "command line"])
def test_generated_password_is_changed_first(app: Flask, by: str) -> None:
    account = add_account(app, Role.VIEWER)
    if by == "console":
        page = signed_in(app, Role.ADMIN).post(f"/admin/operators/{account}/new-password").text
        found = re.search(r'class="secret"><code>([^<]+)<', page)
        assert found
        password = found[1]
    else:
        password = new_password(app)
    visitor = visitor_of(app, VIEWER, password)
    assert visitor.get("/admin/").location == CHANGE
    change(visitor, password)
    assert visitor.inside


def test_password_from_prompt_is_not_changed(app: Flask, editing: Editing) -> None:
    create_account(*editing, VIEWER, PASSWORD, Role.VIEWER, actor=TESTER)
    visitor = visitor_of(app, VIEWER)
    assert visitor.inside


@pytest.mark.parametrize(
    "password",
    ["password1234", "Password1234!", "P@ssw0rd1234", "qwertyuiop12", "letmein12345", "passwordpassword",
     "administrator1", "123456789012", "iloveyou2024!", "gatewaygateway"],
)  # fmt: skip
def test_common_passwords_are_refused(password: str) -> None:
    assert why_refused(password, VIEWER)


def test_every_form_refuses_common_passwords(app: Flask, database: Database) -> None:
    owner, common = signed_in(app, Role.VIEWER), "password1234"
    fields = {"password": PASSWORD, "new_password": common, "new_password_confirm": common}
    assert "easy to guess" in owner.post(CHANGE, fields).text
    admin = signed_in(app, Role.ADMIN)
    wanted = {"email": "n@example.org", "password": common, "role": "viewer"}
    assert "easy to guess" in admin.post("/admin/operators/new", wanted).text
    assert find_account(database, email="n@example.org") is None


def test_no_password_takes_long_to_check() -> None:
    """Each of these characters stands for several letters, and zxcvbn tries all of them."""
    chance = Random(1)
    started = process_time()
    why_refused("".join(chance.choices("4@8({[<3690$5!1|7+%2x", k=256)), VIEWER)
    assert process_time() - started < 1.5


def test_password_refuses_email_with_digit() -> None:
    assert why_refused(f"{VIEWER}1", VIEWER)


@pytest.mark.parametrize(
    "password",
    ["correct horse battery staple", "JKr8s-2lqPv0aQ_xw1dz", "мой длинный пароль для моста", PASSWORD, OWN,
     "kQz!vP2m7&hW" * 21],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_good_passwords_are_taken(password: str) -> None:
    assert why_refused(password, VIEWER) is None


def test_first_account_keeps_its_password(app: Flask, editing: Editing) -> None:
    with app.app_context():
        account, password = first_account(*editing)
    visitor = Visitor(app)
    visitor.sign_in(account.split()[1], password.split()[1])
    assert visitor.inside


# --- A second factor of everyone

DEMAND = "/admin/operators/second-factor"


@pytest.mark.every_database
def test_second_factor_can_be_required(app: Flask, database: Database) -> None:
    admin, viewer = signed_in(app, Role.ADMIN), signed_in(app, Role.VIEWER)
    keyed = signed_in(app, Role.OPERATOR)
    add_passkey(keyed, Authenticator())
    page = admin.post(DEMAND, {"demanded": "1"}, follow_redirects=True)
    assert "Set up a second factor for your own account" in page.text
    assert viewer.inside
    set_up(admin)
    page = admin.post(DEMAND, {"demanded": "1"}, follow_redirects=True)
    assert "Second factor required for everyone" in page.text
    assert admin.inside
    assert keyed.inside
    assert not viewer.inside, "sessions without the factor end"
    answer = viewer.sign_in(VIEWER)
    assert answer.location == "/admin/account/second-factor"
    assert not viewer.inside
    key = key_of(begin_set_up(viewer))
    viewer.post("/admin/sign-in/code", {"code": code_of(key)})
    assert viewer.inside
    assert "disable" not in viewer.get("/admin/account/second-factor").text
    admin.post(DEMAND, {"demanded": "0"})
    assert "disable" in viewer.get("/admin/account/second-factor").text
    reported = [row.detail for row in list_audit(database) if row.action == "operators.rules"]
    assert reported == ["", "1 sessions without a second factor ended"]


def test_factor_comes_before_password(app: Flask, admin: Visitor) -> None:
    """Where both are required."""
    set_up(admin)
    admin.post(DEMAND, {"demanded": "1"})
    add_account(app, Role.VIEWER)
    password = new_password(app)
    visitor = Visitor(app)
    assert visitor.sign_in(VIEWER, password).location == "/admin/account/second-factor"
    key = key_of(begin_set_up(visitor))
    visitor.post("/admin/sign-in/code", {"code": code_of(key)})
    assert visitor.get("/admin/").location == CHANGE
    change(visitor, password)
    assert visitor.inside
