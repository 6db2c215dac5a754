"""Two operators and one row: nothing is overwritten that its editor has not seen."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from app.accounts.rules.two_persons import TwoPersons
from app.audit.services import Conflict, EditRefused, Saved, fingerprint
from app.db.database import Database
from app.network.edits.plan import Edit
from app.network.edits.refusals import Invalid
from app.network.edits.save import preview_edit, save_edit
from app.values.differences import FieldDifference
from tests.applications import Editing
from tests.network.services.edits.kit import ALICE, BOB, document, edited, records, removed, shown
from tests.network.services.edits.new_rows import NEW_ROWS


def test_second_edit_shows_what_changed_meanwhile(
    database: Database, two_persons: TwoPersons, editing: Editing
) -> None:
    mine = edited(database, "routes", "USDT", 1, 56, base_fee="7")
    theirs = edited(database, "routes", "USDT", 1, 56, base_fee="8")
    save_edit(*editing, mine, actor=ALICE)
    for attempt in (
        lambda: preview_edit(database, two_persons, theirs),
        lambda: save_edit(*editing, theirs, actor=BOB),
    ):
        with pytest.raises(Conflict, match="was changed while you were editing") as refused:
            attempt()
        assert refused.value.meanwhile == (FieldDifference("base_fee", "605437528092011966", "7"),)
    assert document(database)["routes"][0]["base_fee"] == "7"
    assert [record.actor for record in records(database)] == [ALICE.name]


def test_what_changed_is_not_removed_unseen(database: Database, editing: Editing) -> None:
    theirs = removed(database, "route_blocks", "USDT", 10, 56)
    save_edit(*editing, edited(database, "route_blocks", "USDT", 10, 56, reason="hacked"), actor=ALICE)
    with pytest.raises(Conflict):
        save_edit(*editing, theirs, actor=BOB)
    assert len(document(database)["route_blocks"]) == 1


def test_what_was_removed_is_not_edited(database: Database, editing: Editing) -> None:
    theirs = edited(database, "route_blocks", "USDT", 10, 56, reason="x")
    twice = removed(database, "route_blocks", "USDT", 10, 56)
    save_edit(*editing, twice, actor=ALICE)
    for edit in (theirs, twice):
        with pytest.raises(Conflict, match="was removed while you were editing"):
            save_edit(*editing, edit, actor=BOB)


def test_what_came_meanwhile_is_not_added_again(editing: Editing) -> None:
    edit = Edit("route_blocks", values=NEW_ROWS["route_blocks"])
    save_edit(*editing, edit, actor=ALICE)
    with pytest.raises(Invalid, match="exists already: change that one"):
        save_edit(*editing, edit, actor=BOB)


@pytest.mark.parametrize("seen", [None, "", "rubbish", "é", fingerprint({}), "W10=", "x" * 5_000_000])
def test_edit_requires_current_fingerprint(database: Database, editing: Editing, seen: str | None) -> None:
    row_id = shown(database, "chains", 1).row_id
    with pytest.raises(Conflict):
        save_edit(*editing, Edit("chains", row_id, {"name": "x"}, seen), actor=ALICE)
    with pytest.raises(Conflict):
        save_edit(*editing, Edit("chains", None, None, seen), actor=ALICE)


def test_concurrent_edits_save_exactly_one(database: Database, editing: Editing) -> None:
    edits = [edited(database, "routes", "USDT", 1, 56, base_fee=str(n)) for n in range(1, 7)]
    start = threading.Barrier(len(edits))
    outcomes: list[tuple[Edit, Saved | EditRefused]] = []

    def save(edit: Edit) -> None:
        start.wait()
        try:
            outcomes.append((edit, save_edit(*editing, edit, actor=ALICE)))
        except EditRefused as refused:
            outcomes.append((edit, refused))

    threads = [threading.Thread(target=save, args=(edit,)) for edit in edits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    saved: list[Any] = [edit for edit, outcome in outcomes if isinstance(outcome, Saved)]
    assert len(outcomes) == len(edits)
    assert len(saved) == 1
    assert sum(isinstance(outcome, Conflict) for _, outcome in outcomes) == len(edits) - 1
    assert document(database)["routes"][0]["base_fee"] == saved[0].values["base_fee"]
    assert len(records(database)) == 1


def test_removed_token_and_new_route_conflict(database: Database, editing: Editing) -> None:
    """Edits of different rows that contradict each other: the rules refuse the later one."""
    save_edit(*editing, Edit("tokens", values=NEW_ROWS["tokens"]), actor=ALICE)
    gone = removed(database, "tokens", 1, "USDC")
    pool = Edit("pools", values=NEW_ROWS["pools"] | {"symbol": "USDC"})
    save_edit(*editing, gone, actor=ALICE)
    with pytest.raises(Invalid, match="there is no token USDC on chain 1"):
        save_edit(*editing, pool, actor=BOB)
