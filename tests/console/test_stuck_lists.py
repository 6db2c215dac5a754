"""Two lists of stuck transfers with true counts, acknowledged with a note; and transfers as a file."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta

import pytest
from flask import Flask
from sqlalchemy import select, update

from app.accounts.rules.roles import Role
from app.audit.rules.records import AuditFilter
from app.audit.services import list_audit
from app.console.transfers.stuck import count_stuck, stuck_transfers
from app.db.database import Database
from app.db.engine import reading, writing
from app.http.application import part_of
from app.network.snapshot import SnapshotSource
from app.transfers.models import StuckAcknowledgement, Transfer
from app.transfers.rules.stuck import MustAct
from app.values.codes import TransferHistoryStatus as Status
from tests.builders.clock import MovableClock
from tests.console.projected import put, took
from tests.console.visitor import Visitor, signed_in
from tests.databases import SharedDatabase
from tests.feed.services.world import NOW, feed, fill_network, sent, transfer_id

HOUR = 3600
DAY = 24 * HOUR


@pytest.fixture
def world(app: Flask, database: Database, clock: MovableClock, shared_database: SharedDatabase) -> Flask:
    """The small network at its own time, with transfers in both lists and in neither."""
    clock.now = NOW
    fill_network(shared_database, database.engine)
    put(
        database,
        {"status": 3, "since": 2 * HOUR},
        {"status": 7, "since": 3 * DAY},
        {"status": 6, "since": 2 * HOUR},
        {"status": 6, "since": 90 * DAY},
        {"status": 8, "since": 80 * DAY},
        {"status": 3, "since": 60},
        {"status": 5, "since": DAY},
    )
    return app


def numbers(app: Flask, who: MustAct) -> list[int]:
    return [
        int(each.line.transfer_id, 16)
        for each in stuck_transfers(part_of(app, Database), part_of(app, SnapshotSource), who=who).transfers
    ]


def counted(database: Database, who: MustAct) -> tuple[str, int | None]:
    count = count_stuck(database, who)
    return str(count.number), count.new


def picks(visitor: Visitor, who: str) -> list[str]:
    page = visitor.get(f"/admin/transfers/?stuck={who}").text
    return re.findall(r'name="pick" form="acknowledge" value="([^"]+)"', page)


def test_who_must_act(world: Flask, database: Database) -> None:
    assert numbers(world, MustAct.BRIDGE) == [2, 1]
    assert numbers(world, MustAct.USER) == [4, 5, 3]
    assert counted(database, MustAct.BRIDGE) == ("2", 1)
    assert counted(database, MustAct.USER) == ("3", 1)


@pytest.mark.every_database
def test_count_covers_the_whole_list(world: Flask, database: Database, snapshots: SnapshotSource) -> None:
    """Also where the pair of chains decides, and where a page shows some of them."""
    took(database, 1, 2, 10)
    took(database, 2, 1, 20 * HOUR)
    put_more = [{"status": 4, "since": 29 + n, "transfer_id": bytes([9, n]) + bytes(30)} for n in range(4)]
    slow = [
        {"status": 4, "since": since, "src_chain_id": 2, "dst_chain_id": 1, "transfer_id": bytes([8, n]) * 16}
        for n, since in enumerate((59 * HOUR, 60 * HOUR, 60 * HOUR + 1, 85 * HOUR))
    ]
    put(database, *put_more, *slow)
    listed = stuck_transfers(database, snapshots, size=100, who=MustAct.BRIDGE).transfers
    count = count_stuck(database, MustAct.BRIDGE)
    # 30 s exactly is not longer than 30 s; so is 60 h.
    assert count.number.number == len(listed) == 3 + 2 + 2
    assert count.new == sum(each.new for each in listed) == 1 + 1 + 2 + 1
    assert len(stuck_transfers(database, snapshots, size=2, who=MustAct.BRIDGE).transfers) == 2


@pytest.mark.every_database
def test_acknowledgement_ends_with_the_status(
    app: Flask, world: Flask, database: Database, clock: MovableClock
) -> None:
    operator = signed_in(app, Role.OPERATOR)
    abandoned = picks(operator, "user")[:2]
    fields = {"stuck": "user", "pick": abandoned}
    operator.post("/admin/transfers/acknowledge", fields | {"note": "  "})
    assert counted(database, MustAct.USER) == ("3", 1), "a note is needed"
    operator.post("/admin/transfers/acknowledge", fields | {"note": "Written to twice,\n no answer"})
    assert counted(database, MustAct.USER) == ("1", 1)
    assert numbers(world, MustAct.USER) == [3]
    page = operator.get("/admin/transfers/?stuck=user").text
    assert "User must act: 1, 1 new" in page and "Bridge must act: 2" in page
    seen = operator.get("/admin/transfers/?stuck=user&seen=1").text
    assert "Written to twice, no answer" in seen and "operator@example.org" in seen
    (record,) = list_audit(database, AuditFilter(action="transfer.acknowledge"))
    assert (record.actor, record.detail) == ("operator@example.org", "Written to twice, no answer")
    assert [r.id for r in list_audit(database, AuditFilter(subject=abandoned[1][:66]))] == [record.id]
    with writing(database.engine) as connection:
        moved = update(Transfer).where(Transfer.transfer_id == bytes.fromhex(abandoned[0][2:66]))
        connection.execute(moved.values(status=8, status_since=NOW - timedelta(hours=2)))
    assert counted(database, MustAct.USER) == ("2", 2), "in another state it counts again"


def test_what_moved_on_is_not_acknowledged(app: Flask, world: Flask, database: Database) -> None:
    operator, viewer = signed_in(app, Role.OPERATOR), signed_in(app, Role.VIEWER)
    shown = picks(operator, "bridge")
    assert len(shown) == 2 and picks(viewer, "bridge") == []
    with writing(database.engine) as connection:
        connection.execute(
            update(Transfer)
            .where(Transfer.status == Status.TRANSFER_REQUESTING_REFUND)
            .values(status=Status.TRANSFER_REFUND_TO_BE_CONFIRMED)
        )
    for wrong in ({"pick": shown}, {"pick": ["x", "0x00 y"]}, {"pick": [f"0x{'ab' * 32} x"]}):
        answer = operator.post("/admin/transfers/acknowledge", wrong | {"note": "seen"})
        assert answer.status_code == 302
    with reading(database.engine) as connection:
        assert not connection.execute(select(StuckAcknowledgement.transfer_id)).all()


@pytest.mark.every_database
def test_filtered_list_is_exported(app: Flask, world: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.console.transfers.views._PAGE", 2)
    viewer = signed_in(app, Role.VIEWER)

    def rows(query: str) -> list[dict[str, str]]:
        answer = viewer.get(f"/admin/transfers/export.csv{query}")
        assert answer.mimetype == "text/csv"
        return list(csv.DictReader(io.StringIO(answer.text)))

    assert len(rows("")) == 7
    refunds = rows("?status=refunds")
    assert [int(row["transfer_id"], 16) for row in refunds] == [3, 2, 5, 4]
    assert refunds[0] | {"state_since": "", "changed_at": ""} == refunds[0] | {
        "status": "6", "state": "To be refunded", "src_chain_id": "1", "dst_chain_id": "2",
        "token": "USDT", "amount": "0.000001", "amount_smallest_units": "1",
        "state_since": "", "changed_at": "",
    }  # fmt: skip
    assert refunds[0]["state_since"].endswith("Z")
    assert [int(row["transfer_id"], 16) for row in rows("?stuck=user")] == [4, 5, 3]
    assert "/admin/transfers/export.csv?status=refunds" in viewer.get("/admin/transfers/?status=refunds").text


def test_stuck_transfer_leads_to_its_chains(app: Flask, world: Flask) -> None:
    feed(world, sent(91, at=-4000), sent(92, at=-3000))
    visitor = signed_in(app, Role.VIEWER)
    stuck, in_time = (visitor.get(f"/admin/transfers/{transfer_id(n)}").text for n in (91, 92))
    assert "Stuck: longer than 1 h at one status." in stuck
    assert "Stuck:" not in in_time
    for page in (stuck, in_time):
        assert '<a href="/admin/chains/1">Chain 1</a>' in page
