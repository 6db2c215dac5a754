"""Signing in: passwords, throttling, sessions that end, second factors whose codes work once."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.accounts.rules.roles import Role
from app.accounts.services.account_changes import create_account
from app.accounts.services.accounts import (
    find_account,
    new_uniquifier,
    update_account,
    use_code,
)
from app.db.database import Database
from tests.actors import TESTER
from tests.applications import Editing
from tests.console.forms import form_of
from tests.console.second_factor import REFUSED, VIEWER, code_of, set_up
from tests.console.visitor import (
    PASSWORD,
    MovableClock,
    Visitor,
    add_account,
    email_of,
    signed_in,
)


def test_password_opens_and_signing_out_closes(app: Flask) -> None:
    visitor = signed_in(app, Role.VIEWER)
    assert visitor.inside
    cookie = visitor.cookie()
    assert visitor.post("/admin/sign-out").status_code == 302
    assert not visitor.inside
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


@pytest.mark.parametrize(
    ("email", "password"),
    [(VIEWER, "wrong password"), ("nobody@example.org", PASSWORD), ("", ""), (VIEWER, ""), ("x", "\0")],
)
def test_every_failure_answers_the_same(app: Flask, email: str, password: str) -> None:
    add_account(app, Role.VIEWER)
    visitor = Visitor(app)
    answer = visitor.sign_in(email, password)
    assert answer.status_code == 200
    if email and password:
        assert REFUSED in answer.text
    assert not visitor.inside


def test_inactive_account_stays_out(app: Flask, editing: Editing) -> None:
    account = add_account(app, Role.VIEWER)
    visitor = Visitor(app)
    visitor.sign_in(VIEWER)
    assert visitor.inside
    update_account(*editing, account, {"active": False}, actor=TESTER)
    assert not visitor.inside
    visitor.sign_in(VIEWER)
    assert not visitor.inside


def test_guessing_has_to_wait_longer_and_longer(app: Flask, clock: MovableClock) -> None:
    add_account(app, Role.VIEWER)
    visitor = Visitor(app)
    for _ in range(5):
        assert REFUSED in visitor.sign_in(VIEWER, "wrong password").text
    assert "Try again in" in visitor.sign_in(VIEWER).text, "even the right password is not looked at"
    assert not visitor.inside
    elsewhere = Visitor(app, address="192.0.2.7")
    elsewhere.sign_in(VIEWER)
    assert elsewhere.inside, "the owner comes in from elsewhere"
    clock.forward(seconds=3)
    visitor.sign_in(VIEWER)
    assert visitor.inside


def test_address_trying_many_accounts_waits(app: Flask, clock: MovableClock) -> None:
    add_account(app, Role.VIEWER)
    guesser = Visitor(app, address="192.0.2.66")
    for number in range(21):
        guesser.sign_in(f"somebody{number}@example.org", "wrong password")
    assert "Try again in" in guesser.sign_in(VIEWER).text
    clock.forward(hours=1, seconds=1)
    guesser.sign_in(VIEWER)
    assert guesser.inside


def test_the_session_is_new_after_signing_in(app: Flask) -> None:
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
    app: Flask, clock: MovableClock, steps: int, minutes: int
) -> None:
    visitor = signed_in(app, Role.VIEWER)
    for _ in range(steps - 1):
        clock.forward(minutes=minutes)
        assert visitor.inside
    clock.forward(minutes=minutes)
    answer = visitor.get("/admin/operators/?page=2")
    assert answer.status_code == 302
    assert "ended=1" in answer.location
    assert "next=/admin/operators/?page%3D2" in answer.location.replace("%2F", "/").replace("%3F", "?")


def test_signing_out_everywhere_ends_the_others_too(app: Flask) -> None:
    here = signed_in(app, Role.VIEWER)
    there = Visitor(app)
    there.sign_in(VIEWER)
    assert here.get("/admin/account/").text.count('pill-good">this one') == 1
    assert here.post("/admin/account/sign-out-everywhere").status_code == 302
    assert not here.inside
    assert not there.inside


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example/",
        "/\\evil.example",
        "javascript:alert(1)",
        "https:evil.example",
    ],
)
def test_next_never_leads_to_another_site(app: Flask, target: str) -> None:
    add_account(app, Role.VIEWER)
    visitor = Visitor(app)
    fields = {"email": VIEWER, "password": PASSWORD, "next": target}
    answer = visitor.post("/admin/sign-in", fields, query_string={"next": target})
    leads_to = urljoin("http://localhost/admin/sign-in", answer.location or "")
    assert urlsplit(leads_to)[:2] == ("http", "localhost")


def test_next_leads_on_within_the_console(app: Flask) -> None:
    add_account(app, Role.VIEWER)
    visitor = Visitor(app)
    fields = {"email": VIEWER, "password": PASSWORD, "next": "/admin/account/"}
    assert visitor.post("/admin/sign-in", fields).location == "/admin/account/"


@pytest.mark.parametrize("path", ["register", "reset", "tf-rescue", "tf-select", "fs-static/x"])
def test_nobody_registers_or_rescues_himself(app: Flask, path: str) -> None:
    visitor = Visitor(app)
    assert visitor.get(f"/admin/{path}").status_code == 404
    assert visitor.post(f"/admin/{path}").status_code in (404, 405)


@pytest.mark.parametrize(
    ("host", "secure"),
    [("127.0.0.1:8000", False), ("localhost", False), ("[::1]:80", False), ("gw.example", True)],
)
def test_cookie_is_secure_and_hidden_from_scripts(app: Flask, host: str, secure: bool) -> None:
    cookie = Visitor(app).get("/admin/sign-in", headers={"Host": host}).headers["Set-Cookie"]
    assert ("; Secure" in cookie) is secure
    for part in ("; HttpOnly", "; SameSite=Lax", "; Path=/admin"):
        assert part in cookie


def test_public_requests_know_nothing_of_the_console(app: Flask) -> None:
    answer = signed_in(app, Role.VIEWER).get("/v2/getTransferConfigs")
    assert "Set-Cookie" not in answer.headers
    assert "Cookie" not in answer.headers.get("Vary", "")
    assert "script-src" not in answer.headers["Content-Security-Policy"]


def test_changed_password_ends_other_sessions(app: Flask) -> None:
    here = signed_in(app, Role.VIEWER)
    there = Visitor(app)
    there.sign_in(VIEWER)
    new = "quite another password"
    for fields, complaint in (
        ({"password": "not mine", "new_password": new, "new_password_confirm": new}, "Wrong password"),
        ({"password": PASSWORD, "new_password": "short", "new_password_confirm": "short"}, "at least 12"),
        (
            {"password": PASSWORD, "new_password": new, "new_password_confirm": new + "!"},
            "passwords do not match",
        ),
    ):
        assert complaint in here.post("/admin/account/password", fields).text
    fields = {"password": PASSWORD, "new_password": new, "new_password_confirm": new}
    assert here.post("/admin/account/password", fields).status_code == 302
    assert here.inside
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
    assert not visitor.inside, "the password alone is not enough"
    visitor.sign_in(VIEWER)
    assert "code" in visitor.post("/admin/sign-in/code", {"code": "000000"}).text
    assert not visitor.inside
    code = code_of(secret)
    visitor.post("/admin/sign-in/code", {"code": code})
    assert visitor.inside
    other = Visitor(app)
    other.sign_in(VIEWER)
    other.post("/admin/sign-in/code", {"code": code})
    assert not other.inside, "a code that was used is used up"
    other.post("/admin/sign-in/code", {"code": code_of(secret, 1)})
    assert other.inside


def test_one_code_lets_in_once(app: Flask, database: Database) -> None:
    """What decides where both have read the account before either has used the code."""
    account = add_account(app, Role.VIEWER)
    assert [use_code(database, account, step) for step in (7, 7, 6, 8)] == [True, False, False, True]


def test_wrong_codes_have_to_wait_too(app: Flask) -> None:
    secret = set_up(signed_in(app, Role.VIEWER))
    visitor = Visitor(app)
    visitor.sign_in(VIEWER)
    for _ in range(5):
        visitor.post("/admin/sign-in/code", {"code": "000000"})
    assert "Try again in" in visitor.post("/admin/sign-in/code", {"code": code_of(secret)}).text
    assert not visitor.inside


def test_the_code_page_alone_leads_nowhere(app: Flask) -> None:
    assert Visitor(app).get("/admin/sign-in/code").location == "/admin/sign-in"
    assert Visitor(app).get("/admin/account/second-factor").location == "/admin/sign-in"


def test_an_admin_can_require_a_second_factor(app: Flask, database: Database) -> None:
    admin, account = signed_in(app, Role.ADMIN), add_account(app, Role.VIEWER)
    visitor = Visitor(app)
    visitor.sign_in(VIEWER)
    wanted = {"role": "viewer", "active": "y", "second_factor_required": "y"}
    assert admin.post(f"/admin/operators/{account}", wanted).status_code == 302
    assert not visitor.inside, "sessions without the factor end"
    answer = visitor.sign_in(VIEWER)
    assert answer.location == "/admin/account/second-factor"
    assert not visitor.inside
    page = visitor.post("/admin/account/second-factor", {"setup": "authenticator"}).text
    key = re.search(r'class="mono break">([^<]+)<', page)
    assert key
    visitor.post("/admin/sign-in/code", {"code": code_of(key[1])})
    assert visitor.inside
    page = visitor.get("/admin/account/second-factor").text
    assert "disable" not in page, "what is required cannot be switched off"
    visitor.post("/admin/account/second-factor", {"setup": "disable"})
    stored = find_account(database, account_id=account)
    assert stored
    assert stored.tf_totp_secret


def test_admin_resets_lost_second_factor(app: Flask, database: Database) -> None:
    visitor = signed_in(app, Role.VIEWER)
    set_up(visitor)
    admin = signed_in(app, Role.ADMIN)
    account = find_account(database, email=VIEWER)
    assert account
    assert account.tf_totp_secret
    assert PASSWORD not in account.tf_totp_secret
    link = f"/admin/operators/{account.id}/reset-second-factor"
    shown = admin.get(f"/admin/operators/{account.id}").text
    assert f'href="{link}"' in shown
    assert f'action="{link}"' not in shown, "without a script nothing would ask"
    asked = admin.get(link)
    assert "The password alone is enough then" in asked.text
    assert visitor.inside, "nothing has happened yet"
    assert admin.post(link, form_of(asked)).status_code == 302
    assert not visitor.inside
    visitor.sign_in(VIEWER)
    assert visitor.inside


@pytest.mark.parametrize("change", [{"active": False}, {"role": "operator"}])
def test_the_last_administrator_stays(app: Flask, change: dict[str, Any], database: Database) -> None:
    admin = signed_in(app, Role.ADMIN)
    account = find_account(database, email=email_of(Role.ADMIN))
    assert account
    fields = {"role": change.get("role", "admin")} | ({} if "active" in change else {"active": "y"})
    answer = admin.post(f"/admin/operators/{account.id}", fields)
    assert "last administrator" in answer.text
    assert admin.inside
    assert find_account(database, email=email_of(Role.ADMIN)) == account


def test_old_form_of_an_account_undoes_no_change(app: Flask, database: Database) -> None:
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


def test_a_new_name_for_sessions_ends_them(app: Flask, database: Database, editing: Editing) -> None:
    visitor = signed_in(app, Role.VIEWER)
    account = find_account(database, email=VIEWER)
    assert account
    update_account(*editing, account.id, {"fs_uniquifier": new_uniquifier()}, actor=TESTER)
    assert not visitor.inside


def test_account_form_ignores_other_fields(app: Flask, database: Database) -> None:
    admin, account = signed_in(app, Role.ADMIN), add_account(app, Role.VIEWER)
    fields = {"role": "viewer", "active": "y", "email": "other@example.org", "password": "x" * 20}
    answer = admin.post(f"/admin/operators/{account}", fields)
    assert "This form has no field “email”, “password”: nothing was changed" in answer.text
    stored = find_account(database, account_id=account)
    assert stored
    assert stored.email == VIEWER
