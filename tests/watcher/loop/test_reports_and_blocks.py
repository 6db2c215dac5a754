"""Reports of others against what the blocks of a watched chain hold."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import event as of_engine
from sqlalchemy import select

from app.db.engine import reading
from app.transfers.models import Anomaly, Event
from app.values.identifiers import BlockNumber
from app.watcher.queries import new_reports_of_others
from tests.feed.services.world import NOW, event, feed, released, sent
from tests.watcher.fake_chain import START
from tests.watcher.fake_node import FalseBlock
from tests.watcher.kit import CHAIN, OTHER, Watched, executed, queued, relay
from tests.watcher.loop.table import DELIVERED, INVENTED, PAID, PAYOUT, PENDING, Chain, World, unrelated

AT = (datetime.fromtimestamp(START, UTC) - NOW).total_seconds() + 60


def report(world: World, number: int, block: int, **fields: Any) -> None:
    """A reporter reports that a block of the watched chain has a payout."""
    feed(world.watched.app, released(number, AT, chain_id=CHAIN, block=block, amount="990", **fields))


def anomalies(world: World) -> list[str]:
    with reading(world.watched.database.engine) as connection:
        kind = Anomaly.kind == "report_contradicts_block"
        return list(connection.scalars(select(Anomaly.detail).where(kind)))


def reasons(world: World) -> list[str]:
    """Why events were retracted."""
    with reading(world.watched.database.engine) as connection:
        bodies = connection.scalars(select(Event.body).where(Event.type == "events.retracted"))
        return list(bodies)


def our_log(world: World, number: int) -> dict[str, Any]:
    """The log of the watched contract in a block."""
    logs = world.watched.chain.blocks[number].logs_json
    (log,) = (log for log in logs if log["address"] == f"0x{relay(PAID).address.hex()}")
    return log


def id_of(log: dict[str, Any]) -> str:
    """The id of the event of a log."""
    return f"{CHAIN}:{log['blockHash']}:{log['transactionHash']}:{int(log['logIndex'], 16)}"


@pytest.mark.parametrize("same_id", [True, False])
def test_report_of_suspended_payout_counts(watched: Watched, *, same_id: bool) -> None:
    """One of two URLs returns a payout. The other one denies it as soon as it answers."""
    world = World(watched, 2, Chain.NO_ROOTS)
    world.nodes[1].fault = lambda _body: (500, {}, b"")
    number = world.mine(1, PAYOUT)
    world.nodes[1].false[number] = FalseBlock((unrelated(number),), "false", lists=True)
    world.polls(1)
    assert world.status(PAID) == DELIVERED
    log, block = our_log(world, number), watched.chain.blocks[number]
    fields = {"block": number, "amount": "990", "dst_tx_hash": log["transactionHash"]}
    same = released(PAID, block.at - NOW.timestamp(), chain_id=CHAIN, **fields)
    result = feed(watched.app, same | ({"id": id_of(log)} if same_id else {}))
    assert (result.accepted, result.repeated) == ((0, 1) if same_id else (1, 0))
    world.nodes[1].fault = lambda _body: None
    world.polls(10, 2)
    assert world.status(PAID) == DELIVERED


def old_block(world: World) -> int:
    """A block with a transaction and nothing of ours, proven for long."""
    number = world.mine()
    world.goes_on()
    return number


def test_invented_payout_in_proven_block_is_retracted(watched: Watched) -> None:
    world = World(watched, 2)
    block = old_block(world)
    report(world, INVENTED, block)
    assert world.status(INVENTED) == DELIVERED
    world.polls(2)
    assert world.status(INVENTED) == PENDING
    (reason,) = reasons(world)
    assert f"not in block {block} of chain {CHAIN}, which is proven" in reason
    (words,) = anomalies(world)
    assert words.startswith(f"test reported what block {block} of chain {CHAIN} does not hold"), words


def test_retracted_report_counts_for_nothing_again(watched: Watched) -> None:
    world = World(watched, 2)
    block = old_block(world)
    report(world, INVENTED, block)
    world.polls(2)
    report(world, INVENTED, block)
    assert world.status(INVENTED) == PENDING
    world.polls(5)
    assert world.status(INVENTED) == PENDING
    assert len(reasons(world)) == 1


def test_false_payout_is_retracted_once_proven(watched: Watched) -> None:
    world = World(watched, 2)
    report(world, INVENTED, world.mine())
    world.polls(3)
    assert world.status(INVENTED) == DELIVERED
    world.goes_on()
    assert world.status(INVENTED) == PENDING


@pytest.mark.parametrize(("urls", "chain"), [(1, Chain.ALL), (2, Chain.NO_ROOTS)])
def test_unproven_contradiction_is_an_anomaly(watched: Watched, urls: int, chain: Chain) -> None:
    world = World(watched, urls, chain)
    report(world, INVENTED, old_block(world))
    world.polls(5)
    assert world.status(INVENTED) == DELIVERED
    (words,) = anomalies(world)
    assert words.endswith("it counts, as the block is not proven by two providers")


def test_wrong_amount_of_report_is_corrected(watched: Watched) -> None:
    world = World(watched, 2)
    number = world.watched.chain.head.number + 1
    world.mine(1, relay(PAID, tx="payout"))
    log = our_log(world, number)
    false = released(PAID, AT, chain_id=CHAIN, block=number, amount="5", dst_tx_hash=log["transactionHash"])
    feed(watched.app, false | {"id": id_of(log)})
    world.goes_on()
    assert world.see().paid == {990}
    assert world.status(PAID) == DELIVERED
    assert len(anomalies(world)) == 1


def test_report_counts_again_after_reorg(watched: Watched) -> None:
    world = World(watched, 2)
    block = world.mine()
    world.mine(20)
    world.polls(10)
    report(world, INVENTED, block)
    world.polls(2)
    assert world.status(INVENTED) == PENDING
    feed(watched.app, event("chain.reorged", "reorg", AT, chain_id=CHAIN, from_block=block))
    report(world, INVENTED, block)
    assert world.status(INVENTED) == DELIVERED
    assert anomalies(world) == []


def test_true_reports_of_a_reporter_stay(app: Flask, watched: Watched) -> None:
    world = World(watched, 2)
    number = world.watched.chain.head.number + 1
    world.mine(1, relay(PAID, tx="payout"))
    log = our_log(world, number)
    report(world, PAID, number, dst_tx_hash=log["transactionHash"])
    world.goes_on()
    report(world, PAID, number, dst_tx_hash=log["transactionHash"])
    feed(
        app,
        released(PAID, AT, chain_id=CHAIN, block=number, amount="990", dst_tx_hash=log["transactionHash"])
        | {"id": "a second reporter"},
    )
    world.polls(5)
    assert (anomalies(world), reasons(world)) == ([], [])
    assert world.status(PAID) == DELIVERED


def test_reports_of_other_chains_are_ignored(watched: Watched) -> None:
    world = World(watched, 2)
    block = old_block(world)
    feed(watched.app, event("transfer.delayed", "no block", AT, transfer_id="0x" + f"{INVENTED:064x}"))
    feed(watched.app, event("refund.requested", "no log", AT, transfer_id="0x" + f"{PAID:064x}"))
    feed(
        watched.app,
        event("transfer.confirmed", "elsewhere", AT, transfer_id="0x" + f"{PAID:064x}", block=block),
    )
    world.polls(5)
    assert (anomalies(world), reasons(world)) == ([], [])


@pytest.mark.parametrize("off", [-1, 1])
def test_wrong_block_of_report_is_corrected(watched: Watched, off: int) -> None:
    """Under the id of the log itself, so that the watcher cannot report it by that."""
    world = World(watched, 2)
    number = world.mine(1, relay(PAID, tx="payout"))
    world.mine()
    log = our_log(world, number)
    fields = {"dst_tx_hash": log["transactionHash"], "id": id_of(log)}
    feed(watched.app, released(PAID, AT, chain_id=CHAIN, block=number + off, amount="990") | fields)
    world.goes_on()
    world.polls(5)
    assert world.see().paid == {990}
    assert world.status(PAID) == DELIVERED
    assert len(anomalies(world)) == 1


def test_report_without_chain_is_compared_later(watched: Watched) -> None:
    world = World(watched, 2)
    feed(watched.app, released(77, AT, block=old_block(world), amount="990"))
    world.polls(3)
    feed(watched.app, sent(77, AT - 60, src_chain_id=OTHER, dst_chain_id=CHAIN, amount=str(990 * 10**12)))
    assert world.status(77) == DELIVERED
    world.polls(5)
    assert world.status(77) == PENDING


def test_report_of_pruned_block_stops_nothing(watched: Watched) -> None:
    world = World(watched, 2)
    block = old_block(world)
    for node in world.nodes:
        node.oldest = block + 5
    report(world, INVENTED, block)
    for _ in range(40):
        world.mine()
        world.polls()
        assert watched.chain.head.number - watched.row.live_to <= 2
    assert watched.row.proven_to >= watched.chain.head.number - 20
    assert len(anomalies(world)) == 1


def test_execution_hides_no_false_report(watched: Watched) -> None:
    world = World(watched, 2)
    world.mine(1, queued(PAID, "payout"), relay(PAID, tx="payout"))
    block = world.mine(1, executed(PAID))
    world.goes_on()
    assert world.status(PAID) == DELIVERED
    report(world, INVENTED, block)
    world.polls(5)
    assert world.status(INVENTED) == PENDING
    assert world.status(PAID) == DELIVERED


def test_idle_poll_sends_one_query(watched: Watched) -> None:
    feed(watched.app, sent(1))
    queries: list[str] = []
    with reading(watched.database.engine) as connection:
        _, newest = new_reports_of_others(
            connection, CHAIN, BlockNumber(9), reporter="watcher", after=0, limit=10
        )
        assert newest > 0
        of_engine.listen(connection, "before_cursor_execute", lambda *given: queries.append(given[2]))
        nothing_new = new_reports_of_others(
            connection, CHAIN, BlockNumber(9), reporter="watcher", after=newest, limit=10
        )
    assert nothing_new == ([], newest)
    assert len(queries) == 1


def test_new_reports_are_found_by_position(watched: Watched) -> None:
    """However many events the log has of the chain, or of transfers. PostgreSQL chooses by its statistics."""
    plans: list[str] = []

    def explain(_connection: Any, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        cursor.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
        plans.append(str(cursor.fetchall()))

    feed(watched.app, sent(1))
    with reading(watched.database.engine) as connection:
        of_engine.listen(connection, "before_cursor_execute", explain)
        new_reports_of_others(connection, CHAIN, BlockNumber(9), reporter="watcher", after=0, limit=10)
    assert plans
    assert not any("ix_events_chain_id_type_block" in plan or "SCAN events" in plan for plan in plans)
