"""What cannot be together is raised while it holds, with its events."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert, select, update

from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.services.reprojection import replay
from app.network.document import import_network
from app.network.models import Pool
from app.transfers.models import Anomaly
from app.values.crypto import address_of, checksum_address
from tests.actors import TESTER
from tests.applications import Audited, Editing
from tests.builders import network as build
from tests.feed.services.world import (
    KEYS,
    NO_LIQUIDITY,
    NOW,
    about,
    event,
    feed,
    network,
    prepared,
    released,
    request,
    sent,
    signed,
    transfer_id,
)

TX = "0x" + "dd" * 32
WD = request(1)


def open_anomalies(database: Database) -> list[Any]:
    with reading(database.engine) as connection:
        return list(connection.execute(select(Anomaly.__table__).order_by(Anomaly.kind, Anomaly.subject)))


SEND, RELEASE = sent(1), released(1, amount="1000000000000000000000")
REQUEST, OTHER = prepared(1, WD), prepared(1, request(1, amount=5), at=-39)
BAD = about(1, "network.status", xfer_status=3)
SUCCESS = about(1, "network.status", at=-49, xfer_status=2)
CASES: list[tuple[str, list[dict[str, Any]], list[dict[str, Any]]]] = [
    ("refund_and_release", [SEND, RELEASE, c := about(1, "refund.completed")], [c, RELEASE]),
    ("refund_and_release", [SEND, RELEASE, s := about(1, "refund.submitted", tx_hash=TX)], [s, RELEASE]),
    ("refund_and_release", [SEND, RELEASE, w := about(1, "network.status", xfer_status=7)], [w, RELEASE]),
    (
        "released_twice",
        [SEND, RELEASE, r := about(1, "transfer.released", at=-5, dst_tx_hash=TX)],
        [RELEASE, r],
    ),
    ("different_sends", [SEND, s2 := sent(1, at=-99, amount="7")], [SEND, s2]),
    ("payout_too_large", [SEND, p := released(1, amount="1050000000000000000001")], [SEND, p]),
    ("failed_and_sent", [SEND, f := about(1, "transfer.failed")], [SEND, f]),
    ("bad_and_success", [SEND, BAD, SUCCESS], [BAD, SUCCESS]),
    ("different_requests", [SEND, REQUEST, OTHER], [REQUEST, OTHER]),
    ("release_before_send", [SEND, e := released(1, at=-101)], [e, SEND]),
    (
        "delay_pays_at_once",
        [SEND, d := about(1, "transfer.delayed", dst_tx_hash=RELEASE["dst_tx_hash"]), RELEASE],
        [d, RELEASE],
    ),
    (
        "delay_pays_at_once",
        [
            SEND,
            q := about(1, "refund.delayed", delayed_id=TX, tx_hash=TX),
            p2 := about(1, "refund.completed", at=-20, tx_hash=TX),
        ],
        [q, p2],
    ),
    ("refund_and_release", [SEND, q, RELEASE], [q, RELEASE]),
]


@pytest.mark.parametrize(
    ("kind", "events", "involved"), CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)]
)
def test_anomaly_lists_involved_events(
    app: Flask, database: Database, kind: str, events: list[dict[str, Any]], involved: list[dict[str, Any]]
) -> None:
    feed(app, *events)
    (row,) = open_anomalies(database)
    assert (row.kind, row.subject) == (kind, f"transfer:{transfer_id(1)}")
    assert row.event_ids == [e["id"] for e in involved]
    assert (row.first_at.isoformat(), row.last_at.isoformat()) == (involved[0]["at"], involved[-1]["at"])
    assert row.acknowledged_at is None


@pytest.mark.parametrize(
    "events",
    [
        [SEND, RELEASE],
        [SEND, released(1, amount="1050000000000000000000")],
        [SEND, RELEASE, released(1, at=-9, amount="1000000000000000000000")],
        [SEND, sent(1, at=-99, block=101)],
        [SEND, REQUEST, prepared(1, request(1, amount=1_000_000_001))],
        [SEND, about(1, "network.status", xfer_status=1), SUCCESS],
        [SEND, released(1, at=-100)],
        [SEND, about(1, "transfer.delayed", dst_tx_hash=TX), RELEASE],
        [SEND, about(1, "transfer.delayed"), RELEASE],
        [SEND, about(1, "refund.delayed", delayed_id=TX, tx_hash=TX), about(1, "refund.completed")],
        [about(1, "refund.submitted", tx_hash=TX), about(1, "refund.failed", tx_hash=TX), SEND, RELEASE],
        [signed(1, bytes(64) + b"\x1b")],
    ],
)
def test_consistent_events_raise_no_anomaly(
    app: Flask, database: Database, events: list[dict[str, Any]]
) -> None:
    feed(app, *events)
    assert open_anomalies(database) == []


def with_route(editing: Editing, rate: dict[str, Any] | None) -> None:
    """The network with deep pools on chains 1 and 3, and a route with this rate between them."""
    document = network()
    document["pools"] = [build.pool(n, "USDT", str(10**30)) for n in (1, 3)]
    routes = [] if rate is None else [build.route(1, 3, "USDT", rate=rate, base_fee="0")]
    import_network(*editing, build.text(document | {"routes": routes}), actor=TESTER)


def fixed(value: str) -> dict[str, Any]:
    return {"model": "fixed", "value": value}


def payouts_too_large(database: Database) -> list[str]:
    return [row.subject for row in open_anomalies(database) if row.kind == "payout_too_large"]


@pytest.mark.parametrize(
    ("rate", "most"),
    [
        (fixed("1.2"), 1_260_000_000),
        (fixed("0.5"), 525_000_000),
        (fixed("1.0"), 1_050_000_000),
        ({"model": "stableswap", "amplification": 200}, 1_050_000_000),
        (None, 1_050_000_000),
    ],
)
def test_payout_limit_follows_the_rate(
    app: Flask, database: Database, editing: Editing, rate: dict[str, Any] | None, most: int
) -> None:
    with_route(editing, rate)
    for n, amount in ((1, most), (2, most + 1)):
        feed(app, sent(n, dst_chain_id=3), released(n, amount=str(amount)))
    assert payouts_too_large(database) == [f"transfer:{transfer_id(2)}"]


def test_rate_change_validates_payouts_again(
    app: Flask, database: Database, audited: Audited, editing: Editing
) -> None:
    with_route(editing, fixed("1.2"))
    feed(app, sent(1, dst_chain_id=3), released(1, amount="1200000000"))
    reported = [payouts_too_large(database)]
    for rate in (fixed("1.1"), fixed("1.15"), None, fixed("1.2")):
        with_route(editing, rate)
        reported.append(payouts_too_large(database))
        replay(*audited, actor=TESTER)
        assert payouts_too_large(database) == reported[-1]
    raised = [f"transfer:{transfer_id(1)}"]
    assert reported == [[], raised, [], raised, []]


def test_anomaly_ends_with_its_event(app: Flask, database: Database) -> None:
    feed(app, SEND, about(1, "transfer.failed", block=105))
    assert len(open_anomalies(database)) == 1
    feed(app, event("chain.reorged", chain_id=1, from_block=104))
    assert open_anomalies(database) == []


def test_growing_anomaly_loses_its_acknowledgement(app: Flask, database: Database) -> None:
    feed(app, SEND, about(1, "transfer.failed"))
    with writing(database.engine) as connection:
        connection.execute(update(Anomaly).values(acknowledged_at=NOW, acknowledged_by="operator"))
    feed(app, about(1, "transfer.confirmed"))
    assert open_anomalies(database)[0].acknowledged_by == "operator"
    feed(app, about(1, "transfer.failed", at=-20))
    row = open_anomalies(database)[0]
    assert (row.acknowledged_at, row.acknowledged_by, len(row.event_ids)) == (None, None, 3)


def test_rotation_keeping_too_little_is_anomaly(app: Flask, database: Database) -> None:
    def rotation(at: float, *keys: int) -> dict[str, Any]:
        signers = [checksum_address(address_of(KEYS[key])) for key in keys]
        return event("validators.updated", at=at, chain_id=1, signers=signers, powers=["10"] * len(keys))

    first, replaced = rotation(-20, 0, 1, 2, 3), rotation(-10, 4, 5, 6)
    feed(app, first, replaced)
    (row,) = open_anomalies(database)
    assert (row.kind, row.event_ids) == ("rotation_keeps_too_little", [replaced["id"]])


def test_negative_pool_is_anomaly_meanwhile(app: Flask, database: Database) -> None:
    with writing(database.engine) as connection:
        opening = NO_LIQUIDITY | {"liquidity_added": 10}
        connection.execute(insert(Pool).values(chain_id=1, symbol="USDT", epoch_seconds=3600, **opening))
    feed(app, event("liquidity.withdrawn", chain_id=1, symbol="USDT", amount="11"))
    (row,) = open_anomalies(database)
    assert (row.kind, row.subject, row.event_ids) == ("pool_under_zero", "pool:1:USDT", [])
    assert row.detail == "the balance is -1 and the inbound limit is -1 (smallest units)"
    feed(app, event("liquidity.added", chain_id=1, symbol="USDT", amount="1"))
    assert open_anomalies(database) == []


def test_rate_does_not_bound_pegged_payouts(app: Flask, database: Database, editing: Editing) -> None:
    with_route(editing, fixed("1.2"))
    deposit = sent(1, kind="deposit", dst_chain_id=3)
    feed(app, deposit, released(1, amount="1050000001"))
    assert payouts_too_large(database) == [f"transfer:{transfer_id(1)}"]
