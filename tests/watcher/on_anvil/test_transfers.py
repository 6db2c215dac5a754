"""Transfers of every kind on two real EVMs, read by the watcher: each status in its time."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pytest
from flask import Flask
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from app.transfers.models import Event
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import checksum_address
from demo.chains import LEFT, POOL, RIGHT, USDX, USERS
from demo.contracts import events_of
from demo.transfers import Send, liquidity_withdrawal
from tests.watcher.on_anvil.conftest import START
from tests.watcher.on_anvil.plan import AFTER, BLOCK_SECONDS, CHAINS, FIRST_TURN, Plan, large
from tests.watcher.on_anvil.stage import Chains, report, statuses
from tests.watcher.on_anvil.watching import Watching

pytestmark = [pytest.mark.one_database, pytest.mark.system]

WAYS = {
    "paid": (0, 1, 3, 4, 5),
    "paid late": (0, 1, 3, 4, 11, 5),
    "refunded": (0, 1, 3, 6, 7, 8, 9, 10),
    "refunded late": (0, 1, 3, 6, 7, 8, 9, 10),
}


def played(app: Flask, chains: Chains, watching: Watching, plan: Plan, more: int = 8) -> Iterator[int]:
    """The turns, each after it was mined, read and reported; the plan may be added to meanwhile."""
    turn = FIRST_TURN
    while turn < plan.last + more:
        for chain in CHAINS:
            chains.mine(plan, chain, turn)
            assert watching.poll(chain), watching.faults
        report(app, plan, turn)
        yield turn
        turn += 1


def test_every_status_in_its_time(app: Flask, chains: Chains, watching: Watching) -> None:
    plan = Plan(START)
    endings = dict(zip(WAYS, (plan.paid, plan.paid, plan.refunded, plan.refunded), strict=True))
    named: dict[str, str] = {}
    for like in plan.every_kind():
        for name, ending in endings.items():
            late = name.endswith("late")
            send = plan.new(like, **({"amount": large(like)} if late else {}))
            ending(FIRST_TURN + 1, send, delayed=late)
            named[send.text] = name
    seen: dict[str, list[int]] = {send.text: [] for send in plan.sends}
    for _ in played(app, chains, watching, plan):
        for text, number in statuses(app, plan.sends).items():
            seen[text].append(number)
    for text, numbers in seen.items():
        assert tuple(number for number, _ in itertools.groupby(numbers)) == WAYS[named[text]], named[text]
    assert (watching.troubles, watching.faults) == ([], [])
    paid = [send for send in plan.sends if named[send.text] == "paid"]
    assert_latency_is_counted(app, plan, paid)
    assert_ids_are_those_of_the_logs(app, chains, paid)


def assert_latency_is_counted(app: Flask, plan: Plan, paid: list[Send]) -> None:
    """Between any two chains; the middle is that of the transfers that no contract held back."""
    for src, dst in (CHAINS, CHAINS[::-1]):
        latency = (
            app.test_client()
            .get(
                "/v2/getLatest7DayTransferLatencyForQuery",
                query_string={"src_chain_id": src, "dst_chain_id": dst},
            )
            .get_json()
        )
        assert latency["err"] is None
        assert latency["median_transfer_latency_in_second"] % BLOCK_SECONDS == 0
        assert BLOCK_SECONDS * 6 <= latency["median_transfer_latency_in_second"] <= BLOCK_SECONDS * 12


def assert_ids_are_those_of_the_logs(app: Flask, chains: Chains, paid: list[Send]) -> None:
    """The id of an event is that of its log, and of a further fact of it with the type (docs/ingest.md)."""
    with reading(part_of(app, Database).engine) as connection:
        stored = set(connection.scalars(select(Event.event_id)))
    client = app.test_client()
    for send in paid:
        answer = client.post("/v2/getTransferStatus", json={"transfer_id": send.text}).get_json()
        tx_hash = answer["src_block_tx_link"].rpartition("/")[2]
        receipt = chains.nodes[send.chain].receipt(tx_hash)
        assert receipt is not None
        log = receipt["logs"][-1]
        fact = f"{send.chain}:{log['blockHash']}:{tx_hash}:{int(log['logIndex'], 16)}"
        assert {fact, f"{fact}:transfer.confirmed"} <= stored
        assert send.id in events_of(receipt)[-1][1].values()


def test_send_of_orphaned_block_is_retracted(app: Flask, chains: Chains, watching: Watching) -> None:
    """Its transaction is mined again, with another time and so in another block; another one is not."""
    plan, node = Plan(START), chains.nodes[LEFT]
    stays, goes = (plan.new(like) for like in plan.every_kind()[:4:3])
    node.mine(plan.time(FIRST_TURN))
    below = node.snapshot()
    for branch, sends in enumerate(([stays, goes], [stays])):
        for send in sends:
            send.call().send(node)
        for more in range(1, 3 + branch):
            node.mine(plan.time(FIRST_TURN + more) + branch)
        assert watching.poll(LEFT), watching.faults
        expected = {send.text: Status.TRANSFER_SUBMITTING if send in sends else 0 for send in plan.sends}
        assert statuses(app, plan.sends) == expected
        if not branch:
            node.revert(below)


def test_pools_and_validators_follow_the_logs(
    app: Flask, chains: Chains, watching: Watching, database: Database
) -> None:
    plan = Plan(START)
    for chain in (LEFT, RIGHT):
        plan.call(3, chain, POOL.call(USERS[5], "addLiquidity", USDX.address, 5_000_000))
    native = next(like for like in plan.every_kind() if like.native)
    plan.paid(4, plan.new(native))
    plan.rotate(6)
    plan.call(7, RIGHT, liquidity_withdrawal(RIGHT, USERS[5], 1_200_000, 77, plan.validators(RIGHT, 7)))
    for _ in played(app, chains, watching, plan):
        pass
    with reading(database.engine) as connection:
        rows = connection.execute(select(Event.type, Event.chain_id, Event.body).order_by(Event.seq))
        events = [json.loads(row.body) | {"type": row.type, "chain_id": row.chain_id} for row in rows]
    added = [event for event in events if event["type"] == "liquidity.added"]
    assert {(each["chain_id"], each["symbol"], each["amount"]) for each in added} == {
        (LEFT, "USDX", "5000000"), (RIGHT, "USDX", "5000000")
    }  # fmt: skip
    [taken] = [event for event in events if event["type"] == "liquidity.withdrawn"]
    assert (taken["chain_id"], taken["symbol"], taken["amount"]) == (RIGHT, "USDX", "1200000")
    [sent] = [event for event in events if event["type"] == "transfer.sent"]
    assert (sent["symbol"], sent["amount"]) == ("COIN", str(native.amount))
    rotations = [event for event in events if event["type"] == "validators.updated"]
    last = [each for each in rotations if each["chain_id"] == LEFT][-1]
    assert last["signers"] == [checksum_address(who) for who in AFTER.signers]
    assert last["powers"] == [str(power) for power in AFTER.signer_powers]
