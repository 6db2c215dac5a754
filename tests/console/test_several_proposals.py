"""Several rows that wait together: seen by the second person as previewed, made as one or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from msgspec.structs import replace
from werkzeug.test import TestResponse

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.db.database import Database
from app.http.application import add_part
from app.network.edits.entered import Switch
from app.network.edits.save import preview_edit, save_edit
from config import GUARDABLE
from tests.actors import TESTER
from tests.applications import Audited, Editing, editing_of
from tests.console.connecting import BASE, PATH
from tests.console.documents import changed_file
from tests.console.forms import form_of, send
from tests.console.visitor import MovableClock, Visitor, add_account, signed_in
from tests.network.services.edits.kit import document, records
from tests.network.services.network_kit import text

WHY = {"change_reason": "agreed in ticket 7", "confirm": "1"}
PAGE = "/admin/proposals/1"
STOPPED = frozenset({1, 10})


@pytest.fixture
def guarded(app: Flask, network: Flask) -> Flask:
    """Everything is guarded, and two chains are stopped."""
    add_part(app, TwoPersons, TwoPersons(frozenset(GUARDABLE)))
    switch = Switch(STOPPED, True, "leak")
    save_edit(*editing_of(app), switch, actor=TESTER, typed="stop 2 chains")
    return app


def connect(visitor: Visitor) -> TestResponse:
    preview = send(visitor, PATH, **BASE)
    assert "Propose to connect Base?" in preview.text
    complaint = visitor.post(PATH, form_of(preview) | {"confirm": "1"})
    assert "enter a reason" in complaint.text.casefold()
    return visitor.post(PATH, form_of(complaint) | WHY)


def resume(visitor: Visitor) -> TestResponse:
    form = form_of(visitor.get("/admin/chains/resume?all=1")) | {"chain": ["1", "10"]}
    return visitor.post("/admin/chains/resume", form | WHY)


def take_over(visitor: Visitor) -> TestResponse:
    rows = changed_file()
    for row in rows["chains"]:
        if row["id"] in STOPPED:
            row |= {"disabled": True, "disabled_reason": "leak"}
    page = visitor.post("/admin/document/compare", {"text": text(rows).decode()})
    picks = {"whole": ["chains", "validators", "config_fields", "route_blocks"]}
    preview = visitor.post("/admin/document/apply", form_of(page) | picks)
    return visitor.post("/admin/document/apply", form_of(preview) | picks | WHY)


KINDS: dict[str, tuple[Callable[[Visitor], TestResponse], str, Callable[[dict[str, Any]], bool]]] = {
    "connect": (connect, "network.connect", lambda now: now["chains"][-1]["name"] == "Base"),
    "resume": (resume, "network.resume", lambda now: not any(row["disabled"] for row in now["chains"])),
    "document": (take_over, "network.import", lambda now: now["config_fields"][0]["name"] == "tag"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_second_person_makes_all_of_it(app: Flask, guarded: Flask, database: Database, kind: str) -> None:
    propose, action, made = KINDS[kind]
    visitor, before = signed_in(app, Role.ADMIN), document(database)
    assert propose(visitor).location == PAGE
    assert document(database) == before
    add_account(app, Role.OPERATOR)
    second = Visitor(app)
    second.sign_in("operator@example.org")
    page = second.get(PAGE)
    assert "Approve change" in page.text
    assert "Effects" in page.text
    assert second.post(f"{PAGE}/approve").location == PAGE
    assert made(document(database))
    record = next(row for row in records(database) if row.action == action)
    assert "proposed by admin@example.org, approved by operator@example.org" in record.detail
    assert second.get(f"/admin/audit/{record.id}").status_code == 200


def test_what_changed_since_is_a_conflict(
    app: Flask, guarded: Flask, editing: Editing, audited: Audited, database: Database
) -> None:
    visitor = signed_in(app, Role.ADMIN)
    resume(visitor)
    save_edit(*editing, Switch(frozenset({56}), True, "x"), actor=TESTER, typed="bnb chain")
    add_account(app, Role.OPERATOR)
    second = Visitor(app)
    second.sign_in("operator@example.org")
    assert "cannot be approved" not in second.get(PAGE).text, "another chain is no matter"
    alone, resumed = TwoPersons(), Switch(frozenset({1}), False)
    seen = preview_edit(database, alone, resumed).fingerprint
    save_edit(*audited, alone, replace(resumed, shown=seen), actor=TESTER)
    assert "It cannot be approved." in second.get(PAGE).text
    second.post(f"{PAGE}/approve")
    assert [row["disabled"] for row in document(database)["chains"]] == [False, True, True]


def test_opening_validators_ask_who_it_is(app: Flask, network: Flask, clock: MovableClock) -> None:
    admin = signed_in(app, Role.ADMIN)
    form = form_of(admin.get("/admin/validators/10/opening"))
    clock.forward(minutes=11)
    assert 'name="step_up-password"' in admin.post("/admin/validators/10/opening", form).text
