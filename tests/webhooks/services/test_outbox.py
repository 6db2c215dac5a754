"""Deliveries are written in the transaction of the change that they report."""

import json

import pytest
from flask import Flask
from sqlalchemy import event as sql_event

from app.db.database import Database
from app.db.engine import writing
from app.feed.services.ingest import Intake, ingest_within
from app.feed.services.retract import retract_ids
from app.http.application import part_of
from app.webhooks.rules.subscription import State
from app.webhooks.services.subscriptions import switch
from tests.actors import TESTER
from tests.applications import Audited
from tests.feed.services.world import SENDER, about, event, feed, released, sent, transfer_id
from tests.webhooks.services.hooks import deliveries, published, subscription_of, to_everything, to_subjects

OTHER = "0x" + "bb" * 20


def steps(app: Flask) -> list[tuple[int, int]]:
    return [(each["previous_status"], each["status"]) for each in published(app)]


def test_nothing_is_written_without_subscription(app: Flask, database: Database) -> None:
    feed(app, sent(1), released(1))
    assert deliveries(database) == []


def test_status_change_is_sent_once_with_position(app: Flask, database: Database) -> None:
    to_everything(app)
    feed(app, sent(1))
    feed(app, sent(1), about(1, "transfer.confirmed", at=-60))
    feed(app, released(1))
    assert published(app) == [
        {"transfer_id": transfer_id(1), "status": s, "previous_status": p, "refund_reason": 0, "seq": seq}
        for p, s, seq in [(0, 1, 1), (1, 3, 2), (3, 5, 3)]
    ]
    assert len({row.message_id for row in deliveries(database)}) == 3


def test_reorg_and_retraction_take_status_back(app: Flask, audited: Audited) -> None:
    to_everything(app)
    feed(app, sent(1), about(1, "transfer.confirmed", at=-60))
    feed(app, event("chain.reorged", chain_id=1, from_block=90, at=-5))
    feed(app, sent(2), released(2, event_id="paid"))
    retract_ids(*audited, ["paid"], "was another's", actor=TESTER)
    assert steps(app) == [(0, 3), (3, 0), (0, 5), (5, 1)]
    assert [each.get("taken_back") for each in published(app)] == [None, True, None, True]


@pytest.mark.parametrize("account", [SENDER, SENDER.lower(), SENDER.upper().replace("0X", "0x")])
def test_account_subscription_gets_only_own_transfers(app: Flask, account: str) -> None:
    to_subjects(app, [account])
    feed(app, sent(1), sent(2, sender=OTHER, receiver=OTHER), sent(3, sender=OTHER))
    assert [each["transfer_id"] for each in published(app)] == [transfer_id(1), transfer_id(3)]


def test_account_learns_of_unlisted_transfer(app: Flask, audited: Audited) -> None:
    to_subjects(app, [SENDER])
    feed(app, sent(1, event_id="not theirs"))
    retract_ids(*audited, ["not theirs"], "was another's", actor=TESTER)
    feed(app, sent(1, sender=OTHER, receiver=OTHER))
    assert steps(app) == [(0, 1), (1, 0)]


def test_subscription_reports_each_transfer_once(app: Flask, database: Database) -> None:
    first = subscription_of(database, to_subjects(app, [SENDER], [1])).id
    second = subscription_of(database, to_subjects(app, [OTHER], [1, 2])).id
    feed(app, sent(1), sent(2, sender=OTHER, receiver=OTHER), sent(3, sender="x", receiver="y"))
    by = [(row.subscription_id, row.subject) for row in deliveries(database)]
    assert by == [(first, transfer_id(1)), (second, transfer_id(1)), (second, transfer_id(2))]


def test_only_paused_subscription_collects(app: Flask, database: Database, audited: Audited) -> None:
    paused, off, removed = (to_everything(app) for _ in range(3))
    switch(*audited, to_subjects(app, [SENDER]).public_id, State.OFF, actor=TESTER)
    switch(*audited, paused.public_id, State.PAUSED, actor=TESTER)
    switch(*audited, off.public_id, State.OFF, actor=TESTER)
    switch(*audited, removed.public_id, State.REMOVED, actor=TESTER)
    feed(app, sent(1))
    assert [row.subscription_id for row in deliveries(database)] == [subscription_of(database, paused).id]


def test_undone_transaction_publishes_nothing(app: Flask, database: Database, intake: Intake) -> None:
    to_everything(app)
    line = json.dumps(sent(1)).encode()
    with pytest.raises(RuntimeError, match="undone"), writing(database.engine) as connection:
        assert ingest_within(connection, database, intake, [line], "test").accepted == 1
        raise RuntimeError("undone")
    assert deliveries(database) == []


def statements(app: Flask, *events: dict[str, object]) -> list[str]:
    """The statements about webhooks that feeding these events takes."""
    seen: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_: object) -> None:
        if "webhook" in statement:
            seen.append(statement)

    sql_event.listen(part_of(app, Database).feed, "before_cursor_execute", note)
    try:
        feed(app, *events)
    finally:
        sql_event.remove(part_of(app, Database).feed, "before_cursor_execute", note)
    return seen


def test_unsubscribed_batch_costs_one_lookup(app: Flask) -> None:
    assert len(statements(app, *(sent(n) for n in range(1, 21)))) == 1
    assert len(statements(app, sent(1), sent(2))) == 0  # nothing changes
    to_subjects(app, [OTHER])
    assert len(statements(app, *(sent(n) for n in range(21, 41)))) == 2
    to_everything(app)
    assert len(statements(app, *(sent(n) for n in range(41, 61)))) == 3
