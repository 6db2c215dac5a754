"""Nodes index logs after they have the block: those that report it are read as far as they have them."""

from __future__ import annotations

import pytest

from tests.watcher.fake_node import Call
from tests.watcher.kit import Watched, send
from tests.watcher.nodes.behaviours import is_logs, refused_calls

LATE = 5
"""Blocks."""


@pytest.mark.parametrize(
    ("urls", "most", "words"),
    [(1, LATE, "block range extends beyond current head block"), (2, 0, "indexing is in progress")],
)
def test_chain_is_read_as_far_as_its_logs_are(watched: Watched, urls: int, most: int, words: str) -> None:
    def is_late(call: Call) -> bool:
        newest = watched.chain.head.number - LATE
        return is_logs(call) and int(call["params"][0]["toBlock"], 16) > newest

    watched.add_urls(urls - 1)
    watched.chain.mine_many(30)
    watched.nodes[0].behaviours = [refused_calls(words, when=is_late)]
    reader = watched.reader()
    for number in range(10):
        watched.chain.mine(send(number))
        for _ in range(4):
            watched.turn(reader)
        assert watched.chain.head.number - watched.row.live_to == most
    watched.nodes[0].behaviours = []
    watched.settle(reader)
    watched.expect_undisturbed()
