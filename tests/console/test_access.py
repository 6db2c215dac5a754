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

METHODS = ("GET", "POST")
OTHER_METHODS = ("HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE")
"""Those that a route does not have are refused to everybody. One function decides for all routes
(``app/console/shell/access.py``), so they are sent to one route for each kind of line in ``EXPECTED``."""

SIGN_OUT = "/admin/account/sign-out-everywhere"
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
    kinds, visitor = set[tuple[str, str]](), Visitor(app)
    for rule in console_rules(app):
        path, kind = path_of(app, rule), EXPECTED[rule.endpoint]
        if role and visitor.get(SMALL).status_code != 200:  # some routes end the visit
            visitor = visitor_of(app, email_of(Role(role)))
        for method in METHODS if kind in kinds else METHODS + OTHER_METHODS:
            needed = who_may(app, path, method)
            answer = (
                visitor.post(path)
                if method == "POST"
                else visitor.client.open(path, method=method, environ_base=visitor.environ)
            )
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
        kinds.add(kind)
    assert kinds == set(EXPECTED.values())


WRONG_TOKENS = ("", "wrong", "ImFiYyI.aaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbb")


def test_post_is_refused_without_token(app: Flask, admin: Visitor) -> None:
    """By every route without one, and by a route with a wrong one."""
    requested = 0
    for token in WRONG_TOKENS:
        answer = admin.client.post(SIGN_OUT, data={"csrf_token": token}, environ_base=admin.environ)
        assert answer.status_code == 400, token
    for rule in console_rules(app):
        if "POST" in (rule.methods or ()) and EXPECTED[rule.endpoint][1] != NOBODY:
            answer = admin.client.post(path_of(app, rule), environ_base=admin.environ)
            requested += 1
            assert answer.status_code == 400, rule.rule
            assert "This form has expired" in answer.text or "csrf" in answer.text.lower(), rule.rule
    assert requested > 10
    assert admin.inside, "nothing of it happened"
