"""Typed values survive an ended session and a stale token, and a browser shows why its session ended."""

from __future__ import annotations

import re
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import func, select

from app.accounts.models import OperatorSession
from app.accounts.rules.roles import Role
from app.accounts.services.accounts import find_account
from app.audit.rules.records import AuditFilter
from app.audit.services import list_audit
from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from tests.builders.clock import MovableClock
from tests.console.authenticator import Authenticator, add_passkey
from tests.console.forms import form_of
from tests.console.visitor import PASSWORD, Visitor, add_account, email_of, signed_in
from tests.network.services.edits.kit import document

OWN = {"Sec-Fetch-Site": "same-origin"}
VIEWER = email_of(Role.VIEWER)
FIELDS = {"name": "Main <net>", "block_delay": "9", "seen": "x"}


def stored(page: Any) -> dict[str, str]:
    assert '<form method="post" action="/admin/chains/1"' in page.text
    return {name: value for name, value in form_of(page).items() if name != "csrf_token"}


def test_ended_session_returns_typed_values(operator: Visitor, clock: MovableClock) -> None:
    clock.forward(hours=2)
    answer = operator.post("/admin/chains/1", FIELDS | {"password": "secret"}, headers=OWN)
    assert answer.status_code == 401
    assert "Your session has ended" in answer.text
    assert stored(answer) == FIELDS
    assert 'data-who="operator@example.org"' in answer.text
    assert "next=/admin/account/kept" in answer.text.replace("%2F", "/")
    assert "secret" not in answer.text and "<net>" not in answer.text
    operator.sign_in(email_of(Role.OPERATOR))
    again = operator.post("/admin/chains/1", stored(answer))
    assert "Main &lt;net&gt;" in again.text, "sent again it is a form of the page"
    assert operator.get("/admin/account/kept").status_code == 200


def test_stale_token_returns_typed_values(operator: Visitor, database: Database) -> None:
    stale = operator.token()
    operator.post("/admin/sign-out")
    operator.sign_in(email_of(Role.OPERATOR))
    page = operator.client.post("/admin/chains/1", data=FIELDS | {"csrf_token": stale}, headers=OWN)
    assert page.status_code == 400
    assert stored(page) == FIELDS
    (fresh,) = re.findall(r'name="csrf_token" value="([^"]+)"', page.text)
    again = operator.client.post("/admin/chains/1", data=stored(page) | {"csrf_token": fresh})
    assert again.status_code == 200 and "expired" not in again.text
    assert document(database)["chains"][0]["name"] == "Ethereum"


def test_large_form_is_returned(operator: Visitor, clock: MovableClock) -> None:
    text = "\n".join(f"0x{n:040x}" for n in range(20_000))
    clock.forward(hours=2)
    answer = operator.post("/admin/blocked_addresses/new", {"text": text}, headers=OWN)
    assert answer.status_code == 401
    assert f"0x{19_999:040x}" in answer.text


def test_form_of_another_site_is_not_returned(operator: Visitor, clock: MovableClock) -> None:
    elsewhere = [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://evil.example"},
    ]
    for headers in ({}, *elsewhere):
        page = operator.client.post("/admin/chains/1", data=FIELDS, headers=headers)
        assert page.status_code == 400 and "Main" not in page.text, headers
    clock.forward(hours=2)
    for headers in ({}, *elsewhere):
        gone = operator.client.post("/admin/chains/1", data=FIELDS, headers=headers)
        assert gone.status_code == 302 and gone.location.startswith("/admin/sign-in"), headers


def test_origin_header_names_the_site(operator: Visitor) -> None:
    page = operator.client.post("/admin/chains/1", data=FIELDS, headers={"Origin": "http://localhost"})
    assert stored(page) == FIELDS


def test_expired_sign_in_page_returns(app: Flask) -> None:
    visitor = Visitor(app)
    fields = {"csrf_token": "old", "email": VIEWER, "password": PASSWORD, "next": "/admin/chains/"}
    answer = visitor.client.post("/admin/sign-in", data=fields, headers=OWN)
    assert answer.status_code == 302 and "next=/admin/chains/" in answer.location.replace("%2F", "/")
    page = visitor.get(answer.location).text
    assert "The page had expired. Sign in now." in page and PASSWORD not in page


def out(visitor: Visitor) -> str:
    """What a browser reads that is signed out."""
    answer = visitor.get("/admin/chains/", follow_redirects=True)
    assert "<h1>Sign in</h1>" in answer.text
    assert "Your session has ended." in answer.text
    return answer.text


@pytest.mark.every_database
def test_other_browser_shows_sign_out_everywhere(app: Flask, network: Flask, viewer: Visitor) -> None:
    there, third = Visitor(app), Visitor(app)
    there.sign_in(VIEWER)
    third.sign_in(VIEWER)
    assert viewer.get("/admin/account/").text.count('pill-good">this one') == 1
    viewer.post("/admin/account/sign-out-everywhere")
    assert not viewer.inside
    assert "You signed out everywhere from another browser." in out(there)
    answer = third.post("/admin/chains/1", FIELDS, headers=OWN)
    assert "You signed out everywhere from another browser." in answer.text
    assert stored(answer) == FIELDS
    assert "Your session has ended" not in viewer.get("/admin/sign-in").text
    for visitor in (there, third):
        assert "session has ended" not in visitor.get("/admin/sign-in").text, "said once"


def test_each_sign_out_shows_its_reason(app: Flask, network: Flask, admin: Visitor) -> None:
    account = add_account(app, Role.VIEWER)
    page = f"/admin/operators/{account}"
    shown_text = []
    for path, fields in (
        (f"{page}/end-sessions", {}),
        (page, {"role": "viewer", "active": "y", "second_factor_required": "y"}),
        (page, {"role": "viewer"}),
    ):
        visitor = Visitor(app)
        if "role" in fields and "active" not in fields:
            admin.post(page, {"role": "viewer", "active": "y"})
        visitor.sign_in(VIEWER)
        assert visitor.inside
        admin.post(path, fields)
        shown_text.append(out(visitor))
    assert "An administrator signed you out" in shown_text[0]
    assert "second factor of your account was changed or is now required" in shown_text[1]
    assert "Your account was turned off" in shown_text[2]


def test_passkey_reset_shows_its_reason(app: Flask, network: Flask) -> None:
    admin, visitor = signed_in(app, Role.ADMIN), signed_in(app, Role.VIEWER)
    assert add_passkey(visitor, Authenticator()).status_code == 302
    account = find_account(part_of(app, Database), email=VIEWER)
    assert account and account.tf_totp_secret is None, "the passkey is the only factor"
    admin.post(f"/admin/operators/{account.id}/reset-second-factor")
    assert "second factor of your account was changed or is now required" in out(visitor)


def test_one_session_is_signed_out(app: Flask, network: Flask, database: Database) -> None:
    here, there = signed_in(app, Role.VIEWER), Visitor(app)
    there.sign_in(VIEWER)
    foreign = signed_in(app, Role.OPERATOR)
    page = here.get("/admin/account/").text
    (action,) = re.findall(r'action="(/admin/account/sessions/\d+/sign-out)"', page)
    assert foreign.post(action).status_code == 302
    assert there.inside, "nobody ends a session of another account"
    assert "That browser is signed out." in here.post(action, follow_redirects=True).text
    assert here.inside
    assert "You signed this browser out from another browser." in out(there)
    assert "already ended" in here.post(action, follow_redirects=True).text
    assert [row.detail for row in list_audit(database, AuditFilter(action="sign_out"))] == [
        "one session, from another browser"
    ]


def test_ended_sessions_are_deleted(app: Flask, clock: MovableClock, database: Database) -> None:
    signed_in(app, Role.VIEWER).post("/admin/account/sign-out-everywhere")

    def rows() -> int:
        with reading(database.engine) as connection:
            return connection.scalar(select(func.count()).select_from(OperatorSession)) or 0

    clock.forward(hours=23)
    Visitor(app).sign_in(VIEWER)
    assert rows() == 2
    clock.forward(hours=1)
    Visitor(app).sign_in(VIEWER)
    assert rows() == 2
