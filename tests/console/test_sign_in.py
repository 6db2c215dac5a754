"""Signing in: passwords, throttling, sessions that end, second factors whose codes work once."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.accounts.rules.roles import Role
from app.accounts.services.account_changes import create_account
from app.accounts.services.accounts import find_account, update_account, use_code
from app.db.database import Database
from tests.actors import TESTER
from tests.applications import Editing
from tests.builders.clock import MovableClock
from tests.console.forms import form_of
from tests.console.second_factor import VIEWER, begin_set_up, code_of, key_of, set_up
from tests.console.visitor import PASSWORD, Visitor, add_account, email_of, signed_in, visitor_of


def test_password_opens_and_signing_out_closes(app: Flask, viewer: Visitor) -> None:
    assert viewer.inside
    cookie = viewer.cookie()
    assert viewer.post("/admin/sign-out").status_code == 302
    assert not viewer.inside
    thief = Visitor(app)
    thief.client.set_cookie("console", cookie, path="/admin")
    assert not thief.inside, "a copied cookie must be worth nothing after signing out"


def test_sign_in_does_not_rehash_password(app: Flask, database: Database, editing: Editing) -> None:
    """Both are hashed by one context: with other parameters here, each sign-in would write the account."""
    email = create_account(*editing, "new@example.org", PASSWORD, Role.VIEWER, actor=TESTER)
    made = find_account(database, email=email)
    visitor = Visitor(app)
    visitor.sign_in(email)
    assert visitor.inside
    now = find_account(database, email=email)
    assert made
    assert now
    assert now.password == made.password


def test_inactive_account_stays_out(app: Flask, editing: Editing) -> None:
    account = add_account(app, Role.VIEWER)
    visitor = visitor_of(app, VIEWER)
    assert visitor.inside
    update_account(*editing, account, {"active": False}, actor=TESTER)
    assert not visitor.inside
    visitor.sign_in(VIEWER)
    assert not visitor.inside


def test_address_trying_many_accounts_waits(app: Flask, clock: MovableClock) -> None:
    add_account(app, Role.VIEWER)
    guesser = Visitor(app, address="192.0.2.66")
    for number in range(21):
        guesser.sign_in(f"somebody{number}@example.org", "wrong password")
    assert "Try again in" in guesser.sign_in(VIEWER).text
    clock.forward(hours=1, seconds=1)
    guesser.sign_in(VIEWER)
    assert guesser.inside


def test_session_is_new_after_sign_in(app: Flask) -> None:
    add_account(app, Role.VIEWER)
    visitor = Visitor(app)
    visitor.get("/admin/sign-in")
    with visitor.client.session_transaction("/admin/") as planted:
        planted["planted"] = "before"
        before = planted["csrf_token"]
    visitor.sign_in(VIEWER)
    with visitor.client.session_transaction("/admin/") as session:
        assert "planted" not in session
        assert session.get("csrf_token") != before
    assert visitor.inside


@pytest.mark.parametrize(("steps", "minutes"), [(1, 60), (13, 56)])
def test_session_ends_unused_or_after_shift(
    clock: MovableClock, steps: int, minutes: int, viewer: Visitor
) -> None:
    for _ in range(steps - 1):
        clock.forward(minutes=minutes)
        assert viewer.inside
    clock.forward(minutes=minutes)
    answer = viewer.get("/admin/operators/?page=2")
    assert answer.status_code == 302
    assert "ended=1" in answer.location
    assert "next=/admin/operators/?page%3D2" in answer.location.replace("%2F", "/").replace("%3F", "?")


def test_next_leads_on_within_the_console(app: Flask) -> None:
    add_account(app, Role.VIEWER)
    visitor = Visitor(app)
    fields = {"email": VIEWER, "password": PASSWORD, "next": "/admin/account/"}
    assert visitor.post("/admin/sign-in", fields).location == "/admin/account/"


def test_nobody_registers_or_rescues_himself(app: Flask) -> None:
    visitor = Visitor(app)
    for path in ("register", "reset", "tf-rescue", "tf-select", "fs-static/x"):
        assert visitor.get(f"/admin/{path}").status_code == 404, path
        assert visitor.post(f"/admin/{path}").status_code in (404, 405), path


def test_cookie_is_secure_and_hidden_from_scripts(app: Flask) -> None:
    hosts = {"127.0.0.1:8000": False, "localhost": False, "[::1]:80": False, "gw.example": True}
    for host, secure in hosts.items():
        cookie = Visitor(app).get("/admin/sign-in", headers={"Host": host}).headers["Set-Cookie"]
        assert ("; Secure" in cookie) is secure, host
        for part in ("; HttpOnly", "; SameSite=Lax", "; Path=/admin"):
            assert part in cookie, host


def test_public_responses_have_no_console_headers(app: Flask) -> None:
    answer = signed_in(app, Role.VIEWER).get("/v2/getTransferConfigs")
    assert "Set-Cookie" not in answer.headers
    assert "Cookie" not in answer.headers.get("Vary", "")
    assert "script-src" not in answer.headers["Content-Security-Policy"]


def test_changed_password_ends_other_sessions(app: Flask, viewer: Visitor) -> None:
    there = visitor_of(app, VIEWER)
    new = "quite another password"
    for fields, complaint in (
        ({"password": "not mine", "new_password": new, "new_password_confirm": new}, "Wrong password"),
        ({"password": PASSWORD, "new_password": "short", "new_password_confirm": "short"}, "at least 12"),
        (
            {"password": PASSWORD, "new_password": new, "new_password_confirm": new + "!"},
            "passwords do not match",
        ),
    ):
        assert complaint in viewer.post("/admin/account/password", fields).text
    fields = {"password": PASSWORD, "new_password": new, "new_password_confirm": new}
    assert viewer.post("/admin/account/password", fields).status_code == 302
    assert viewer.inside
    assert not there.inside
    there.sign_in(VIEWER)
    assert not there.inside
    there.sign_in(VIEWER, new)
    assert there.inside


# --- The second factor


def test_second_factor_codes_work_once(app: Flask) -> None:
    secret = set_up(signed_in(app, Role.VIEWER))
    visitor = Visitor(app)
    answer = visitor.sign_in(VIEWER)
    assert answer.location.startswith("/admin/sign-in/code")
    assert not visitor.inside, "the password is not enough"
    visitor.sign_in(VIEWER)
    assert "code" in visitor.post("/admin/sign-in/code", {"code": "000000"}).text
    assert not visitor.inside
    code = code_of(secret)
    visitor.post("/admin/sign-in/code", {"code": code})
    assert visitor.inside
    other = visitor_of(app, VIEWER)
    other.post("/admin/sign-in/code", {"code": code})
    assert not other.inside, "a code that was used is used up"
    other.post("/admin/sign-in/code", {"code": code_of(secret, 1)})
    assert other.inside


def test_one_code_lets_in_once(app: Flask, database: Database) -> None:
    """What decides where both have read the account before either has used the code."""
    account = add_account(app, Role.VIEWER)
    assert [use_code(database, account, step) for step in (7, 7, 6, 8)] == [True, False, False, True]


def test_code_page_needs_password_first(app: Flask) -> None:
    assert Visitor(app).get("/admin/sign-in/code").location == "/admin/sign-in"
    assert Visitor(app).get("/admin/account/second-factor").location == "/admin/sign-in"


def test_admin_requires_second_factor(app: Flask, database: Database) -> None:
    admin, account = signed_in(app, Role.ADMIN), add_account(app, Role.VIEWER)
    visitor = visitor_of(app, VIEWER)
    wanted = {"role": "viewer", "active": "y", "second_factor_required": "y"}
    assert admin.post(f"/admin/operators/{account}", wanted).status_code == 302
    assert not visitor.inside, "sessions without the factor end"
    answer = visitor.sign_in(VIEWER)
    assert answer.location == "/admin/account/second-factor"
    assert not visitor.inside
    key = key_of(begin_set_up(visitor))
    visitor.post("/admin/sign-in/code", {"code": code_of(key)})
    assert visitor.inside
    page = visitor.get("/admin/account/second-factor").text
    assert "disable" not in page, "what is required cannot be switched off"
    visitor.post("/admin/account/second-factor", {"setup": "disable"})
    stored = find_account(database, account_id=account)
    assert stored
    assert stored.tf_totp_secret


def test_admin_resets_lost_second_factor(app: Flask, database: Database, viewer: Visitor) -> None:
    set_up(viewer)
    admin = signed_in(app, Role.ADMIN)
    account = find_account(database, email=VIEWER)
    assert account
    assert account.tf_totp_secret
    assert PASSWORD not in account.tf_totp_secret
    link = f"/admin/operators/{account.id}/reset-second-factor"
    shown = admin.get(f"/admin/operators/{account.id}").text
    assert f'href="{link}"' in shown
    assert f'action="{link}"' not in shown, "without a script there would be no confirmation"
    requested = admin.get(link)
    assert "Sign-in then needs only the password" in requested.text
    assert viewer.inside, "nothing has happened yet"
    assert admin.post(link, form_of(requested)).status_code == 302
    assert not viewer.inside
    viewer.sign_in(VIEWER)
    assert viewer.inside


@pytest.mark.parametrize("change", [{"active": False}, {"role": "operator"}])
def test_last_administrator_stays(change: dict[str, Any], database: Database, admin: Visitor) -> None:
    account = find_account(database, email=email_of(Role.ADMIN))
    assert account
    fields = {"role": change.get("role", "admin")} | ({} if "active" in change else {"active": "y"})
    answer = admin.post(f"/admin/operators/{account.id}", fields)
    assert "last administrator" in answer.text
    assert admin.inside
    assert find_account(database, email=email_of(Role.ADMIN)) == account


def test_outdated_account_form_is_refused(app: Flask, database: Database) -> None:
    """It writes every field as it shows it, so what another administrator has set meanwhile would be lost."""
    admin, account = signed_in(app, Role.ADMIN), add_account(app, Role.OPERATOR)
    path = f"/admin/operators/{account}"
    old = {"role": "operator", "active": "y", "second_factor_required": "y", "seen": seen_in(admin.get(path))}
    assert admin.post(path, {"role": "viewer"}).status_code == 302
    answer = admin.post(path, old, follow_redirects=True)
    assert "was changed while you were editing" in answer.text
    stored = find_account(database, account_id=account)
    assert stored
    assert (stored.role, stored.active, stored.second_factor_required) == (Role.VIEWER, False, False)
    again = {"role": "viewer", "second_factor_required": "y", "seen": seen_in(answer)}
    assert admin.post(path, again).status_code == 302
    stored = find_account(database, account_id=account)
    assert stored and stored.second_factor_required and not stored.active


def seen_in(page: TestResponse) -> str:
    found = re.search(r'name="seen"[^>]* value="([^"]+)"', page.text)
    assert found
    return found[1]


def test_account_form_ignores_other_fields(app: Flask, database: Database) -> None:
    admin, account = signed_in(app, Role.ADMIN), add_account(app, Role.VIEWER)
    fields = {"role": "viewer", "active": "y", "email": "other@example.org", "password": "x" * 20}
    answer = admin.post(f"/admin/operators/{account}", fields)
    assert "This form has no field “email”, “password”: nothing was changed" in answer.text
    stored = find_account(database, account_id=account)
    assert stored
    assert stored.email == VIEWER


WRONG = "Wrong code"


def action_of(page: TestResponse) -> str:
    found = re.search(r'<form method="post" action="([^"]+)"', page.text)
    assert found
    return found[1]


def assert_asked_again(page: TestResponse, key: str) -> None:
    assert page.status_code == 200
    assert key_of(page) == key
    assert "data:image/svg+xml" in page.text
    assert page.text.count(WRONG) == 1, "once, at the field"
    (field,) = re.findall(r'<input[^>]* name="code"[^>]*>', page.text)
    assert "autofocus" in field and 'aria-invalid="true"' in field


def test_wrong_code_keeps_the_secret(app: Flask, viewer: Visitor) -> None:
    page = begin_set_up(viewer)
    key = key_of(page)
    for _ in range(2):
        page = viewer.post(action_of(page), {"code": "000000"})
        assert_asked_again(page, key)
    assert WRONG not in viewer.get("/admin/account/").text
    assert key_of(begin_set_up(viewer)) == key, "begun again, the app has it still"
    answer = viewer.post(action_of(page), {"code": code_of(key)})
    assert answer.status_code == 302
    again = begin_set_up(viewer)
    assert key_of(again) != key, "what is confirmed is not given again"


def test_at_the_first_sign_in_too(app: Flask) -> None:
    add_account(app, Role.VIEWER, second_factor_required=True)
    visitor = visitor_of(app, VIEWER)
    key = key_of(begin_set_up(visitor))
    page = visitor.post("/admin/sign-in/code", {"code": "000000"})
    assert_asked_again(page, key)
    assert not visitor.inside
    visitor.post(action_of(page), {"code": code_of(key)})
    assert visitor.inside


def test_nobody_gets_the_secret_of_another(app: Flask) -> None:
    for role in (Role.VIEWER, Role.OPERATOR):
        add_account(app, role, second_factor_required=True)
    visitor = visitor_of(app, VIEWER)
    key = key_of(begin_set_up(visitor))
    visitor.sign_in("operator@example.org")
    assert key_of(begin_set_up(visitor)) != key


def test_wrong_sign_in_code_shows_no_secret(app: Flask, viewer: Visitor) -> None:
    page = begin_set_up(viewer)
    key = key_of(page)
    viewer.post(action_of(page), {"code": code_of(key)})
    other = visitor_of(app, VIEWER)
    refused = other.post("/admin/sign-in/code", {"code": "000000"})
    assert WRONG in refused.text and "data:image/svg+xml" not in refused.text and key not in refused.text
