"""The audit log answers who changed a row, also where it was one of many, and until today."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import text

from app.accounts.rules.roles import Role
from app.audit.rules import records
from app.credentials.services.issued import KEYS, TOKENS
from app.db.database import Database
from tests.builders.clock import MovableClock
from tests.console.forms import save, send
from tests.console.visitor import Visitor, other_operator, signed_in
from tests.network.services.edits.kit import shown

ROOT = Path(__file__).resolve().parents[2]


def find_records(visitor: Visitor, **query: str) -> list[str]:
    """The numbers of the records that the page lists."""
    page = visitor.get("/admin/audit/", query_string=query).text
    return re.findall(r'class="row-link" href="/admin/audit/(\d+)"', page)


def test_search_finds_author_of_bulk_edit(app: Flask, operator: Visitor, database: Database) -> None:
    path = f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}"
    seen = operator.get(path)
    fees = {"dst_chain_id": "56", "symbol": "", "how": "factor", "factor": "1.5", "amount": ""}
    other = other_operator(app)
    assert save(other, "/admin/routes/base-fees", **fees)
    conflict = send(operator, path, seen, base_fee="7", confirm="1")
    assert "Changed while you were editing" in conflict.text
    (link,) = re.findall(r'href="([^"]+)">Who changed it', conflict.text)
    listed = operator.get(link.replace("&amp;", "&")).text
    assert "network: base fees" in listed
    assert find_records(operator, subject="usdt", action="network.base_fees")
    assert find_records(operator, actor="operator@ex", action="network") == []
    assert find_records(operator, subject="no such row") == []


def test_log_finds_chain_by_name(operator: Visitor) -> None:
    """Pages show the name, and the log has the id."""
    save(operator, "/admin/chains/10", block_delay="77")
    assert find_records(operator, subject="optimism") == find_records(operator, subject="chain 10") != []


@pytest.mark.every_database
def test_until_today_includes_today(app: Flask, operator: Visitor, clock: MovableClock) -> None:
    save(operator, "/admin/chains/1", name="Mainnet")
    newest = find_records(operator)[0]
    today = clock.now.date().isoformat()
    assert find_records(operator, until=today)[0] == newest
    assert find_records(operator, since=today, until=today)[0] == newest
    clock.forward(days=1)
    visitor = signed_in(app, Role.VIEWER)
    assert int(find_records(visitor)[0]) > int(newest), "the sign-in of the next day"
    assert find_records(visitor, until=today)[0] == newest
    assert visitor.get("/admin/audit/?until=9999-12-31").status_code == 200


WRITERS = ("record", "record_separately", "record_change", "_record", "Description", "Edits")
"""Functions and classes that are given the action of a record."""


def kinds_written() -> set[str]:
    """What stands before the dot in every action that the code gives to one of them.

    Most actions are literals; those that end in a variable begin with their kind. Those of keys and tokens
    begin with how they are called.
    """
    found = {kind.action("").removesuffix(".") for kind in (KEYS, TOKENS)}
    for path in sorted((ROOT / "app").rglob("*.py")):
        source = path.read_text()
        if not any(f"{name}(" in source for name in WRITERS):
            continue  # to parse every file takes a second
        for call in ast.walk(ast.parse(source)):
            if isinstance(call, ast.Call) and getattr(call.func, "id", None) in WRITERS:
                texts = list(filter(None, (_beginning(argument) for argument in call.args)))
                actions = [text for text in texts if re.fullmatch(r"[a-z_]+\.[a-z_]*", text)]
                alone = [text for text in texts if text in {"sign_in", "sign_out"}]
                found.update(text.partition(".")[0] for text in actions + alone)
    return found


def _beginning(argument: ast.expr) -> str | None:
    """The text of an argument, or how it begins."""
    if isinstance(argument, ast.Name):
        argument = ast.Constant(getattr(records, argument.id, None))
    if isinstance(argument, ast.JoinedStr):
        argument = argument.values[0]
    reported = argument.value if isinstance(argument, ast.Constant) else None
    return reported if isinstance(reported, str) else None


def test_filter_offers_the_kinds_written(operator: Visitor) -> None:
    page = operator.get("/admin/audit/").text
    (select,) = re.findall(r'<select[^>]* name="action".*?</select>', page, re.DOTALL)
    assert sorted(re.findall(r'<option value="(\w+)"', select)) == sorted(kinds_written())


def test_record_altered_in_database_is_named(operator: Visitor, database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE audit_records SET at = 'soon' WHERE id = 1"))
    for path in ("/admin/audit/", "/admin/audit/1"):
        page = operator.get(path)
        assert page.status_code == 500, path
        assert "Record 1 cannot be read: it was changed in the database" in page.text, path
        assert "flask --app wsgi audit verify" in page.text
