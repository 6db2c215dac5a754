"""Notes on a transfer: written, read by everybody, removed by their writer, gone with their transfer."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from app.audit.rules.records import AuditFilter
from app.audit.services import list_audit
from app.db.database import Database
from app.feed.services.ingest import Intake
from app.feed.services.prune import prune
from app.feed.services.reprojection import replay
from app.sandbox.catalogue import SANDBOX_TRANSFERS
from app.transfers.models import NOTE_LENGTH
from app.transfers.services.notes import MOST_NOTES, count_notes
from app.values.codes import TransferHistoryStatus as Status
from tests.actors import TESTER
from tests.applications import Audited
from tests.builders.clock import MovableClock
from tests.console.visitor import Visitor, add_account, email_of, signed_in

COMPLETED = SANDBOX_TRANSFERS[7].transfer_id
PAGE = f"/admin/transfers/{COMPLETED}"
KEY = bytes.fromhex(COMPLETED[2:])


def notes_on_page(visitor: Visitor) -> list[str]:
    """The notes on the page, from its top."""
    page = visitor.get(PAGE).text
    return [unescape(text) for text in re.findall(r'<p class="note-text">(.*?)</p>', page, re.DOTALL)]


def written(visitor: Visitor, text: str) -> int:
    return visitor.post(f"{PAGE}/notes", {"text": text}).status_code


def remove_buttons(visitor: Visitor) -> list[str]:
    return re.findall(rf'action="({PAGE}/notes/\d+/remove)"', visitor.get(PAGE).text)


def test_everybody_reads_notes_newest_first(app: Flask, sandbox: Flask) -> None:
    operator = signed_in(app, Role.OPERATOR)
    assert written(operator, "  Asked the user for the hash.\r\nNo answer yet.\r\n\r\n") == 302
    assert written(operator, "<script>alert(1)</script>") == 302
    expected = ["<script>alert(1)</script>", "Asked the user for the hash.\nNo answer yet."]
    viewer = signed_in(app, Role.VIEWER)
    assert notes_on_page(viewer) == notes_on_page(operator) == expected
    assert "<script>alert" not in viewer.get(PAGE).text
    assert f"{PAGE}/notes" not in re.findall(r'action="([^"]*)"', viewer.get(PAGE).text)
    failed = next(each.transfer_id for each in SANDBOX_TRANSFERS if each.status == Status.TRANSFER_FAILED)
    assert 'class="noted"' not in viewer.get("/admin/transfers/?status=2").text
    operator.post(f"/admin/transfers/{failed}/notes", {"text": "known"})
    listed = viewer.get("/admin/transfers/?status=2").text
    assert f'class="noted" href="/admin/transfers/{failed}#notes">1 note</a>' in listed


def test_refused_note_stays_in_its_field(app: Flask, sandbox: Flask) -> None:
    operator = signed_in(app, Role.OPERATOR)
    long = "x" * NOTE_LENGTH + "y"
    answer = operator.post(f"{PAGE}/notes", {"text": long})
    assert answer.status_code == 200
    assert f">{long}</textarea>" in answer.text
    assert "Write a note of 1 to 2 000 characters; this has 2 001." in answer.text
    assert "Write a note of 1 to" in operator.post(f"{PAGE}/notes", {"text": " \n\0 "}).text
    assert notes_on_page(operator) == []
    assert operator.post(f"/admin/transfers/0x{'99' * 32}/notes", {"text": "x"}).status_code == 404


def test_writer_or_administrator_removes_note(app: Flask, sandbox: Flask) -> None:
    operator = signed_in(app, Role.OPERATOR)
    written(operator, "mine")
    written(operator, "mine, too")
    add_account(app, Role.OPERATOR, "other@example.org")
    other, admin = Visitor(app), signed_in(app, Role.ADMIN)
    other.sign_in("other@example.org")
    first, second = remove_buttons(operator)
    assert remove_buttons(other) == []
    assert "only its author" in other.post(first, follow_redirects=True).text
    assert len(notes_on_page(other)) == 2
    assert operator.post(first).status_code == 302
    assert remove_buttons(admin) == [second]
    admin.post(second)
    assert notes_on_page(admin) == []
    assert "was removed already" in admin.post(second, follow_redirects=True).text
    elsewhere = first.replace(COMPLETED, SANDBOX_TRANSFERS[8].transfer_id)
    written(operator, "again")
    admin.post(elsewhere)
    assert notes_on_page(admin) == ["again"], "the number belongs to another transfer's page"


def test_audit_log_omits_note_texts(app: Flask, sandbox: Flask, database: Database) -> None:
    operator = signed_in(app, Role.OPERATOR)
    written(operator, "Jane Doe of 5 High Street called")
    operator.post(remove_buttons(operator)[0])
    removed, added = list_audit(database, AuditFilter(), before=None, limit=2)
    assert (added.action, removed.action) == ("transfer.note", "transfer.remove_note")
    assert {added.actor, removed.actor} == {email_of(Role.OPERATOR)}
    assert added.subject == f"transfer {COMPLETED}"
    assert "Jane" not in f"{added}{removed}"


def test_replay_leaves_notes(app: Flask, sandbox: Flask, database: Database, audited: Audited) -> None:
    written(signed_in(app, Role.OPERATOR), "seen")
    with app.app_context():
        replay(*audited, actor=TESTER)
    assert count_notes(database, [KEY]) == {KEY: 1}


def test_notes_go_when_their_transfer_is_pruned(
    app: Flask, sandbox: Flask, database: Database, intake: Intake, audited: Audited, clock: MovableClock
) -> None:
    written(signed_in(app, Role.OPERATOR), "seen")
    assert count_notes(database, [KEY]) == {KEY: 1}
    clock.now += timedelta(days=60)
    with app.app_context():
        prune(*audited, intake, clock.now, actor=TESTER)
    assert count_notes(database, [KEY]) == {}


def test_there_is_a_bound(app: Flask, sandbox: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_NOTES < 1_000
    monkeypatch.setattr("app.transfers.services.notes.MOST_NOTES", 2)
    operator = signed_in(app, Role.OPERATOR)
    for text in ("one", "two", "three"):
        written(operator, text)
    assert notes_on_page(operator) == ["two", "one"]
