"""Route blocks that end: they stop their route until then, in estimates and in the transfer configs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from app.accounts.rules.two_persons import TwoPersons
from app.db.database import Database
from app.estimates.services import EstimateCounts, estimate_transfer
from app.network.changes import Change
from app.network.edits.plan import EDITABLE, Edit
from app.network.edits.save import preview_edit, save_edit, sections_that_wait
from app.network.services import NetworkSnapshots
from app.network.snapshot import SnapshotSource
from app.values.errors import GatewayError
from tests.applications import Editing
from tests.builders import network as build
from tests.network.services.edits.kit import ALICE, NOON, document, texts
from tests.network.services.edits.times import REQUEST, at, written

HOUR = timedelta(hours=1)
BLOCK = build.block(1, 56, reason="a drill", expires_at=written(NOON + HOUR))


def blocked(snapshots: SnapshotSource) -> list[str]:
    ways = snapshots.current().configs.answer["blocked_bridge_direct"]
    return [way["dst_chain_id"] for way in ways if way["src_chain_id"] == "1" and way["symbol"] == "USDT"]


def test_block_ends_in_every_answer(
    database: Database, editing: Editing, estimate_counts: EstimateCounts
) -> None:
    save_edit(*editing, Edit("route_blocks", values=BLOCK), actor=ALICE)
    now = NOON
    snapshots = NetworkSnapshots(database.engine, 0, clock=lambda: now)
    during = at(database, NOON)
    with pytest.raises(GatewayError, match="are disabled at this moment"):
        estimate_transfer(*during, estimate_counts, REQUEST, None, None)
    assert blocked(during[1]) == ["56"]
    first = snapshots.current()
    now = NOON + HOUR - timedelta(microseconds=1)
    assert snapshots.current() is first, "nothing has changed"
    now = NOON + HOUR
    second = snapshots.current()
    assert not second.terms.blocks.keys() - first.terms.blocks.keys()
    assert REQUEST.route_key not in second.terms.blocks
    assert second.configs.etag != first.configs.etag, "clients must see that it is open again"
    assert snapshots.current() is second, "it is built once"
    after = at(database, NOON + HOUR)
    assert estimate_transfer(*after, estimate_counts, REQUEST, None, None).estimated_receive_amt > 0
    assert blocked(after[1]) == []
    assert document(database)["route_blocks"][-1]["expires_at"] == written(NOON + HOUR)
    assert "expires_at" not in document(database)["route_blocks"][0], "left out where there is no end"


def test_clock_ahead_ends_no_block_for_good(database: Database, editing: Editing) -> None:
    save_edit(*editing, Edit("route_blocks", values=BLOCK), actor=ALICE)
    now = NOON + 2 * HOUR
    snapshots = NetworkSnapshots(database.engine, 0, clock=lambda: now)
    assert REQUEST.route_key not in snapshots.current().terms.blocks
    now = NOON
    corrected = snapshots.current()
    assert REQUEST.route_key in corrected.terms.blocks
    assert snapshots.current() is corrected, "it is built once"
    now = NOON + HOUR
    assert REQUEST.route_key not in snapshots.current().terms.blocks


def test_a_preview_counts_with_the_end(database: Database, two_persons: TwoPersons) -> None:
    assert texts(preview_edit(database, two_persons, Edit("route_blocks", values=BLOCK))) == [
        "1 route stops at once"
    ]
    ended = preview_edit(
        database,
        two_persons,
        Edit("route_blocks", values=BLOCK | {"expires_at": written(NOON)}),
    )
    assert texts(ended) == ["its end is in the past: it blocks nothing"]


@pytest.mark.parametrize(
    ("change", "waits"),
    [
        pytest.param({"expires_at": None}, False, id="no end"),
        pytest.param({"expires_at": NOON + 2 * HOUR, "reason": "longer"}, False, id="later, other words"),
        pytest.param({"both_directions": True}, False, id="both ways"),
        pytest.param({"expires_at": NOON + HOUR / 2}, True, id="earlier"),
        pytest.param({"expires_at": NOON + HOUR / 2, "both_directions": True}, True, id="earlier, both ways"),
        pytest.param({"expires_at": NOON + 2 * HOUR, "both_directions": True}, False, id="later, both ways"),
        pytest.param({"reason": "only words"}, True, id="only other words"),
    ],
)
def test_only_stronger_blocks_need_no_second_person(change: dict[str, object], waits: bool) -> None:
    """A stop cannot wait. Every other change does, also one that weakens nothing."""
    section = EDITABLE["route_blocks"]
    before = section.schema.load(BLOCK)
    rule = TwoPersons(frozenset({"route_blocks"}), HOUR)
    found = sections_that_wait(rule, [Change(section, before, after=before | change, index=0)])
    assert found == (["route_blocks"] if waits else [])
