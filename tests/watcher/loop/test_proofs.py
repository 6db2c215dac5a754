"""One URL alone tells false logs: the proof takes back what was reported of them, and all that followed."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.network.models import ReportedValidatorSet
from app.transfers.models import Anomaly
from app.watcher.loop.reader import Reader
from app.watcher.queries import waiting_facts
from app.watcher.rpc.faults import RpcFault
from app.watcher.rules.steps import WaitingKind
from tests.everyday import volume
from tests.feed.services.world import forget_events
from tests.watcher.fake_chain import FakeLog
from tests.watcher.fake_node import FakeNode
from tests.watcher.kit import (
    CHAIN,
    ELSEWHERE,
    NAMES,
    REFUNDED,
    Watched,
    answers,
    executed,
    leaves_out,
    liquidity,
    missed,
    queued,
    refund,
    relay,
    rotation,
    row,
    send,
    status,
)
from tests.watcher.loop.proven import payouts_of


def replaces(true: bytes, false: bytes) -> Callable[[str, Any], Any]:
    """Other data in the logs of a range; the receipts have the true ones."""
    return lambda method, result: (
        [log | {"data": log["data"].replace(true.hex(), false.hex())} for log in result]
        if method == "eth_getLogs"
        else result
    )


def read(watched: Watched) -> Reader:
    """Read to the head, without a proof."""
    reader = watched.reader()
    watched.nodes[0].receipts = False
    watched.settle(reader)
    return reader


def prove(watched: Watched, reader: Reader) -> None:
    """Let all that was read become final and be proven."""
    watched.nodes[0].receipts = True
    watched.chain.mine_many(12)
    reader.verifiable_at = 0
    watched.settle(reader)


def is_proven(watched: Watched, *differences: tuple[int, int]) -> None:
    """All final blocks are, and these differences were counted and raised."""
    kept = row(watched.database)
    assert kept.proven_to == watched.chain.head.number - 6
    assert [(miss.missing, miss.surplus) for miss in missed(watched.database)] == list(differences)
    assert kept.differed == len(differences)
    assert {miss.source for miss in missed(watched.database)} <= {NAMES[0]}


def test_an_omitted_delay_of_a_relay(app: Flask, watched: Watched, client: FlaskClient) -> None:
    payouts_of(app, 7, 8)
    watched.chain.mine_many(3)
    watched.chain.mine(relay(8), queued(7, "payout"), relay(7, tx="payout"))
    watched.nodes[0].omit = leaves_out(queued(7, "payout"))
    reader = read(watched)
    assert (status(client, 7), status(client, 8)) == (5, 5)
    prove(watched, reader)
    assert (status(client, 7), status(client, 8)) == (11, 5)
    is_proven(watched, (1, 1))
    watched.chain.mine(executed(7))
    watched.settle(reader)
    assert status(client, 7) == 5


def test_an_omitted_delay_of_a_refund(watched: Watched, client: FlaskClient) -> None:
    watched.chain.mine(send(REFUNDED))
    watched.chain.mine(queued(REFUNDED, "refund"), refund(REFUNDED, tx="refund"))
    watched.chain.mine_many(5)
    watched.nodes[0].omit = leaves_out(queued(REFUNDED, "refund"))
    reader = read(watched)
    assert status(client, REFUNDED) == 10
    prove(watched, reader)
    assert status(client, REFUNDED) == 9
    is_proven(watched, (1, 1))
    watched.chain.mine(executed(REFUNDED, 1000))
    watched.chain.mine_many(4)
    watched.settle(reader)
    assert status(client, REFUNDED) == 10


def test_omitted_delay_is_found_after_execution(app: Flask, watched: Watched, client: FlaskClient) -> None:
    payouts_of(app, 7)
    watched.chain.mine(queued(7, "payout"), relay(7, tx="payout"))
    watched.nodes[0].omit = leaves_out(queued(7, "payout"))
    reader = read(watched)
    execution = watched.chain.mine(executed(7))
    watched.settle(reader)
    prove(watched, reader)
    asked = client.post("/v2/getTransferStatus", json={"transfer_id": f"0x{7:064x}"}).get_json()
    assert asked["status"] == 5
    assert asked["dst_block_tx_link"].endswith(execution.transactions[0][0])
    is_proven(watched, (1, 1))


@pytest.mark.parametrize("beside", [ELSEWHERE, relay(8)], ids=["in a block of others", "beside a true one"])
@pytest.mark.parametrize("always", [True, False], ids=["always", "at first"])
def test_an_invented_payout(
    app: Flask, database: Database, watched: Watched, client: FlaskClient, beside: FakeLog, always: bool
) -> None:
    payouts_of(app, 7, 8)
    watched.chain.mine_many(3)
    false = watched.chain.mine(beside)
    watched.chain.mine_many(8)
    node = watched.nodes[0]
    node.invent = {false.number: [relay(7)]}
    reader = read(watched)
    assert status(client, 7) == 5
    if not always:
        node.invent = {}
    prove(watched, reader)
    assert status(client, 7) == 1
    assert status(client, 8) == (1 if beside is ELSEWHERE else 5)
    is_proven(watched, (0, 1))
    with reading(database.engine) as connection:
        assert not connection.execute(select(Anomaly.kind)).all()


def test_empty_block_needs_no_receipts(app: Flask, watched: Watched, client: FlaskClient) -> None:
    payouts_of(app, 7)
    watched.chain.mine(ELSEWHERE)
    watched.chain.mine_many(12)
    reader = watched.reader()
    watched.settle(reader)
    watched.nodes[0].receipts = False
    watched.nodes[0].invent = {16: [relay(7)]}
    watched.chain.mine_many(4)
    reader.poll()
    assert status(client, 7) == 5
    watched.chain.mine_many(12)
    watched.settle(reader)
    assert status(client, 7) == 1
    is_proven(watched, (0, 1))


def test_invented_payout_is_corrected_later(app: Flask, watched: Watched, client: FlaskClient) -> None:
    """At the head, by a node that is honest again."""
    payouts_of(app, 7)
    watched.chain.mine_many(18)
    watched.chain.mine(ELSEWHERE)
    watched.chain.mine_many(1)
    watched.nodes[0].invent = {20: [relay(7)]}
    reader = watched.reader()
    reader.poll()
    reader.poll()
    assert status(client, 7) == 5
    watched.nodes[0].invent = {}
    watched.chain.mine_many(12)
    watched.settle(reader)
    assert status(client, 7) == 1
    is_proven(watched, (0, 1))


def test_an_omitted_send(watched: Watched, client: FlaskClient) -> None:
    watched.chain.mine(send(1), send(2))
    watched.nodes[0].omit = leaves_out(send(1))
    reader = read(watched)
    assert status(client, 1) == 0
    prove(watched, reader)
    assert (status(client, 1), status(client, 2)) == (3, 3)
    is_proven(watched, (1, 0))


def test_invented_send_takes_its_confirmation(
    database: Database, watched: Watched, client: FlaskClient
) -> None:
    watched.chain.mine()
    watched.chain.mine(ELSEWHERE)
    watched.chain.mine_many(7)
    watched.nodes[0].invent = {2: [send(1), liquidity(5, 70)]}
    reader = read(watched)
    assert status(client, 1) == 3
    prove(watched, reader)
    assert status(client, 1) == 0
    assert [pool for pool in answers(database)["pools"] if pool["sent"] or pool["added"]] == []
    is_proven(watched, (0, 2))


def test_an_omitted_rotation(database: Database, watched: Watched, client: FlaskClient) -> None:
    signers = [bytes([number]) * 20 for number in (1, 2, 3)]
    watched.chain.mine(rotation(*signers[:2]))
    watched.chain.mine(rotation(*signers))
    watched.nodes[0].omit = leaves_out(rotation(*signers))
    reader = read(watched)
    prove(watched, reader)
    with reading(database.engine) as connection:
        (told,) = connection.execute(select(ReportedValidatorSet.members)).one()
    assert [signer.lower() for signer, _ in told] == [f"0x{signer.hex()}" for signer in signers]
    is_proven(watched, (1, 0))


def test_altered_log_under_true_id(app: Flask, watched: Watched, client: FlaskClient) -> None:
    """With another amount and receiver."""
    payouts_of(app, 7, 8)
    watched.chain.mine(relay(7))
    node = watched.nodes[0]
    node.change = replaces(relay(7).data, relay(8, 1).data)
    reader = read(watched)
    assert (status(client, 7), status(client, 8)) == (1, 5)
    node.change = lambda _method, result: result
    prove(watched, reader)
    assert (status(client, 7), status(client, 8)) == (5, 1)
    is_proven(watched, (1, 1))


def test_a_false_delay_that_was_executed(
    app: Flask, database: Database, watched: Watched, client: FlaskClient
) -> None:
    """The execution is a true log. What it paid was told by a false one."""
    payouts_of(app, 7, 8)
    chain, node = watched.chain, watched.nodes[0]
    chain.mine(queued(7, "payout"), relay(7, tx="payout"))
    true, false = relay(7).data, relay(7).data[:-32] + relay(8).data[-32:]
    node.change = replaces(true, false)
    reader = read(watched)
    assert (status(client, 7), status(client, 8)) == (1, 11)
    chain.mine(executed(7))
    watched.settle(reader)
    assert (status(client, 7), status(client, 8)) == (1, 5)
    prove(watched, reader)
    assert (status(client, 7), status(client, 8)) == (5, 1)
    kept = row(database)
    assert (kept.proven_to, kept.differed) == (chain.head.number - 6, 1)


def test_restart_finds_unwritten_correction(
    app: Flask, database: Database, watched: Watched, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    payouts_of(app, 7)
    watched.chain.mine(queued(7, "payout"), relay(7, tx="payout"))
    watched.nodes[0].omit = leaves_out(queued(7, "payout"))
    reader = read(watched)
    watched.chain.mine_many(12)
    watched.settle(reader)
    watched.nodes[0].receipts = True
    monkeypatch.setattr("app.watcher.services.advance._store_misses", _killed)
    reader.verifiable_at = 0
    with pytest.raises(KeyboardInterrupt):
        watched.settle(reader)
    monkeypatch.undo()
    assert (status(client, 7), row(database).proven_to, row(database).differed) == (5, None, 0)
    watched.settle(watched.reader())
    assert status(client, 7) == 11
    is_proven(watched, (1, 1))


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_reports_of_unwatched_contract_stand(watched: Watched, client: FlaskClient) -> None:
    vault = b"\xbb" * 20
    watched.changes = {"vaults": frozenset({vault})}
    watched.chain.mine(send(1), FakeLog(vault, send(2).topics, send(2).data))
    reader = read(watched)
    del reader
    watched.changes = {}
    prove(watched, watched.reader())
    assert status(client, 1) == 3
    is_proven(watched)


def test_two_honest_urls_are_never_corrected(database: Database, watched: Watched) -> None:
    watched.nodes.append(FakeNode(watched.chain))
    watched.chain.mine(queued(7, "payout"), relay(7, tx="payout"), send(1))
    watched.chain.mine(executed(7))
    watched.chain.mine_many(120)
    watched.settle(watched.reader())
    is_proven(watched)
    assert not {each.kind for each in _waiting(database)} & {WaitingKind.QUEUED, WaitingKind.EXECUTED}


def _waiting(database: Database) -> Any:
    with reading(database.engine) as connection:
        return waiting_facts(connection, CHAIN)


@pytest.mark.one_database
@pytest.mark.parametrize("seed", range(volume(100, 6)))
def test_single_lying_url_changes_no_answer(
    app: Flask, database: Database, watched: Watched, seed: int
) -> None:
    """Whatever it leaves out, invents and alters."""
    rng, (node,) = random.Random(seed), watched.nodes
    numbers, unpaid = count(1), list[int]()

    def mine() -> None:
        watched.chain.mine(*some_logs(rng, next(numbers), unpaid))

    for _ in range(40):
        mine()
    node.omit = lambda log: random.Random(f"{seed} {log['data']}").random() < 0.2
    node.invent = {n: some_logs(rng, rng.randrange(60), [n]) for n in range(1, 40) if rng.random() < 0.2}
    true, false = relay(rng.randrange(40)).data, relay(rng.randrange(40)).data
    node.change = replaces(true, false)
    reader = watched.reader()
    for _ in range(rng.randrange(40)):
        watched.time.go(100)
        with suppress(RpcFault):
            rng.choice([reader.poll, reader.background, reader.reread, reader.prove])()
        if rng.random() < 0.1:
            reader = watched.reader()
        if rng.random() < 0.2:
            mine()
    watched.chain.mine_many(12)
    watched.settle(reader)
    found = answers(database)
    assert row(database).proven_to == watched.chain.head.number - 6
    node.omit, node.invent, node.change = (lambda _log: False), {}, lambda _method, result: result
    forget_events(app)
    watched.settle(watched.reader())
    assert found == answers(database)


def some_logs(rng: random.Random, number: int, unpaid: list[int]) -> list[FakeLog]:
    """What a block may hold.

    :param unpaid: payouts in the delay queue.
    """
    tx = f"payout {number}"
    paid = [executed(unpaid.pop(rng.randrange(len(unpaid))))] if unpaid and rng.random() < 0.5 else []
    kinds: list[list[FakeLog]] = [
        [],
        [send(number)],
        [relay(number)],
        [queued(number, tx), relay(number, tx=tx)],
        [liquidity(number, 5), ELSEWHERE],
    ]
    chosen = rng.sample(kinds, 1) + rng.sample(kinds[:2], 1)
    if kinds[3] in chosen:
        unpaid.append(number)
    return [log for kind in (paid, *chosen) for log in kind]
