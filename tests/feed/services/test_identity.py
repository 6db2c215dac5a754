"""An id names one fact within what it is about; about something else the same id is another fact."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert, select

from app.credentials.rules.ingest_token import Scope
from app.db.database import Database
from app.db.engine import reading, writing
from app.estimates.models import ReportedFee
from app.feed.services.ingest import Intake, ingest_lines
from app.feed.services.reprojection import replay
from app.feed.services.retract import NothingToRetract, retract_ids
from app.transfers.models import Anomaly, Event
from app.transfers.rules.events.event_types import EVENT_CLASSES
from app.values.codes import TransferHistoryStatus as Status
from tests.actors import TESTER
from tests.applications import Audited
from tests.feed.services.world import (
    NOW,
    about,
    event,
    feed,
    sent,
    state,
    transfer_id,
)

TAKEN = "1:0xfeed01:4"

BY_ANOTHER: list[dict[str, Any]] = [
    event("chain.head", TAKEN, chain_id=3, block=1),
    event("liquidity.added", TAKEN, chain_id=3, symbol="USDT", amount="1"),
    sent(9, src_chain_id=3) | {"id": TAKEN},
    event("chain.reorged", TAKEN, chain_id=3, from_block=1),
]


@pytest.mark.parametrize("taken", BY_ANOTHER, ids=[each["type"] for each in BY_ANOTHER])
def test_limited_reporter_cannot_occupy_event_id(
    app: Flask, database: Database, intake: Intake, status: Callable[[int], Any], taken: dict[str, Any]
) -> None:
    limited = Scope(chains=frozenset({3}))
    attack = ingest_lines(database, intake, [json.dumps(taken).encode()], "attacker", scope=limited)
    assert attack.accepted == (taken["type"] != "transfer.sent")  # an unproven send is refused
    honest = feed(app, sent(1) | {"id": TAKEN})
    assert (honest.accepted, honest.refused) == (1, [])
    assert status(1).status == Status.TRANSFER_SUBMITTING
    with reading(database.engine) as connection:
        assert not connection.scalars(select(Anomaly.kind)).all()


def test_changed_content_is_refused_and_raised(app: Flask, database: Database) -> None:
    first = [
        sent(1) | {"id": "x"},
        sent(2) | {"id": "x"},
        event("chain.head", "x", chain_id=1, block=5),
        event("chain.head", "x", chain_id=2, block=6),
        event("fee.updated", "x", symbol="USDT", src_chain_id=1, dst_chain_id=2, base_fee="1"),
        event("fee.updated", "x", symbol="USDT", src_chain_id=2, dst_chain_id=1, base_fee="2"),
    ]
    assert feed(app, *first).accepted == 6
    assert feed(app, *first).repeated == 6
    others = [
        sent(1, amount="5") | {"id": "x"},
        about(2, "transfer.confirmed") | {"id": "x"},
        event("chain.head", "x", chain_id=1, block=7),
        event("liquidity.added", "x", chain_id=2, symbol="USDT", amount="1"),
        event("fee.updated", "x", symbol="USDT", src_chain_id=1, dst_chain_id=2, base_fee="3"),
    ]
    refused = feed(app, *others).refused
    assert [(each.line, each.reason[:24]) for each in refused] == [
        (n, "id: was reported before ") for n in range(1, 6)
    ]
    with reading(database.engine) as connection:
        rows = connection.execute(select(Anomaly.subject, Anomaly.transfer_id, Anomaly.chain_id)).all()
    assert {row.subject for row in rows} == {
        f"event:transfer:{transfer_id(1)}:x",
        f"event:transfer:{transfer_id(2)}:x",
        "event:chain:1:x",
        "event:chain:2:x",
        "event:route:1:2:USDT:x",
    }
    assert sum(row.transfer_id is not None for row in rows) == sum(row.chain_id is not None for row in rows)


class TestRetract:
    def test_retract_requires_subject_of_ambiguous_id(
        self, app: Flask, database: Database, audited: Audited, status: Callable[[int], Any]
    ) -> None:
        feed(
            app,
            sent(1) | {"id": "x"},
            sent(2) | {"id": "x"},
            event("chain.head", "x", chain_id=1, block=5),
        )
        before = state(database)
        with pytest.raises(
            NothingToRetract, match=r"'x' is the id of 3 events, about chain:1, transfer:0x0.*--transfer"
        ):
            retract_ids(*audited, ["x"], "wrong", actor=TESTER)
        with pytest.raises(NothingToRetract, match="no event about chain:2 has the id 'x'"):
            retract_ids(*audited, ["x"], "wrong", actor=TESTER, subject="chain:2")
        assert state(database) == before
        retract_ids(*audited, ["x"], "wrong", actor=TESTER, subject=f"transfer:{transfer_id(2)}")
        assert (status(1).status, status(2).status) == (Status.TRANSFER_SUBMITTING, Status.TRANSFER_UNKNOWN)
        assert feed(app, sent(1) | {"id": "x"}).repeated == 1
        assert feed(app, sent(2) | {"id": "x"}).accepted == 1

    def test_retraction_without_subjects_is_read(
        self, app: Flask, database: Database, intake: Intake, audited: Audited, status: Callable[[int], Any]
    ) -> None:
        feed(app, sent(1) | {"id": "x"})
        old = {
            "id": "retract-1",
            "type": "events.retracted",
            "at": NOW.isoformat(),
            "targets": ["x"],
            "reason": "r",
        }
        taken = ingest_lines(database, intake, [json.dumps(old).encode()], "cli", types=EVENT_CLASSES)
        assert (taken.accepted, taken.refused) == (1, [])
        feed(app, sent(2) | {"id": "x"})
        assert (status(1).status, status(2).status) == (Status.TRANSFER_UNKNOWN, Status.TRANSFER_SUBMITTING)
        before = state(database)
        replay(*audited, actor=TESTER)
        assert state(database) == before


def test_lookup_cost_ignores_shared_ids(app: Flask, database: Database) -> None:
    """The row of the subject is found, not all rows of the id."""
    with writing(database.engine) as connection:
        rows = [
            {
                "seq": n, "event_id": "x", "subject": f"chain:{n}", "occurrence": 0, "type": "chain.head",
                "at": NOW, "received_at": NOW, "reporter": "attacker", "chain_id": n, "block": 1,
                "body": json.dumps({"at": NOW.isoformat(), "block": 1, "chain_id": n}),
            }
            for n in range(10, 1500)
        ]  # fmt: skip
        connection.execute(insert(Event), rows)
    assert feed(app, event("chain.head", "x", at=0, chain_id=12, block=1)).repeated == 1
    assert feed(app, event("chain.head", "x", at=0, chain_id=1, block=1)).accepted == 1


def test_retracting_fee_removes_one_route(app: Flask, database: Database, audited: Audited) -> None:
    for src, dst in ((1, 2), (2, 1)):
        fee = event("fee.updated", "x", symbol="A:B", src_chain_id=src, dst_chain_id=dst, base_fee="1")
        feed(app, fee)
    retract_ids(*audited, ["x"], "wrong", actor=TESTER, subject="route:1:2:A:B")
    with reading(database.engine) as connection:
        assert connection.scalars(select(ReportedFee.src_chain_id)).all() == [2]
