"""Setting up one-time codes: a wrong code costs nothing but another try."""

from __future__ import annotations

import re

from flask import Flask
from werkzeug.test import TestResponse

from app.accounts.rules.roles import Role
from tests.console.second_factor import VIEWER, code_of
from tests.console.visitor import Visitor, add_account, signed_in

SETUP = "/admin/account/second-factor"
WRONG = "Wrong code"


def key_of(page: TestResponse) -> str:
    found = re.search(r'class="mono break">([^<]+)<', page.text)
    assert found, page.text
    return found[1]


def action_of(page: TestResponse) -> str:
    found = re.search(r'<form method="post" action="([^"]+)"', page.text)
    assert found
    return found[1]


def assert_asked_again(page: TestResponse, key: str) -> None:
    assert page.status_code == 200
    assert key_of(page) == key
    assert "data:image/svg+xml" in page.text
    assert page.text.count(WRONG) == 1, "said once, beside the field"
    (field,) = re.findall(r'<input[^>]* name="code"[^>]*>', page.text)
    assert "autofocus" in field and 'aria-invalid="true"' in field


def test_a_wrong_code_keeps_the_secret(app: Flask) -> None:
    visitor = signed_in(app, Role.VIEWER)
    page = visitor.post(SETUP, {"setup": "authenticator"})
    key = key_of(page)
    for _ in range(2):
        page = visitor.post(action_of(page), {"code": "000000"})
        assert_asked_again(page, key)
    assert WRONG not in visitor.get("/admin/account/").text
    assert key_of(visitor.post(SETUP, {"setup": "authenticator"})) == key, "begun again, the app has it still"
    answer = visitor.post(action_of(page), {"code": code_of(key)})
    assert answer.status_code == 302
    again = visitor.post(SETUP, {"setup": "authenticator"})
    assert key_of(again) != key, "what is confirmed is not given again"


def test_at_the_first_sign_in_too(app: Flask) -> None:
    add_account(app, Role.VIEWER, second_factor_required=True)
    visitor = Visitor(app)
    visitor.sign_in(VIEWER)
    key = key_of(visitor.post(SETUP, {"setup": "authenticator"}))
    page = visitor.post("/admin/sign-in/code", {"code": "000000"})
    assert_asked_again(page, key)
    assert not visitor.inside
    visitor.post(action_of(page), {"code": code_of(key)})
    assert visitor.inside


def test_nobody_gets_the_secret_of_another(app: Flask) -> None:
    for role in (Role.VIEWER, Role.OPERATOR):
        add_account(app, role, second_factor_required=True)
    visitor = Visitor(app)
    visitor.sign_in(VIEWER)
    key = key_of(visitor.post(SETUP, {"setup": "authenticator"}))
    visitor.sign_in("operator@example.org")
    assert key_of(visitor.post(SETUP, {"setup": "authenticator"})) != key


def test_wrong_sign_in_code_shows_no_secret(app: Flask) -> None:
    visitor = signed_in(app, Role.VIEWER)
    page = visitor.post(SETUP, {"setup": "authenticator"})
    key = key_of(page)
    visitor.post(action_of(page), {"code": code_of(key)})
    other = Visitor(app)
    other.sign_in(VIEWER)
    refused = other.post("/admin/sign-in/code", {"code": "000000"})
    assert WRONG in refused.text and "data:image/svg+xml" not in refused.text and key not in refused.text
