"""Which methods change anything: of the console only POST, elsewhere those of the interface."""

from __future__ import annotations

from typing import Any, Final

import pytest
from flask import Flask, request
from sqlalchemy import text
from werkzeug.routing import Rule

from app.accounts.rules.roles import Role
from app.db.database import Database
from app.sandbox.catalogue import SANDBOX_TRANSFERS
from tests.applications import OpenApp
from tests.builders.clock import MovableClock
from tests.console.second_factor import set_up
from tests.console.visitor import Visitor, add_account, email_of, visitor_of
from tests.console.walking import record_activity
from tests.databases import TABLES

READING: Final = ("GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE")
"""Every method but POST. None of them changes anything in the console."""

MAY_CHANGE: Final = {
    "operator_sessions": {"seen_at"}  # when the console was last used, to the minute
}
"""The columns that a request which reads may write, by table."""

OWNER = "owner@example.org"
"""The account that the addresses of *Operators* name. It has a second factor."""


@pytest.fixture
def app(open_app: OpenApp) -> Flask:
    return open_app(two_persons=("pegged_pairs",))


@pytest.fixture
def addresses(app: Flask, sandbox: Flask, database: Database) -> list[tuple[Rule, str]]:
    """For every route of the application an address whose rows exist."""
    admin = record_activity(app)
    owner_id = add_account(app, Role.VIEWER, OWNER)
    owner = Visitor(app)
    owner.sign_in(OWNER)
    set_up(owner)
    transfer_id = SANDBOX_TRANSFERS[6].transfer_id
    admin.post(f"/admin/transfers/{transfer_id}/notes", {"text": "asked by its owner"})
    found: dict[str, Any] = {
        "filename": "console.css",
        "path": "index.html",
        "name": "GetTransferConfigs",
        "key": 1,
        "transfer_id": transfer_id,
        "note_id": _one(database, "SELECT min(id) FROM transfer_notes"),
        "proposal_id": _one(database, "SELECT min(id) FROM proposals"),
        "record_id": _one(database, "SELECT max(record_id) FROM audit_subjects WHERE subject = 'chain 137'"),
        "number": 0,
        "chain": 137,
        "chain_id": 137,
        "version": 0,
        "public_id": _one(database, "SELECT min(public_id) FROM webhook_subscriptions"),
        "delivery_id": _one(database, "SELECT min(id) FROM webhook_deliveries"),
        "account_id": owner_id,
        "row_id": 1,
        "session_id": _one(database, "SELECT min(id) FROM operator_sessions"),
        "token": "token",
    }
    special: dict[str, dict[str, Any]] = {
        "pages.transfer": {"key": transfer_id},
        "pages.static": {"filename": "page.css"},
        **{f"chains.{name}": {"key": 137} for name in ("edit", "remove", "stop", "resume")},
    }
    adapter = app.url_map.bind("localhost")
    rules = [rule for rule in app.url_map.iter_rules() if not rule.redirect_to]
    values = [found | special.get(rule.endpoint, {}) for rule in rules]
    paths = [
        adapter.build(rule.endpoint, {name: known[name] for name in rule.arguments})
        for rule, known in zip(rules, values, strict=True)
    ]
    of_before = [rule.endpoint.endswith(".restore") for rule in rules]
    paths = [f"{path}?before=1" if before else path for path, before in zip(paths, of_before, strict=True)]
    return list(zip(rules, paths, strict=True))


def _one(database: Database, statement: str) -> Any:
    with database.engine.connect() as connection:
        return connection.scalar(text(statement))


def everything(database: Database) -> dict[str, list[str]]:
    """The rows of every table, without what a read may change."""
    with database.engine.connect() as connection:
        tables: dict[str, list[str]] = {}
        for name in TABLES:
            left_out = MAY_CHANGE.get(name, set())
            rows = connection.execute(text(f'SELECT * FROM "{name}"')).mappings()
            tables[name] = sorted(str({key: row[key] for key in row if key not in left_out}) for row in rows)
        return tables


SAVING: Final = {"confirm": "1", "change_reason": "of the test", "typed": "a-wallet", "demanded": "1"}
"""Fields that save a form which is sent with them."""


SLOW_ROLES: Final = [pytest.param(role, marks=pytest.mark.slow) for role in (Role.VIEWER, Role.OPERATOR)]
"""An administrator may do all that these may."""


@pytest.mark.parametrize("role", ["", Role.ADMIN, *SLOW_ROLES])
def test_nothing_but_post_changes_a_row(
    app: Flask, database: Database, clock: MovableClock, addresses: list[tuple[Rule, str]], role: str
) -> None:
    """On every route of the application, with the fields that would save a form."""
    if role in (Role.VIEWER, Role.OPERATOR):
        add_account(app, Role(role))
    visitor = visitor_of(app, email_of(Role(role))) if role else Visitor(app)
    before = everything(database)
    clock.forward(minutes=2)
    for method in READING:
        for _, path in addresses:
            for fields in ({}, SAVING) if method == "GET" else (SAVING,):
                token = {"csrf_token": visitor.token()} if fields else {}
                answer = visitor.client.open(
                    path, method=method, data=fields | token, environ_base=visitor.environ
                )
                assert answer.status_code < 500, (method, path, answer.status)
        after = everything(database)
        assert [name for name in after if after[name] != before[name]] == [], method
    assert visitor.inside == bool(role), "no session was ended"


def test_head_answers_as_get_without_body(app: Flask, addresses: list[tuple[Rule, str]]) -> None:
    visitor = visitor_of(app, email_of(Role.ADMIN))
    opened = set[str]()
    for rule, path in addresses:
        if rule.rule.startswith("/admin/"):
            page, head = visitor.get(path), visitor.client.head(path, environ_base=visitor.environ)
            assert (head.status_code, head.location, head.data) == (page.status_code, page.location, b""), (
                path
            )
            opened |= {rule.endpoint} if page.status_code == 200 else set()
    needed = {"operators.reset_second_factor", "operators.new_password", "operators.edit", "history.undo"}
    needed |= {
        "chains.stop",
        "chains.remove",
        "chains.restore",
        "connect.index",
        "webhooks.show",
        "api_keys.show",
    }
    assert needed - opened == set(), "the addresses lead to something that could be changed"


def test_view_never_sees_head(app: Flask, monkeypatch: pytest.MonkeyPatch, admin: Visitor) -> None:
    """One that changes on everything but GET would otherwise change without a token."""
    seen = list[str]()

    def view() -> str:
        seen.append(request.method)
        return ""

    monkeypatch.setitem(app.view_functions, "account.index", view)
    assert admin.client.head("/admin/account/", environ_base=admin.environ).status_code == 200
    assert seen == ["GET"]
