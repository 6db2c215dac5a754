"""Two refunds with one withdraw id: the contract pays one of them, whichever comes first."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from msgspec.structs import replace
from sqlalchemy import select

from app.audit.keys import AuditKeys
from app.db.database import Database
from app.db.engine import reading
from app.feed.services.ingest import Intake
from app.feed.services.prune import prune
from app.feed.services.reprojection import replay
from app.feed.services.retract import retract_ids
from app.http.application import part_of
from app.refunds.models import WithdrawId
from app.transfers.models import Anomaly
from app.transfers.rules.anomalies import AnomalyKind
from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from tests.actors import TESTER
from tests.amounts import few_or_many
from tests.applications import Audited
from tests.feed.services.world import about, event, forget_events, projections
from tests.refunds.bridges import bridge_of, pays, served_call
from tests.refunds.kit import PEOPLE, Gateway, Powers, Story, rotation

SET: Powers = {PEOPLE[0]: 1}
FIRST, SECOND = Story(SendKind.POOL, 1), Story(SendKind.POOL, 2)
"""Their requests agree in everything but the reference: seqnum 7, receiver, token and amount."""

PAID = about(1, "refund.completed", at=-5, tx_hash="0x" + "dd" * 32)


def story_of(story: Story) -> list[dict[str, Any]]:
    return [story.sent(), about(story.n, "refund.requested"), story.prepared(), story.signed(PEOPLE[0])]


def raised(gateway: Gateway) -> dict[str, str]:
    """What is raised about withdraw ids, by the last digit of the transfer."""
    with reading(part_of(gateway.app, Database).reads) as connection:
        rows = connection.execute(select(Anomaly.subject, Anomaly.kind, Anomaly.detail)).all()
    return {row.subject[-1]: row.detail for row in rows if row.kind == AnomalyKind.WITHDRAW_ID_PAID}


def renewed(story: Story) -> list[dict[str, Any]]:
    """Another request for the transfer, with the next seqnum."""
    request = story.request(seqnum=8)
    return [story.prepared(request), story.signed(PEOPLE[0], request)]


def assert_second_is_dead(gateway: Gateway) -> None:
    status, evidence = gateway.status(SECOND), gateway.evidence(SECOND)
    assert status["status"] == Status.TRANSFER_REQUESTING_REFUND, (
        "the refund was requested, and needs another request"
    )
    assert (evidence["valid"], evidence["proven"], evidence["call"]["data"]) == (False, False, None)
    (why,) = evidence["missing"]
    shared = evidence["withdraw_id"]
    assert f"its withdraw id {shared} was already paid for transfer {FIRST.id}" in why
    assert "a request with another seqnum is needed" in evidence["contradictions"][0]
    assert list(raised(gateway)) == ["2"]
    assert shared in raised(gateway)["2"] and FIRST.id in raised(gateway)["2"]


def test_contract_pays_one_of_two_equal_withdraw_ids(gateway: Gateway) -> None:
    gateway.take(rotation(1, SET), *story_of(FIRST), *story_of(SECOND))
    first, second = gateway.status(FIRST), gateway.status(SECOND)
    assert (first["status"], second["status"]) == (
        Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
        Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
    ), "until one is paid, either can be"
    assert gateway.evidence(FIRST)["withdraw_id"] == gateway.evidence(SECOND)["withdraw_id"]
    assert raised(gateway) == {}
    bridge = bridge_of(FIRST, SET)
    assert pays(bridge, served_call(second))
    done = bridge.at.send(bridge.data(served_call(first))).event("WithdrawDone")
    assert "0x" + done["withdrawId"].hex() == gateway.evidence(SECOND)["withdraw_id"]
    assert bridge.outcome_of(served_call(second)) == "AlreadyDone"

    gateway.take(PAID)
    assert gateway.status(FIRST)["status"] == Status.TRANSFER_REFUNDED
    assert_second_is_dead(gateway)
    gateway.take(*renewed(SECOND))
    again = gateway.status(SECOND)
    assert again["status"] == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    assert pays(bridge, served_call(again)), "another seqnum is another id"
    assert list(raised(gateway)) == ["2"]


@pytest.mark.parametrize("orders", few_or_many(5, 120))
def test_any_order_has_same_projections(
    gateway: Gateway, app: Flask, database: Database, orders: int
) -> None:
    """Any order of what makes it, in one batch or one by one, gives the same."""
    parts = [story_of(FIRST)[:1], story_of(FIRST)[1:], story_of(SECOND)[:1], story_of(SECOND)[1:], [PAID]]
    every_order, outcomes = list(itertools.permutations(parts)), []
    for number, order in enumerate(every_order[:: len(every_order) // orders]):
        forget_events(app)
        lines = [rotation(1, SET), *itertools.chain(*order)]
        for batch in [[line] for line in lines] if number % 2 else [lines]:
            gateway.feed(*batch)
        with reading(database.reads) as connection:
            found = projections(connection)
            found["withdraw_ids"] = sorted(map(tuple, connection.execute(select(WithdrawId.__table__))))
        outcomes.append(found)
        if number % 10 == 0:
            assert_second_is_dead(gateway)
    assert all(outcome == outcomes[0] for outcome in outcomes)


def test_orphaned_payment_frees_the_id(gateway: Gateway, audited: Audited) -> None:
    gateway.take(rotation(1, SET), *story_of(FIRST), *story_of(SECOND), PAID | {"block": 120})
    assert_second_is_dead(gateway)
    gateway.take(event("chain.reorged", chain_id=1, from_block=115))
    assert (gateway.status(SECOND)["status"], raised(gateway)) == (Status.TRANSFER_REFUND_TO_BE_CONFIRMED, {})
    gateway.take(PAID | {"block": 120})
    assert_second_is_dead(gateway)
    retract_ids(*audited, [PAID["id"]], "not paid at all", actor=TESTER)
    assert (gateway.status(SECOND)["status"], raised(gateway)) == (Status.TRANSFER_REFUND_TO_BE_CONFIRMED, {})


def test_both_reported_as_paid_are_both_raised(gateway: Gateway) -> None:
    third = Story(SendKind.POOL, 3)
    gateway.take(rotation(1, SET), *story_of(FIRST), *story_of(SECOND), *story_of(third), PAID)
    gateway.take(about(2, "refund.completed"))
    assert (gateway.status(FIRST)["status"], gateway.status(SECOND)["status"]) == (
        Status.TRANSFER_REFUNDED,
        Status.TRANSFER_REFUNDED,
    )
    assert sorted(raised(gateway)) == ["1", "2", "3"]
    assert SECOND.id in raised(gateway)["1"] and FIRST.id in raised(gateway)["2"]


@pytest.mark.every_database
def test_payment_outlasts_prune_and_replay(
    gateway: Gateway, database: Database, intake: Intake, audit_keys: AuditKeys, audited: Audited
) -> None:
    gateway.take(rotation(1, SET), *story_of(FIRST), PAID)
    replay(*audited, actor=TESTER)
    later = replace(database, clock=lambda: database.clock() + timedelta(days=30))
    pruned = prune(later, audit_keys, intake, later.clock() - timedelta(days=8), actor=TESTER)
    assert sum(pruned.transfers.values()) == 1
    gateway.take(*story_of(SECOND))
    assert_second_is_dead(gateway)
    replay(*audited, actor=TESTER)
    assert_second_is_dead(gateway)


def test_network_status_pays_despite_rotation(gateway: Gateway) -> None:
    gateway.take(rotation(1, SET), *story_of(FIRST), *story_of(SECOND))
    gateway.take(about(1, "network.status", at=-5, xfer_status=7))
    assert_second_is_dead(gateway)
    gateway.take(rotation(1, {PEOPLE[9]: 1}, at=-4))
    assert "was already paid" in gateway.evidence(SECOND)["contradictions"][0]
    assert list(raised(gateway)) == ["2"]
