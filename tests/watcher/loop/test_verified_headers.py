"""A header proves something only where its fields give its hash."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from app.watcher.rules.proofs import EMPTY_ROOT
from tests.watcher.fake_node import FakeNode
from tests.watcher.kit import Watched, leaves_out, send
from tests.watcher.loop.proven import again, expect, mine, unmatched
from tests.watcher.nodes.behaviours import blocks


@pytest.mark.parametrize("wrong", [0, 1])
def test_header_that_gives_its_hash_decides(watched: Watched, wrong: int) -> None:
    """One URL changed a field of a header. The second one leaves out all logs."""
    mine(watched)
    watched.nodes.append(FakeNode(watched.chain, omit=lambda _log: True))
    watched.nodes[wrong].behaviours = [blocks("0x14", lambda _block: {"gasUsed": "0x1"})]
    watched.settle(watched.reader())
    expect(watched, [])


@pytest.mark.parametrize("voice", ["one", "another"])
def test_url_of_the_same_provider_confirms_nothing(watched: Watched, voice: str) -> None:
    mine(watched)
    watched.nodes[0].receipts = False
    watched.nodes.append(FakeNode(watched.chain, receipts=False))
    reader = watched.reader()
    first, second = reader.view.nodes.usable()
    first.voice, second.voice = "one", voice
    watched.settle(reader)
    assert watched.row.proven_to == (None if voice == "one" else watched.chain.head.number - 6)


NOTHING: dict[str, Any] = {
    "receiptsRoot": f"0x{EMPTY_ROOT.hex()}",
    "transactions": [],
    "logsBloom": f"0x{bytes(256).hex()}",
}


@pytest.mark.parametrize("fields", [["receiptsRoot", "transactions"], ["logsBloom"], list(NOTHING)], ids=str)
def test_unverified_header_proves_nothing(watched: Watched, fields: Sequence[str]) -> None:
    """It shows that the block is empty, and its URL leaves out the send. The right header shows that."""
    mine(watched)
    node = watched.nodes[0]
    node.omit = leaves_out(send(20))
    node.behaviours = [blocks("0x14", lambda _block: {name: NOTHING[name] for name in fields})]
    reader = watched.reader()
    watched.settle(reader)
    assert unmatched(watched) == [20]
    node.behaviours = []
    again(watched, reader)
    expect(watched, [])
