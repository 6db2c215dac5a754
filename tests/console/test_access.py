"""Who may do what: every route and method of the console, for everybody. And no change without a token."""

from __future__ import annotations

import pytest
from flask import Flask
from werkzeug.exceptions import MethodNotAllowed

from app.accounts.rules.roles import Role
from tests.console.roles import ADMIN, ANYONE, EXPECTED, NOBODY, OPERATOR, VIEWER, console_rules, path_of
from tests.console.visitor import Visitor, add_account, email_of, visitor_of

RANKS = {"": 0, VIEWER: 1, OPERATOR: 2, ADMIN: 3}
NEEDED = {ANYONE: 0, VIEWER: 1, OPERATOR: 2, ADMIN: 3, NOBODY: 9}

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE")
"""Those that a route does not have are refused to everybody."""

SMALL = "/admin/account/"
"""A page for everybody who is signed in that reads little."""


def test_every_route_has_a_line(app: Flask) -> None:
    routes = {rule.endpoint for rule in console_rules(app)}
    assert routes == set(EXPECTED), "EXPECTED of tests/console/roles.py has each route, who may GET and POST"


def test_sign_in_library_adds_no_commands(app: Flask) -> None:
    """Its own change accounts past the audit log and the second person."""
    assert {"users", "roles"}.isdisjoint(app.cli.commands)


def who_may(app: Flask, path: str, method: str) -> str:
    """Who may use a method of an address, by the table."""
    try:
        endpoint, _ = app.url_map.bind("localhost").match(path, method)
    except MethodNotAllowed:
        return NOBODY
    return EXPECTED[endpoint][method == "POST"]


@pytest.mark.parametrize("role", ["", VIEWER, OPERATOR, ADMIN])
def test_roles_may_use_their_routes(app: Flask, role: str) -> None:
    if role:
        add_account(app, Role(role))
    requested, visitor = 0, Visitor(app)
    for rule in console_rules(app):
        path = path_of(app, rule)
        if role and visitor.get(SMALL).status_code != 200:  # some routes end the visit
            visitor = visitor_of(app, email_of(Role(role)))
        for method in METHODS:
            needed = who_may(app, path, method)
            answer = (
                visitor.post(path)
                if method == "POST"
                else visitor.client.open(path, method=method, environ_base=visitor.environ)
            )
            requested += 1
            place = f"{method} {path} as {role or 'nobody'}: {answer.status}"
            assert answer.status_code < 500, place
            if needed == NOBODY:
                assert answer.status_code in (404, 405), place
            elif RANKS[role] >= NEEDED[needed]:
                assert answer.status_code != 403, place
                assert "next=" not in (answer.location or ""), place
            elif role:
                assert answer.status_code == 403, place
            else:
                assert answer.status_code == 302, place
                assert answer.location.startswith("/admin/sign-in"), place
    assert requested == len(METHODS) * len(console_rules(app)) >= len(METHODS) * len(EXPECTED)


@pytest.mark.parametrize("token", [None, "", "wrong", "ImFiYyI.aaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbb"])
def test_post_is_refused_without_token(app: Flask, token: str | None, admin: Visitor) -> None:
    fields = {} if token is None else {"csrf_token": token}
    requested = 0
    for rule in console_rules(app):
        if "POST" in (rule.methods or ()) and EXPECTED[rule.endpoint][1] != NOBODY:
            answer = admin.client.post(path_of(app, rule), data=fields, environ_base=admin.environ)
            requested += 1
            assert answer.status_code == 400, rule.rule
            assert "This form has expired" in answer.text or "csrf" in answer.text.lower(), rule.rule
    assert requested > 10
    assert admin.inside, "nothing of it happened"


def test_every_answer_has_console_headers(admin: Visitor) -> None:
    for path in (
        "/admin/",
        "/admin/nothing",
        "/admin/operators/",
        "/admin/static/console.css",
        "/admin/sign-in",
    ):
        headers = admin.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "no-store" in headers["Cache-Control"]
        assert "Access-Control-Allow-Origin" not in headers
