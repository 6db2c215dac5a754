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

OPENED: Final = {
    "operators.reset_second_factor", "operators.new_password", "operators.edit", "history.undo",
    "chains.stop", "chains.remove", "chains.restore", "connect.index", "webhooks.show", "api_keys.show",
}  # fmt: skip
"""Some of the pages that the addresses lead to: something there could be changed."""


def sent_by(app: Flask, method: str, addresses: list[tuple[Rule, str]]) -> list[tuple[Rule, str]]:
    """The addresses that have the method, and one of the console that has not, which the router refuses."""
    adapter = app.url_map.bind("localhost")
    having = [(rule, path) for rule, path in addresses if adapter.test(path.partition("?")[0], method)]
    others = [each for each in addresses if each not in having and each[1].startswith("/admin/")]
    return having + others[:1]


@pytest.mark.parametrize("role", ["", Role.ADMIN, *SLOW_ROLES])
def test_nothing_but_post_changes_a_row(
    app: Flask, database: Database, clock: MovableClock, addresses: list[tuple[Rule, str]], role: str
) -> None:
    """On every route of the application, with the fields that would save a form.

    HEAD, which a view takes for GET, has none, and answers as GET.
    """
    if role in (Role.VIEWER, Role.OPERATOR):
        add_account(app, Role(role))
    visitor = visitor_of(app, email_of(Role(role))) if role else Visitor(app)
    before, pages = everything(database), dict[str, tuple[int, str]]()
    opened = set[str]()
    clock.forward(minutes=2)
    for method in READING:
        fields = {} if method == "HEAD" else SAVING | {"csrf_token": visitor.token()}
        for rule, path in sent_by(app, method, addresses):
            answer = visitor.client.open(path, method=method, data=fields, environ_base=visitor.environ)
            assert answer.status_code < 500, (method, path, answer.status)
            shown = (answer.status_code, answer.location)
            if method == "GET":
                pages[path] = shown
                opened |= {rule.endpoint} if answer.status_code == 200 else set()
            elif method == "HEAD" and path.startswith("/admin/"):
                assert (shown, answer.data) == (pages.get(path, shown), b""), path
        after = everything(database)
        assert [name for name in after if after[name] != before[name]] == [], method
    assert visitor.inside == bool(role), "no session was ended"
    assert role != Role.ADMIN or opened >= OPENED


def test_view_never_sees_head(app: Flask, monkeypatch: pytest.MonkeyPatch, admin: Visitor) -> None:
    """One that changes on everything but GET would otherwise change without a token."""
    seen = list[str]()

    def view() -> str:
        seen.append(request.method)
        return ""

    monkeypatch.setitem(app.view_functions, "account.index", view)
    assert admin.client.head("/admin/account/", environ_base=admin.environ).status_code == 200
    assert seen == ["GET"]
