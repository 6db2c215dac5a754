"""One URL returns false logs: the proof takes back what was reported of them, and all that followed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from app.db.database import Database
from app.db.engine import reading
from app.network.models import ReportedValidatorSet
from app.transfers.models import Anomaly
from app.values.codes import TransferHistoryStatus as Status
from app.watcher.loop.reader import Reader
from tests.watcher.fake_chain import FakeLog
from tests.watcher.kit import (
    ELSEWHERE,
    NAMES,
    Watched,
    executed,
    leaves_out,
    liquidity,
    queued,
    relay,
    rotation,
    send,
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
    stored = watched.row
    assert stored.proven_to == watched.chain.head.number - 6
    assert [(miss.missing, miss.surplus) for miss in watched.missed] == list(differences)
    assert stored.differed == len(differences)
    assert {miss.source for miss in watched.missed} <= {NAMES[0]}


def test_omitted_delay_of_relay_is_found(watched: Watched) -> None:
    payouts_of(watched, 7, 8)
    watched.chain.mine_many(3)
    watched.chain.mine(relay(8), queued(7, "payout"), relay(7, tx="payout"))
    watched.nodes[0].omit = leaves_out(queued(7, "payout"))
    reader = read(watched)
    assert (watched.status(7), watched.status(8)) == (Status.TRANSFER_COMPLETED, Status.TRANSFER_COMPLETED)
    prove(watched, reader)
    assert (watched.status(7), watched.status(8)) == (Status.TRANSFER_DELAYED, Status.TRANSFER_COMPLETED)
    is_proven(watched, (1, 1))
    watched.chain.mine(executed(7))
    watched.settle(reader)
    assert watched.status(7) == Status.TRANSFER_COMPLETED


def test_omitted_delay_is_found_after_execution(watched: Watched, client: FlaskClient) -> None:
    payouts_of(watched, 7)
    watched.chain.mine(queued(7, "payout"), relay(7, tx="payout"))
    watched.nodes[0].omit = leaves_out(queued(7, "payout"))
    reader = read(watched)
    execution = watched.chain.mine(executed(7))
    watched.settle(reader)
    prove(watched, reader)
    answer = client.post("/v2/getTransferStatus", json={"transfer_id": f"0x{7:064x}"}).get_json()
    assert answer["status"] == Status.TRANSFER_COMPLETED
    assert answer["dst_block_tx_link"].endswith(execution.transactions[0][0])
    is_proven(watched, (1, 1))


@pytest.mark.parametrize(
    ("next_to", "always"),
    [
        pytest.param(ELSEWHERE, True, id="in a block of others, always"),
        pytest.param(relay(8), False, id="next to a true one, at first"),
    ],
)
def test_invented_payout_is_retracted(
    database: Database, watched: Watched, next_to: FakeLog, always: bool
) -> None:
    payouts_of(watched, 7, 8)
    watched.chain.mine_many(3)
    false = watched.chain.mine(next_to)
    watched.chain.mine_many(8)
    node = watched.nodes[0]
    node.invent = {false.number: [relay(7)]}
    reader = read(watched)
    assert watched.status(7) == Status.TRANSFER_COMPLETED
    if not always:
        node.invent = {}
    prove(watched, reader)
    assert watched.status(7) == Status.TRANSFER_SUBMITTING
    assert watched.status(8) == (
        Status.TRANSFER_SUBMITTING if next_to is ELSEWHERE else Status.TRANSFER_COMPLETED
    )
    is_proven(watched, (0, 1))
    with reading(database.engine) as connection:
        assert not connection.execute(select(Anomaly.kind)).all()


def test_empty_block_needs_no_receipts(watched: Watched) -> None:
    payouts_of(watched, 7)
    watched.chain.mine(ELSEWHERE)
    watched.chain.mine_many(12)
    reader = watched.reader()
    watched.settle(reader)
    watched.nodes[0].receipts = False
    watched.nodes[0].invent = {16: [relay(7)]}
    watched.chain.mine_many(4)
    reader.poll()
    assert watched.status(7) == Status.TRANSFER_COMPLETED
    watched.chain.mine_many(12)
    watched.settle(reader)
    assert watched.status(7) == Status.TRANSFER_SUBMITTING
    is_proven(watched, (0, 1))


def test_proof_removes_invented_send_and_status(watched: Watched) -> None:
    watched.chain.mine()
    watched.chain.mine(ELSEWHERE)
    watched.chain.mine_many(7)
    watched.nodes[0].invent = {2: [send(1), liquidity(5, 70)]}
    reader = read(watched)
    assert watched.status(1) == Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION
    prove(watched, reader)
    assert watched.status(1) == Status.TRANSFER_UNKNOWN
    assert [pool for pool in watched.answers["pools"] if pool["sent"] or pool["added"]] == []
    is_proven(watched, (0, 2))


def test_omitted_rotation_is_found(database: Database, watched: Watched) -> None:
    signers = [bytes([number]) * 20 for number in (1, 2, 3)]
    watched.chain.mine(rotation(*signers[:2]))
    watched.chain.mine(rotation(*signers))
    watched.nodes[0].omit = leaves_out(rotation(*signers))
    reader = read(watched)
    prove(watched, reader)
    with reading(database.engine) as connection:
        (members,) = connection.execute(select(ReportedValidatorSet.members)).one()
    assert [signer.lower() for signer, _ in members] == [f"0x{signer.hex()}" for signer in signers]
    is_proven(watched, (1, 0))


def test_false_delay_is_corrected_after_execution(watched: Watched) -> None:
    """The execution is a true log. What it paid was reported by a false one."""
    payouts_of(watched, 7, 8)
    chain, node = watched.chain, watched.nodes[0]
    chain.mine(queued(7, "payout"), relay(7, tx="payout"))
    true, false = relay(7).data, relay(7).data[:-32] + relay(8).data[-32:]
    node.change = replaces(true, false)
    reader = read(watched)
    assert (watched.status(7), watched.status(8)) == (Status.TRANSFER_SUBMITTING, Status.TRANSFER_DELAYED)
    chain.mine(executed(7))
    watched.settle(reader)
    assert (watched.status(7), watched.status(8)) == (Status.TRANSFER_SUBMITTING, Status.TRANSFER_COMPLETED)
    prove(watched, reader)
    assert (watched.status(7), watched.status(8)) == (Status.TRANSFER_COMPLETED, Status.TRANSFER_SUBMITTING)
    stored = watched.row
    assert (stored.proven_to, stored.differed) == (chain.head.number - 6, 1)


def test_restart_finds_unwritten_correction(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    payouts_of(watched, 7)
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
    assert (watched.status(7), watched.row.proven_to, watched.row.differed) == (
        Status.TRANSFER_COMPLETED,
        None,
        0,
    )
    watched.settle(watched.reader())
    assert watched.status(7) == Status.TRANSFER_DELAYED
    is_proven(watched, (1, 1))


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_reports_of_unwatched_contract_stay(watched: Watched) -> None:
    vault = b"\xbb" * 20
    watched.changes = {"vaults": frozenset({vault})}
    watched.chain.mine(send(1), FakeLog(vault, send(2).topics, send(2).data))
    reader = read(watched)
    del reader
    watched.changes = {}
    prove(watched, watched.reader())
    assert watched.status(1) == Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION
    is_proven(watched)
