"""What one of two URLs invents when blocks are read a second time is no more final than at the first time.

No receipts match on these chains: nothing but the other URL decides.
"""

from __future__ import annotations

from datetime import UTC, datetime

from tests.feed.services.world import NOW, event, feed, sent
from tests.watcher.fake_chain import START, FakeLog
from tests.watcher.fake_node import FalseBlock
from tests.watcher.kit import CHAIN, OTHER, TOKEN, USER, Watched, log_of, queued, relay
from tests.watcher.loop.table import DELIVERED, INVENTED, PAID, PENDING, Chain, World, unrelated

AT = (datetime.fromtimestamp(START, UTC) - NOW).total_seconds()
VAULT = b"\xbb" * 20
FROM_VAULT = int("cd" * 32, 16)
POLLS = 15


def invents(world: World, number: int, log: FakeLog) -> None:
    """The first URL has a log in this block that the other one denies."""
    world.nodes[0].false[number] = FalseBlock((unrelated(number), log), "false", True)


def served(world: World, number: int) -> list[int]:
    """The polls after which a transfer is answered as paid."""
    found = []
    for poll in range(POLLS):
        world.mine()
        world.polls(1, 5)
        if world.status(number) == DELIVERED:
            found.append(poll)
    return found


def test_payout_of_a_contract_that_was_added(watched: Watched) -> None:
    world = World(watched, 2, Chain.NO_ROOTS)
    feed(watched.app, sent(FROM_VAULT, AT, src_chain_id=OTHER, dst_chain_id=CHAIN, amount=str(990 * 10**12)))
    number = world.mine()
    world.goes_on()
    watched.changes["vaults"] = frozenset({VAULT})
    signature = "Withdrawn(bytes32,address,address,uint256,uint64,bytes32,address)"
    values = (FROM_VAULT % 10**9, USER, TOKEN, 990, OTHER, FROM_VAULT, USER)
    invents(world, number, log_of(signature, *values, tx="false", address=VAULT))
    world.begin()
    assert len(served(world, FROM_VAULT)) <= 2
    assert world.status(FROM_VAULT) != DELIVERED


def test_payout_below_the_first_block_of_before(watched: Watched) -> None:
    for number in range(30):
        watched.chain.mine(unrelated(number + 1))
    watched.from_block = 31
    world = World(watched, 2, Chain.NO_ROOTS)
    world.goes_on()
    watched.from_block = 1
    invents(world, 5, relay(INVENTED, tx="false"))
    world.begin()
    assert len(served(world, INVENTED)) <= 2
    assert world.status(INVENTED) == PENDING


def test_payout_after_a_reporter_took_blocks_back(watched: Watched) -> None:
    world = World(watched, 2, Chain.NO_ROOTS)
    number = world.watched.chain.head.number + 1
    invents(world, number, relay(INVENTED, tx="false"))
    world.mine()
    world.polls(3)
    assert world.status(INVENTED) == PENDING
    feed(watched.app, event("chain.reorged", "reorg", AT, chain_id=CHAIN, from_block=number))
    assert len(served(world, INVENTED)) <= 2
    assert world.status(INVENTED) == PENDING


def test_payout_after_a_contract_was_removed(watched: Watched) -> None:
    watched.changes["vaults"] = frozenset({VAULT})
    world = World(watched, 2, Chain.NO_ROOTS)
    number = world.mine()
    world.polls(2)
    watched.changes["vaults"] = frozenset()
    invents(world, number, relay(INVENTED, tx="false"))
    world.begin()
    assert len(served(world, INVENTED)) <= 2
    assert world.status(INVENTED) == PENDING


def test_payout_whose_queueing_one_url_leaves_out(watched: Watched) -> None:
    world = World(watched, 2, Chain.NO_ROOTS)
    number = world.watched.chain.head.number + 1
    invents(world, number, relay(PAID, tx="payout"))
    world.mine(1, queued(PAID, "payout"), relay(PAID, tx="payout"))
    assert len(served(world, PAID)) <= 2
    world.goes_on()
    assert world.status(PAID) != DELIVERED
