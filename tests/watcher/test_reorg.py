"""Where two branches part: at any depth, with few headers stored, and when the node is merely behind."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import pytest

from app.values.identifiers import BlockNumber
from app.watcher.rules.blocks import Header, ImpossibleAnswer
from app.watcher.rules.reorg import Fork, Unanswered, find_fork
from tests.watcher.logs import block_hash, header

MOST = 1000


def chain(last: int, fork: int | None = None, branch: str = "b") -> dict[int, Header]:
    """Blocks 0 to ``last``; those from ``fork`` on are of another branch."""
    blocks = {}
    for number in range(last + 1):
        mine = "a" if fork is None or number < fork else branch
        parents = "a" if fork is None or number <= fork else branch
        blocks[number] = header(number, mine, parent_branch=parents)
    return blocks


class Node:
    """A node's answers, and how many requests it got."""

    def __init__(self, blocks: Mapping[int, Header]) -> None:
        self.blocks, self.rounds, self.headers = blocks, 0, 0

    def __call__(self, numbers: Sequence[BlockNumber]) -> dict[BlockNumber, Header]:
        self.rounds += 1
        self.headers += len(numbers)
        return {number: self.blocks[number] for number in numbers if number in self.blocks}

    @property
    def head(self) -> Header:
        return self.blocks[max(self.blocks)]


def search(stored: Sequence[Header], node: Node, most: int = MOST) -> Fork | None:
    return find_fork(stored, node.head, node, most)


def stored_of(*numbers: int) -> list[Header]:
    return [header(number) for number in numbers]


def test_fork_search_ends_at_unchanged_newest_hash() -> None:
    node = Node(chain(2000))
    assert search(stored_of(*range(1001)), node) is None
    assert node.rounds == 1


@pytest.mark.parametrize("depth", [1, 2, 3, 7, 16, 17, 64, 500, 999, 1000])
def test_fork_is_found_with_every_header_stored(depth: int) -> None:
    last = 1200
    fork = last - depth + 1
    node = Node(chain(last + 3, fork))
    assert search(stored_of(*range(last + 1)), node) == Fork(
        ancestor=header(fork - 1), from_block=BlockNumber(fork), replaced=block_hash(fork)
    )
    assert node.rounds <= 5 and node.headers <= 60


FORKS: dict[str, tuple[Sequence[int], int, int | None, Fork | None]] = {
    "nothing was read yet": ((), 9, None, None),
    # What lies between two stored ones is read again, and what was reported of it is taken back.
    "few headers are stored": (
        (10, 20, 30, 40),
        41,
        25,
        Fork(header(20), BlockNumber(21), block_hash(30)),
    ),
    "a parent narrows it": ((10, 20, 30, 40), 41, 30, Fork(header(29), BlockNumber(30), block_hash(30))),
    # No stored header between: no logs there. So nothing was reported of it that had to be taken back.
    "a wide gap": ((10, 1500, 1510), 1520, 1499, Fork(header(10), BlockNumber(1500), block_hash(1500))),
    "below all that is stored": ((100, 105), 110, 90, Fork(None, BlockNumber(100), block_hash(100))),
    "at the first that is stored": (
        (100, 105),
        110,
        100,
        Fork(header(99), BlockNumber(100), block_hash(100)),
    ),
    "at the very first block": ((0, 1), 3, 0, Fork(None, BlockNumber(0), block_hash(0))),
    "the node lags by one": ((80, 90, 98, 100), 99, None, None),
    "the node lags": ((80, 90, 98, 100), 97, None, None),
    "the node lags behind all that is stored": ((98, 100), 50, None, None),
    "a shorter branch": ((80, 90, 98, 100), 95, 85, Fork(header(80), BlockNumber(81), block_hash(90))),
    "a shorter branch from its end on": (
        (80, 96, 100),
        95,
        95,
        Fork(header(80), BlockNumber(81), block_hash(96)),
    ),
}
"""The headers that are stored, the newest block of the node, where its branch begins, and what is found."""


@pytest.mark.parametrize(("stored", "last", "fork", "found"), FORKS.values(), ids=list(FORKS))
def test_fork_is_found(stored: Sequence[int], last: int, fork: int | None, found: Fork | None) -> None:
    assert search(stored_of(*stored), Node(chain(last, fork))) == found


def test_contradicting_node_is_refused() -> None:
    with pytest.raises(ImpossibleAnswer, match="block 100 is on the chain, but block 60 below it is not"):
        search(stored_of(60, 100, 105), Node(chain(110) | {60: header(60, "b"), 105: header(105, "b")}))


def test_node_with_other_blocks_is_refused() -> None:
    with pytest.raises(ImpossibleAnswer, match="block 7 for block 100"):
        search(stored_of(100), Node(chain(110) | {100: header(7)}))


def test_node_omitting_required_block_is_unanswered() -> None:
    blocks = chain(110)
    del blocks[100]
    with pytest.raises(Unanswered):
        search(stored_of(100), Node(blocks))


def test_head_that_changes_is_unanswered() -> None:
    with pytest.raises(Unanswered):
        find_fork(stored_of(100), header(100, "c"), Node(chain(100)), MOST)


def test_random_forks_and_random_headers() -> None:
    """The search against looking at every block."""
    chance = random.Random(13)
    for _ in range(150):
        last = chance.randrange(1, 400)
        fork = chance.randrange(0, last + 3)
        stored = stored_of(
            *sorted({*chance.sample(range(last + 1), chance.randrange(0, min(last, 30))), last})
        )
        node = Node(chain(last + chance.randrange(3), fork))
        found = search(stored, node)
        gone = [each for each in stored if node.blocks[each.number].hash != each.hash]
        if not gone:
            assert found is None
            continue
        assert isinstance(found, Fork)
        assert found.replaced == gone[0].hash
        first = stored[0].number if found.ancestor is None else found.ancestor.number + 1
        assert first <= max(fork, stored[0].number) and found.from_block <= gone[0].number
        below = [each for each in stored if each.number < gone[0].number]
        assert found.ancestor is None or found.ancestor.number < fork
        assert (found.ancestor is None) == ((not below and fork < gone[0].number) or gone[0].number == 0)
