"""A header proves something only where its fields give its hash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.db.database import Database
from app.watcher.rules.proofs import EMPTY_ROOT
from tests.watcher.fake_chain import FakeBlock
from tests.watcher.fake_node import FakeNode
from tests.watcher.kit import Watched, leaves_out, row, send, status
from tests.watcher.loop.proven import again, expect, level, mine, unmatched
from tests.watcher.nodes.behaviours import blocks


@pytest.mark.parametrize("wrong", [0, 1])
def test_header_of_another_url_decides_where_one_does_not_give_its_hash(
    watched: Watched, client: FlaskClient, wrong: int
) -> None:
    """One URL changed a field of a header. The second one leaves out all logs."""
    mine(watched)
    watched.nodes.append(FakeNode(watched.chain, omit=lambda _log: True))
    watched.nodes[wrong].behaviours = [blocks("0x14", lambda _block: {"gasUsed": "0x1"})]
    watched.settle(watched.reader())
    expect(watched, client, [])


@pytest.mark.parametrize("voice", ["one", "another"])
def test_url_of_the_same_provider_confirms_nothing(database: Database, watched: Watched, voice: str) -> None:
    mine(watched)
    watched.nodes[0].receipts = False
    watched.nodes.append(FakeNode(watched.chain, receipts=False))
    reader = watched.reader()
    first, second = reader.view.nodes.usable()
    first.voice, second.voice = "one", voice
    watched.settle(reader)
    assert row(database).proven_to == (None if voice == "one" else watched.chain.head.number - 6)


@pytest.mark.parametrize("voice", ["one", "another"])
def test_difference_is_not_decided_by_urls_of_one_provider(
    database: Database, watched: Watched, client: FlaskClient, voice: str
) -> None:
    """The first reading lacked a send. Now both return it."""
    late = FakeNode(watched.chain, receipts=False, omit=leaves_out(send(4)))
    watched.nodes[:] = [late, FakeNode(watched.chain, receipts=False)]
    mine(watched, 5)
    reader = watched.reader()
    first, second = reader.view.nodes.usable()
    first.voice, second.voice = "one", voice
    reader.poll()
    late.omit = lambda _log: False
    mine(watched, 20)
    watched.settle(reader)
    assert status(client, 4, {4}) == 3
    assert row(database).proven_to == (None if voice == "one" else watched.chain.head.number - 6)
    assert level(client, 4) == ("reported" if voice == "one" else "proven")


NOTHING: dict[str, Any] = {
    "receiptsRoot": f"0x{EMPTY_ROOT.hex()}",
    "transactions": [],
    "logsBloom": f"0x{bytes(256).hex()}",
}


@pytest.mark.parametrize("fields", [["receiptsRoot", "transactions"], ["logsBloom"], list(NOTHING)], ids=str)
def test_header_that_does_not_give_its_hash_proves_nothing(
    database: Database, watched: Watched, client: FlaskClient, fields: Sequence[str]
) -> None:
    """It says that the block is empty, and its URL leaves out the send. The right header shows that."""
    mine(watched)
    node = watched.nodes[0]
    node.omit = leaves_out(send(20))
    node.behaviours = [blocks("0x14", lambda _block: {name: NOTHING[name] for name in fields})]
    reader = watched.reader()
    watched.settle(reader)
    assert unmatched(database) == [20]
    node.behaviours = []
    again(watched, reader)
    expect(watched, client, [])


def test_block_that_is_forged_as_a_whole_under_its_hash_is_not_proven(
    watched: Watched, client: FlaskClient
) -> None:
    """Its filter, root, receipts and logs have a send more. Only the hash is that of the block."""
    mine(watched, 20)
    true = watched.chain.head
    forged = replace(true, logs=(*true.logs, send(999)))
    mine(watched, 40)
    watched.nodes[0].change = as_if(true, forged)
    reader = watched.reader()
    watched.settle(reader)
    expect(watched, client, [20])
    assert level(client, 999) == "reported"
    watched.nodes[0].change = lambda _method, result: result
    again(watched, reader)
    expect(watched, client, [])
    assert status(client, 999, {999}) == 0


def as_if(true: FakeBlock, forged: FakeBlock) -> Callable[[str, Any], Any]:
    """Answers of a node that has another block under the hash of the true one."""
    here = hex(true.number)

    def change(method: str, result: Any) -> Any:
        if method == "eth_getBlockByNumber" and result and result["number"] == here:
            return forged.header_json | {"hash": true.hash}
        logs = [log | {"blockHash": true.hash} for log in forged.logs_json]
        if method == "eth_getBlockReceipts" and result and result[0]["logs"][0]["blockHash"] == true.hash:
            return forged.receipts_json
        if method == "eth_getLogs" and any(log["blockHash"] == true.hash for log in result):
            return [log for log in result if log["blockNumber"] != here] + logs
        return result

    return change
