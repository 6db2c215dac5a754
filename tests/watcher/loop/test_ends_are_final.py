"""When an end is final: where two URLs returned it, or the others had ten minutes to deny it."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta

import pytest
from flask.testing import FlaskClient

from app.values.codes import TransferHistoryStatus as Status
from app.watcher.loop.reader import Reader
from app.watcher.rpc.faults import RpcFault
from tests.watcher.kit import Watched, leaves_out, relay, send
from tests.watcher.loop.proven import payouts_of
from tests.watcher.loop.table import DELIVERED, INVENTED, PAYOUT, PENDING, SEND, Chain, World, does


def is_final(client: FlaskClient) -> bool:
    answer = client.post("/v2/getTransferStatus", json={"transfer_id": "0x" + (7).to_bytes(32, "big").hex()})
    return answer.headers["X-Transfer-Terminal"] == "true"


def pay(watched: Watched, urls: int) -> Reader:
    """A payout that is deep enough, which the first URL returned while the others did not answer."""
    payouts_of(watched, 7)
    watched.add_urls(urls - 1)
    watched.chain.mine(send(1))
    reader = watched.reader()
    watched.settle(reader)
    for other in watched.nodes[1:]:
        other.fault = lambda _body: (500, {}, b"")
    watched.chain.mine(relay(7))
    reader.poll()
    watched.chain.mine_many(50)
    poll(watched, reader)
    return reader


def poll(watched: Watched, reader: Reader, seconds: float = 100) -> None:
    """Poll, after so many seconds of every clock."""
    now = reader.view.clock() + timedelta(seconds=seconds)
    reader.view.clock = lambda: now
    watched.time.go(seconds)
    with suppress(RpcFault):
        reader.poll()


@pytest.mark.parametrize("urls", [1, 2, 3])
def test_end_of_one_url_is_final_after_ten_minutes(watched: Watched, client: FlaskClient, urls: int) -> None:
    reader = pay(watched, urls)
    assert is_final(client) == (urls == 1)
    for _ in range(4):
        poll(watched, reader)
    assert is_final(client) == (urls == 1)
    for _ in range(4):
        poll(watched, reader)
    assert is_final(client)


def test_end_is_final_once_another_url_returns_it(watched: Watched, client: FlaskClient) -> None:
    reader = pay(watched, 2)
    watched.nodes[1].fault = lambda _body: None
    poll(watched, reader)
    assert is_final(client)


def test_end_that_was_final_stays_against_one_denial(watched: Watched, client: FlaskClient) -> None:
    reader = pay(watched, 2)
    for _ in range(8):
        poll(watched, reader)
    assert is_final(client)
    watched.nodes[0].receipts = watched.nodes[1].receipts_of_blocks = False
    watched.nodes[1].fault, watched.nodes[1].omit = lambda _body: None, leaves_out(relay(7))
    watched.nodes[1].change = lambda method, result: (
        result | {"logs": []} if method == "eth_getTransactionReceipt" and result else result
    )
    for _ in range(40):
        poll(watched, reader)
    assert any(doubt.disputed for doubt in reader.view.readings.doubts.values())
    assert (watched.status(7), is_final(client)) == (Status.TRANSFER_COMPLETED, True)


def test_url_without_the_block_is_waited_for(watched: Watched) -> None:
    world = World(watched, 2, Chain.NO_ROOTS)
    number = watched.chain.head.number + 1
    does("invents a payout, with receipts that hold it")(watched.nodes[0], number)
    watched.nodes[1].behind = 12
    world.mine(10)
    world.polls(20, seconds=10)
    assert world.status(INVENTED) == DELIVERED
    watched.nodes[1].behind = 0
    world.polls(1, seconds=700)
    world.polls(2)
    assert world.status(INVENTED) == PENDING


def test_disproved_end_stays_retracted(watched: Watched) -> None:
    world = World(watched, 2, Chain.NO_ROOTS)
    world.nodes[1].receipts_of_blocks = False  # one by one they match
    world.goes_on()
    number = world.mine(1, SEND, PAYOUT)
    does("invents a payout, with receipts that hold it")(watched.nodes[0], number)
    world.polls(3)
    assert (world.status(INVENTED), number in world.doubts) == (PENDING, False)
    world.nodes[1].receipts_of_blocks = True
    world.begin()
    for _ in range(20):
        world.mine()
        world.polls(2, seconds=100)
        assert world.status(INVENTED) == PENDING
