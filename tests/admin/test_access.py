"""Who may do what: every route and method of the console, for everybody. And no change without a token."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from werkzeug.routing import Rule

from app.domain.operators import Role
from tests.admin.visitor import Visitor, add_account, email_of, signed_in

ANYONE, VIEWER, OPERATOR, ADMIN, NOBODY = "anyone", "viewer", "operator", "admin", "nobody"
RANKS = {"": 0, VIEWER: 1, OPERATOR: 2, ADMIN: 3}
NEEDED = {ANYONE: 0, VIEWER: 1, OPERATOR: 2, ADMIN: 3, NOBODY: 9}

SMALL = "/admin/account/"
"""A page for everybody who is signed in that reads little."""
LISTED = {"index_view": (VIEWER, NOBODY), "export": (VIEWER, NOBODY)}


def of_view(name: str, routes: dict[str, tuple[str, str]]) -> dict[str, tuple[str, str]]:
    return {f"{name}.{route}": who for route, who in routes.items()}


EDITED = LISTED | {"new": (OPERATOR, OPERATOR), "edit": (VIEWER, OPERATOR)}
EDITED |= dict.fromkeys(("remove", "restore"), (OPERATOR, OPERATOR))

SWITCHED = dict.fromkeys(("stop", "resume", "stop_several", "resume_several"), (OPERATOR, OPERATOR))
EXPECTED: dict[str, tuple[str, str]] = {
    "console.static": (ANYONE, NOBODY),
    "admin.index": (VIEWER, NOBODY),
    "admin.refresh": (VIEWER, NOBODY),
    "security.static": (NOBODY, NOBODY),
    "security.login": (ANYONE, ANYONE),
    "security.logout": (NOBODY, VIEWER),
    "security.change_password": (VIEWER, VIEWER),
    "security.two_factor_setup": (ANYONE, ANYONE),
    "security.two_factor_setup_validate": (NOBODY, VIEWER),
    "security.two_factor_token_validation": (ANYONE, ANYONE),
    "security.two_factor_rescue": (NOBODY, NOBODY),
    "security.tf_select": (NOBODY, NOBODY),
    "security.mf_recovery": (ANYONE, ANYONE),
    "security.mf_recovery_codes": (NOBODY, NOBODY),
    "security.wan_signin": (ANYONE, ANYONE),
    "security.wan_signin_response": (NOBODY, ANYONE),
    "security.wan_register": (VIEWER, VIEWER),
    "security.wan_register_response": (NOBODY, VIEWER),
    "security.wan_delete": (NOBODY, VIEWER),
    "account.index": (VIEWER, NOBODY),
    "account.recovery_codes": (VIEWER, VIEWER),
    "account.sign_out_everywhere": (NOBODY, VIEWER),
    "transfers.index": (VIEWER, NOBODY),
    "transfers.transfer": (VIEWER, NOBODY),
    "transfers.add_note": (NOBODY, OPERATOR),
    "transfers.remove_note": (NOBODY, OPERATOR),
    "transfers.save_filter": (NOBODY, VIEWER),
    "transfers.remove_filter": (NOBODY, VIEWER),
    "search.index": (VIEWER, NOBODY),
    "estimates.index": (VIEWER, NOBODY),
    "audit.index": (VIEWER, NOBODY),
    "audit.record": (VIEWER, NOBODY),
    "audit.export_csv": (VIEWER, NOBODY),
    "audit.export_lines": (VIEWER, NOBODY),
    "account.kept": (VIEWER, NOBODY),
    "account.sign_out_one": (NOBODY, VIEWER),
    "transfers.export_csv": (VIEWER, NOBODY),
    "transfers.acknowledge": (NOBODY, OPERATOR),
    "audit.verify": (NOBODY, VIEWER),
    "operators.index_view": (ADMIN, NOBODY),
    "operators.export": (ADMIN, NOBODY),
    "operators.new": (ADMIN, ADMIN),
    "operators.edit": (ADMIN, ADMIN),
    "operators.end_sessions": (NOBODY, ADMIN),
    "operators.reset_second_factor": (NOBODY, ADMIN),
    "operators.new_password": (NOBODY, ADMIN),
    "operators.demand_second_factor": (NOBODY, ADMIN),
    **of_view("chains", EDITED | SWITCHED),
    **of_view("tokens", EDITED),
    **of_view("pools", EDITED),
    **of_view("routes", EDITED | {"base_fees": (OPERATOR, OPERATOR)}),
    **of_view("route_blocks", EDITED),
    **of_view("pegged_pairs", EDITED),
    **of_view("blocked_addresses", EDITED | {"add_many": (OPERATOR, OPERATOR)}),
    **of_view("blocked_networks", EDITED | {"add_many": (OPERATOR, OPERATOR)}),
    **of_view("anomalies", LISTED | {"acknowledge": (NOBODY, OPERATOR)}),
    **of_view("refund_asks", LISTED),
    "connect.index": (OPERATOR, OPERATOR),
    **of_view("document", dict.fromkeys(("index", "export", "at"), (VIEWER, NOBODY))),
    "document.compare": (NOBODY, VIEWER),
    "document.apply": (NOBODY, ADMIN),
    **of_view("history", dict.fromkeys(("index", "row", "at", "at_document"), (VIEWER, NOBODY))),
    "proposals.index": (VIEWER, NOBODY),
    "proposals.show": (VIEWER, NOBODY),
    "proposals.approve": (NOBODY, OPERATOR),
    "proposals.reject": (NOBODY, OPERATOR),
    "proposals.withdraw": (NOBODY, VIEWER),
    "validators.index": (VIEWER, NOBODY),
    "validators.opening": (ADMIN, ADMIN),
    "webhooks.index": (OPERATOR, NOBODY),
    "webhooks.new": (OPERATOR, OPERATOR),
    "webhooks.show": (OPERATOR, NOBODY),
    **of_view(
        "webhooks",
        dict.fromkeys(("pause", "resume", "test", "replay", "rotate", "remove"), (NOBODY, OPERATOR)),
    ),
    "watching.index": (VIEWER, NOBODY),
    "watching.show": (VIEWER, NOBODY),
    "watching.stop": (NOBODY, OPERATOR),
    "watching.start": (NOBODY, OPERATOR),
    "ingest_tokens.index_view": (ADMIN, NOBODY),
    "ingest_tokens.export": (ADMIN, NOBODY),
    "ingest_tokens.new": (ADMIN, ADMIN),
    "ingest_tokens.show": (ADMIN, NOBODY),
    "ingest_tokens.revoke": (NOBODY, ADMIN),
    "ingest_tokens.rotate": (NOBODY, ADMIN),
    "api_keys.index_view": (OPERATOR, NOBODY),
    "api_keys.export": (OPERATOR, NOBODY),
    "api_keys.new": (ADMIN, ADMIN),
    "api_keys.show": (OPERATOR, NOBODY),
    "api_keys.revoke": (NOBODY, ADMIN),
}
"""Who may read and who may change through each endpoint. A route that is not here fails the test."""


def console_rules(app: Flask) -> list[Rule]:
    return [rule for rule in app.url_map.iter_rules() if rule.rule.startswith("/admin")]


def path_of(app: Flask, rule: Rule) -> str:
    values: dict[str, Any] = dict.fromkeys(rule.arguments, "0")
    values |= {"export_type": "csv"} if "export_type" in rule.arguments else {}
    values |= {"filename": "console.css"} if "filename" in rule.arguments else {}
    with app.test_request_context():
        return app.url_map.bind("localhost").build(rule.endpoint, values)


def test_every_route_has_a_line_here(app: Flask) -> None:
    assert {rule.endpoint for rule in console_rules(app)} == set(EXPECTED)


@pytest.mark.parametrize("role", ["", VIEWER, OPERATOR, ADMIN])
def test_the_matrix(app: Flask, role: str) -> None:
    if role:
        add_account(app, Role(role))
    asked, visitor = 0, Visitor(app)
    for rule in console_rules(app):
        path = path_of(app, rule)
        if role and visitor.get(SMALL).status_code != 200:  # some routes end the visit
            visitor = Visitor(app)
            visitor.sign_in(email_of(Role(role)))
        for method in sorted(rule.methods or ()):
            needed = EXPECTED[rule.endpoint][method == "POST"]
            answer = (
                visitor.post(path)
                if method == "POST"
                else visitor.client.open(path, method=method, environ_base=visitor.environ)
            )
            asked += 1
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
    assert asked > 60


@pytest.mark.parametrize("token", [None, "", "wrong", "ImFiYyI.aaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbb"])
def test_no_change_without_the_forms_own_token(app: Flask, token: str | None) -> None:
    visitor = signed_in(app, Role.ADMIN)
    fields = {} if token is None else {"csrf_token": token}
    asked = 0
    for rule in console_rules(app):
        if "POST" in (rule.methods or ()) and EXPECTED[rule.endpoint][1] != NOBODY:
            answer = visitor.client.post(path_of(app, rule), data=fields, environ_base=visitor.environ)
            asked += 1
            assert answer.status_code == 400, rule.rule
            assert "This form has expired" in answer.text or "csrf" in answer.text.lower(), rule.rule
    assert asked > 10
    assert visitor.inside, "nothing of it happened"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE"])
def test_other_methods_are_refused(app: Flask, method: str) -> None:
    visitor = signed_in(app, Role.ADMIN)
    for rule in console_rules(app):
        answer = visitor.client.open(path_of(app, rule), method=method, environ_base=visitor.environ)
        assert answer.status_code == 405, rule.rule


def test_every_answer_has_the_headers_of_the_console(app: Flask) -> None:
    visitor = signed_in(app, Role.ADMIN)
    for path in (
        "/admin/",
        "/admin/nothing",
        "/admin/operators/",
        "/admin/static/console.css",
        "/admin/sign-in",
    ):
        headers = visitor.get(path).headers
        policy = headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "no-store" in headers["Cache-Control"]
        assert "Access-Control-Allow-Origin" not in headers
