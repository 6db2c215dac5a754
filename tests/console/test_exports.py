"""The CSV files of the console: no cell is a formula for the spreadsheet that opens it."""

from __future__ import annotations

import csv
import io

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from app.db.database import Database
from tests.console.projected import put
from tests.console.visitor import MovableClock, signed_in
from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, fill_network

FORMULAS = ('=HYPERLINK("http://x","y")', "+1+1", "-1+1", "@SUM(A1)", "\t=1+1", "\r=1+1", "\n=1+1")


EXPORTS = ("/admin/audit/export.csv", "/admin/transfers/export.csv")


def test_every_export_cell_is_guarded(app: Flask, sandbox: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that wrote its cells past the guard would show the bare value here."""
    monkeypatch.setattr("app.console.shell.formats.neutral_cell", lambda value: "guarded")
    admin = signed_in(app, Role.ADMIN)
    rules = [rule.rule for rule in app.url_map.iter_rules() if rule.rule.startswith("/admin/")]
    files = {rule for rule in rules if "csv" in rule or "<export_type>" in rule}
    assert files == set(EXPORTS), "every file is looked at here"
    for path in EXPORTS:
        answer = admin.get(path)
        assert (answer.status_code, answer.mimetype) == (200, "text/csv"), path
        _, *rows = csv.reader(io.StringIO(answer.text))
        assert {cell for row in rows for cell in row} == {"guarded"}, path


def test_a_transfer_is_no_formula(
    app: Flask, database: Database, clock: MovableClock, shared_database: SharedDatabase
) -> None:
    """What reporters send is written with an apostrophe before it; ids and amounts stay as they are."""
    clock.now = NOW
    fill_network(shared_database, database.engine)
    put(database, *({"status": 7, "since": 60, "symbol": f, "sender": f, "receiver": f} for f in FORMULAS))
    viewer, texts = signed_in(app, Role.VIEWER), {f"'{formula}" for formula in FORMULAS}

    def rows(path: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(viewer.get(path).data.decode(), newline="")))

    lines = rows("/admin/transfers/export.csv")
    for name in ("token", "sender", "receiver"):
        assert {line[name] for line in lines} == texts
    assert {line["transfer_id"] for line in lines} == {f"0x{n:064x}" for n in range(1, len(FORMULAS) + 1)}
    assert {line["amount_smallest_units"] for line in lines} == {"1"}


def test_empty_export_has_its_heading(app: Flask) -> None:
    lines = signed_in(app, Role.VIEWER).get("/admin/transfers/export.csv").text.splitlines()
    assert len(lines) == 1 and lines[0].startswith("transfer_id,status,state,")
