"""Blocking one or many."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask

from app.accounts.rules.two_persons import TwoPersons
from app.audit.previews import Preview, Severity
from app.console.network.blocks import MAX_LINES, BlockLines, InvalidLine, read_blocks
from app.db.database import Database
from app.http.application import part_of
from app.network.edits.refusals import Invalid
from app.network.edits.save import preview_edit, save_edit
from app.network.snapshot import SnapshotSource
from tests.amounts import few_or_many
from tests.applications import Editing
from tests.network.services import network_kit as kit
from tests.network.services.edits.kit import ALICE, NOON, add_transfer, document, records, versions

ONE = "0x00000000000000000000000000000000000000C1"
TWO = "0x00000000000000000000000000000000000000c2"
THREE = "0x00000000000000000000000000000000000000C3"


def addresses(text: str, **shared: Any) -> BlockLines:
    return read_blocks("blocked_addresses", text, shared)


def networks(text: str, **shared: Any) -> BlockLines:
    return read_blocks("blocked_networks", text, shared)


def preview_of(app: Flask, lines: BlockLines) -> Preview:
    """The preview of the good lines."""
    return preview_edit(part_of(app, Database), part_of(app, TwoPersons), lines.good)


def outcome(app: Flask, lines: BlockLines) -> tuple[list[str], ...]:
    """What is added, extended and stays as it is."""
    return tuple(lines.good.by_outcome(preview_of(app, lines)).values())


def blocked(database: Database, section: str = "blocked_addresses") -> dict[str, dict[str, Any]]:
    return {row["address" if "address" in row else "cidr"]: row for row in document(database)[section]}


PASTED = f"""\ufeff{ONE.lower()}
{TWO}\t

# from the second list
 {kit.VILLAIN.lower()}
{ONE}
cosmos1qqqq
"""


def test_several_are_sorted_and_added(
    app: Flask, database: Database, snapshots: SnapshotSource, editing: Editing
) -> None:
    edit = addresses(PASTED, reason="shared", source="list 7", expires_at="2028-01-01T00:00:00+01:00")
    added = [ONE, TWO, "cosmos1qqqq"]
    assert outcome(app, edit) == (added, [], [kit.VILLAIN])
    assert (edit.repeated, edit.invalid) == (1, ())
    before, version = blocked(database), versions(database)

    saved = save_edit(*editing, edit.edit, actor=ALICE, reason="ticket 7")
    shared = {"reason": "shared", "source": "list 7", "expires_at": "2027-12-31T23:00:00Z"}
    assert blocked(database) == before | {each: {"address": each} | shared for each in added}
    assert versions(database) == version | {"blocked_addresses": version["blocked_addresses"] + 1}
    (record,) = records(database)
    assert (record.id, record.action, record.subject) == (
        saved.record_id,
        "network.block",
        "3 blocked_addresses",
    )
    assert record.detail.endswith("; note: ticket 7")
    assert len(json.loads(record.changes)) == 3
    assert save_edit(*editing, edit.edit, actor=ALICE).record_id is None
    assert snapshots.current().blocked_addresses.blocks("COSMOS1QQQQ", NOON)


def test_longer_block_extends_shorter_does_not(app: Flask, database: Database, editing: Editing) -> None:
    save_edit(*editing, addresses(f"{ONE}\n{TWO}", expires_at="2026-11-19T00:00:00Z").edit, actor=ALICE)
    save_edit(*editing, addresses(THREE, reason="for good").edit, actor=ALICE)
    earlier = addresses(TWO, reason="new", expires_at="2026-11-01T00:00:00Z")
    assert outcome(app, earlier) == ([], [], [TWO])
    save_edit(*editing, earlier.edit, actor=ALICE)
    edit = addresses(f"{ONE}\n{THREE}", reason="new", expires_at="2026-12-01T00:00:00Z")
    assert outcome(app, edit) == ([], [ONE], [THREE])
    save_edit(*editing, edit.edit, actor=ALICE)
    after = blocked(database)
    assert (after[ONE]["expires_at"], after[ONE]["reason"]) == ("2026-12-01T00:00:00Z", "new")
    assert after[TWO]["expires_at"] == "2026-11-19T00:00:00Z"
    assert (after[THREE]["expires_at"], after[THREE]["reason"]) == (None, "for good")


WRONG = [
    ("0x1234", "address must have 40 or 64 hex digits after 0x"),
    ("a b", "address must not contain spaces or control characters"),
    (f"{ONE},stolen", "must be a single entry: no commas, semicolons or tabs"),
    (f"{ONE};{THREE}", "must be a single entry: no commas, semicolons or tabs"),
    (f"{ONE}\tfrom a spreadsheet", "must be a single entry: no commas, semicolons or tabs"),
    ("x" * 200, "address must be a text of 1 to 128 characters without NUL"),
]


@pytest.mark.parametrize(("line", "reason"), WRONG)
def test_with_a_wrong_line_nothing_is_saved(
    app: Flask, database: Database, editing: Editing, line: str, reason: str
) -> None:
    before = document(database)
    edit = addresses(f"{TWO}\n\n{line}\n{THREE}")
    assert outcome(app, edit)[0] == [TWO, THREE]
    assert edit.invalid == (InvalidLine(3, line[:120], reason),)
    with pytest.raises(Invalid) as refused:
        save_edit(*editing, edit.edit, actor=ALICE)
    assert [str(error) for error in refused.value.errors] == [f"text: line 3 {reason}"]
    assert (document(database), records(database)) == (before, [])


def test_wrong_shared_value_is_reported_once() -> None:
    with pytest.raises(Invalid) as refused:
        addresses(f"{ONE}\n{TWO}", expires_at="soon")
    assert [error.path for error in refused.value.errors] == ["expires_at"]


def test_networks_and_single_addresses(app: Flask, database: Database, editing: Editing) -> None:
    edit = networks("198.51.100.7\r198.51.100.0/25\r\n2001:DB8::/32\n2001:db8:1::1\n10.0.0.0/8", reason="one")
    added, _, unchanged = outcome(app, edit)
    assert added == ["198.51.100.7/32", "198.51.100.0/25", "2001:db8:1::1/128", "10.0.0.0/8"]
    assert unchanged == ["2001:db8::/32"]
    (wide,) = preview_of(app, edit).effects
    assert (wide.severity, wide.details) == (Severity.GRAVE, ("10.0.0.0/8: 16 777 216 addresses",))
    save_edit(*editing, edit.edit, actor=ALICE)
    assert blocked(database, "blocked_networks")["198.51.100.7/32"]["reason"] == "one"
    wrong = networks("203.0.113.5/24").invalid
    assert wrong[0].reason == "cidr must have no bits set beyond its prefix, such as 203.0.113.0/24"


def test_transfers_of_blocked_accounts_are_counted(app: Flask, database: Database) -> None:
    add_transfer(database, 1, sender=ONE)
    add_transfer(database, 2, receiver=TWO)
    add_transfer(database, 3, sender=THREE)
    ended = "2026-11-20T12:00:00Z"
    preview = preview_of(app, addresses(f"{ONE.lower()}\n{TWO}", expires_at=ended))
    assert [effect.text for effect in preview.effects] == [
        "2 entries with an end in the past: no effect",
        "2 transfers in the last 24 hours came from or went to one of these",
    ]
    one = preview_of(app, addresses(ONE, expires_at=ended))
    assert [effect.text for effect in one.effects] == [
        "its end is in the past: it blocks nothing",
        "this address sent or received 1 transfer in the last 24 hours",
    ]


@pytest.mark.parametrize("lines", few_or_many(500, 10_000))
def test_long_list_is_blocked(app: Flask, database: Database, editing: Editing, lines: int) -> None:
    text = "\n".join(f"0x{n:040x}" for n in range(1, lines + 1))
    edit = addresses(text)
    assert len(outcome(app, edit)[0]) == lines
    save_edit(*editing, edit.edit, actor=ALICE)
    assert len(blocked(database)) == lines + 1
    assert len(outcome(app, edit)[2]) == lines


def test_a_list_has_an_end() -> None:
    lines = addresses("#\n" * (MAX_LINES + 5))
    assert [line.number for line in lines.invalid] == [MAX_LINES + 1]


def test_nothing_pasted_is_nothing_done(app: Flask, editing: Editing) -> None:
    assert outcome(app, addresses(" \n\n# x\n")) == ([], [], [])
    assert save_edit(*editing, addresses("").edit, actor=ALICE).changes == ()
