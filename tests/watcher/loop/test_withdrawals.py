"""A withdrawal is a refund, a release or nothing of a transfer, by the reference that it names."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from flask import Flask
from sqlalchemy import insert, select

from app.db.database import Database
from app.db.engine import reading, writing
from app.http.application import part_of
from app.network.document import import_within, read_document
from app.network.snapshot import SnapshotSource
from app.transfers.models import Anomaly, PrunedTransfer
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import checksum_address
from app.watcher.loop.reader import Reader
from app.watcher.rules.steps import Waiting, WaitingKind
from app.watcher.services.chains import watched_network
from tests.builders import network as build
from tests.feed.services.world import NOW, event, feed, network
from tests.feed.services.world import sent as send_event
from tests.watcher.fake_chain import FakeLog
from tests.watcher.kit import CHAIN, OTHER, POOL, TOKEN, USER, Watched, log_of, send, sent_id
from tests.watcher.logs import own_id

VAULT, BRIDGE, PEGGED = b"\xab" * 20, b"\xac" * 20, b"\x71" * 20
OTHER_USER = b"\x56" * 20
FREE = int.from_bytes(b"\x66" * 32)
"""A reference that no send has."""
PAYOUT = 99


def id_of(sent: FakeLog) -> int:
    """The transfer id of a send."""
    return int.from_bytes(sent.data[:32])


def pool_send() -> FakeLog:
    signature = "Send(bytes32,address,address,address,uint256,uint64,uint64,uint32)"
    values = USER, USER, TOKEN, 1000, OTHER, 4
    return log_of(signature, own_id("Send", POOL, *values), *values, 5000)


def burn(to: int) -> FakeLog:
    signature = "Burn(bytes32,address,address,uint256,uint64,address,uint64)"
    values = PEGGED, USER, 1000, to, OTHER_USER, 4
    return log_of(signature, own_id("Burn", BRIDGE, *values), *values, address=BRIDGE)


def deposit(to: int) -> FakeLog:
    signature = "Deposited(bytes32,address,address,uint256,uint64,address,uint64)"
    values = USER, TOKEN, 1000, to, OTHER_USER, 4
    return log_of(signature, own_id("Deposited", VAULT, *values), *values, address=VAULT)


def withdraw(reference: int, tx: str = "") -> FakeLog:
    """A withdrawal from the pool."""
    signature = "WithdrawDone(bytes32,uint64,address,address,uint256,bytes32)"
    return log_of(signature, PAYOUT, 5, USER, TOKEN, 1000, reference, tx=tx)


def withdrawn(reference: int, tx: str = "") -> FakeLog:
    """A withdrawal from the vault, which names this chain."""
    signature = "Withdrawn(bytes32,address,address,uint256,uint64,bytes32,address)"
    return log_of(signature, PAYOUT, USER, TOKEN, 990, CHAIN, reference, 0, address=VAULT, tx=tx)


def mint(reference: int, tx: str = "") -> FakeLog:
    """A mint, which names this chain."""
    signature = "Mint(bytes32,address,address,uint256,uint64,bytes32,address)"
    return log_of(signature, PAYOUT, PEGGED, USER, 990, CHAIN, reference, USER, address=BRIDGE, tx=tx)


def queued(contract: bytes, tx: str) -> FakeLog:
    return log_of("DelayedTransferAdded(bytes32)", PAYOUT, address=contract, tx=tx)


def executed(contract: bytes, token: bytes) -> FakeLog:
    signature = "DelayedTransferExecuted(bytes32,address,address,uint256)"
    return log_of(signature, PAYOUT, USER, token, 990, address=contract)


PAYOUTS = {"pool": (POOL, withdraw), "vault": (VAULT, withdrawn), "bridge": (BRIDGE, mint)}
REFUNDS = {
    "pool": (pool_send(), withdraw(id_of(pool_send()))),
    "deposit": (deposit(OTHER), withdrawn(id_of(deposit(OTHER)))),
    "deposit that stays": (deposit(CHAIN), withdrawn(id_of(deposit(CHAIN)))),
    "burn": (burn(OTHER), mint(id_of(burn(OTHER)))),
    "burn to the original chain": (burn(0), mint(id_of(burn(0)))),
}
RELEASES = {
    "burn that stays": (burn(CHAIN), BRIDGE, PEGGED, mint),
    "deposit that stays": (deposit(CHAIN), BRIDGE, PEGGED, mint),
}


@pytest.fixture
def watched(app: Flask, database: Database) -> Watched:
    """Chain 1 with a pool, a vault of its token and a bridge of a token pegged there."""
    document = network()
    of_chain = {"contract_addr": checksum_address(POOL)}
    document["chains"][0] |= of_chain
    document["tokens"][0]["address"] = checksum_address(TOKEN)
    document["tokens"] += [
        build.token(chain, "PEG", checksum_address(address), 18)
        for chain, address in ((1, PEGGED), (2, b"\x72" * 20))
    ]
    unused = checksum_address(b"\x01" * 20)
    document["pegged_pairs"] += [
        build.pair(1, 3, "USDT", checksum_address(VAULT), unused),
        build.pair(2, 1, "PEG", unused, checksum_address(BRIDGE)),
    ]
    with writing(database.engine) as connection:
        import_within(connection, read_document(build.text(document)), NOW)
    return Watched(app, changes={"vaults": frozenset({VAULT}), "bridges": frozenset({BRIDGE})})


def reader_of(watched: Watched) -> Reader:
    return watched.reader(watched_network(watched.database, part_of(watched.app, SnapshotSource)))


def read(watched: Watched, *blocks: Sequence[FakeLog]) -> Reader:
    """Mine these blocks, and more until all of it is final and was read twice."""
    for logs in blocks:
        watched.chain.mine(*logs)
    watched.chain.mine_many(12)
    reader = reader_of(watched)
    watched.settle(reader)
    return reader


def status(app: Flask, transfer_id: int) -> int | str:
    """The status that users are answered, or the reason of the error."""
    query = {"transfer_id": f"0x{transfer_id:064x}"}
    answer = app.test_client().post("/v2/getTransferStatus", json=query)
    reason: str = answer.headers.get("X-Gateway-Reason", "")
    return reason or int(answer.get_json()["status"])


@pytest.mark.parametrize(("contract", "delayed"), list(zip(PAYOUTS, (False, True, True), strict=True)))
def test_withdrawal_without_send_is_no_transfer(
    app: Flask, watched: Watched, contract: str, delayed: bool
) -> None:
    address, payout = PAYOUTS[contract]
    queue = (queued(address, "one"),) if delayed else ()
    token = PEGGED if contract == "bridge" else TOKEN
    later = ((executed(address, token),),) if delayed else ()
    read(watched, (send(7),), (*queue, payout(FREE, tx="one")), *later)
    assert status(app, FREE) == "transfer_not_found"
    assert status(app, int.from_bytes(sent_id(7))) == Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION


@pytest.mark.every_database
@pytest.mark.parametrize("kind", REFUNDS)
def test_withdrawal_for_send_is_refund(app: Flask, watched: Watched, kind: str) -> None:
    sent, paid = REFUNDS[kind]
    watched.chain.mine(sent)
    reader = reader_of(watched)
    watched.settle(reader)
    assert status(app, id_of(sent)) == Status.TRANSFER_SUBMITTING
    watched.chain.mine(paid)
    watched.settle(reader)
    assert status(app, id_of(sent)) == Status.TRANSFER_CONFIRMING_YOUR_REFUND
    watched.chain.mine_many(3)
    watched.settle(reader)
    assert status(app, id_of(sent)) == Status.TRANSFER_REFUNDED


@pytest.mark.parametrize(("kind", "together"), list(zip(RELEASES, (True, False), strict=True)))
def test_mint_for_lasting_send_is_release(app: Flask, watched: Watched, kind: str, together: bool) -> None:
    sent, *_, payout = RELEASES[kind]
    if not together:
        read(watched, (sent,))
    read(watched, (sent,) if together else (), (payout(id_of(sent)),))
    assert status(app, id_of(sent)) == Status.TRANSFER_COMPLETED
    query = {"acct_addr": checksum_address(USER), "page_size": 5}
    [shown] = app.test_client().get("/v2/transferHistory", query_string=query).get_json()["history"]
    assert shown["dst_received_info"]["amount"] == "990"


@pytest.mark.parametrize("kind", RELEASES)
def test_delayed_mint_for_lasting_send_is_release(app: Flask, watched: Watched, kind: str) -> None:
    sent, address, token, payout = RELEASES[kind]
    read(watched, (sent,), (queued(address, "one"), payout(id_of(sent), tx="one")))
    assert status(app, id_of(sent)) == Status.TRANSFER_DELAYED
    read(watched, (executed(address, token),))
    assert status(app, id_of(sent)) == Status.TRANSFER_COMPLETED


@pytest.mark.parametrize(("sent", "delayed", "expected"), [(burn(OTHER), True, 10), (burn(CHAIN), False, 5)])
def test_early_withdrawal_waits_for_its_send(
    app: Flask, watched: Watched, sent: FakeLog, delayed: bool, expected: int
) -> None:
    """Live reading has come to the withdrawal before the backfill comes to the send."""
    chain = watched.chain
    chain.mine(sent)
    chain.mine_many(20)
    chain.mine(*([queued(BRIDGE, "one")] if delayed else []), mint(id_of(sent), tx="one"))
    if delayed:
        chain.mine(executed(BRIDGE, PEGGED))
    chain.mine_many(4)
    reader = reader_of(watched)
    while reader.poll():
        pass
    assert status(app, id_of(sent)) == "transfer_not_found"
    watched.settle(reader)
    chain.mine()
    watched.settle(reader)
    assert status(app, id_of(sent)) == expected


def report_status(app: Flask, transfer_id: int) -> None:
    """The validators report a status of the transfer, whose send nobody has reported."""
    fact = event("network.status", transfer_id=f"0x{transfer_id:064x}", xfer_status=2)
    assert feed(app, fact).accepted == 1


def unknown(reader: Reader) -> list[Waiting]:
    """What waits until its transfer is known."""
    return [each for each in reader.view.readings.waiting if each.kind is WaitingKind.UNKNOWN]


EARLY = {
    "burn that stays": (burn(CHAIN), BRIDGE, mint, 5),
    "deposit that stays": (deposit(CHAIN), BRIDGE, mint, 5),
    "burn": (burn(OTHER), BRIDGE, mint, 10),
    "deposit": (deposit(OTHER), VAULT, withdrawn, 10),
    "burn that a vault pays": (burn(CHAIN), VAULT, withdrawn, 5),
}


@pytest.mark.parametrize(("kind", "delayed"), list(zip(EARLY, itertools.cycle((False, True)), strict=False)))
def test_validator_status_does_not_decide_payout(
    app: Flask, watched: Watched, kind: str, delayed: bool
) -> None:
    """Live reading has come to the payout of a reported transfer before the backfill comes to its send."""
    sent, contract, payout, expected = EARLY[kind]
    chain = watched.chain
    chain.mine(sent)
    chain.mine_many(20)
    report_status(app, id_of(sent))
    chain.mine(*([queued(contract, "one")] if delayed else []), payout(id_of(sent), tx="one"))
    if delayed:
        chain.mine(executed(contract, PEGGED if contract == BRIDGE else TOKEN))
    chain.mine_many(4)
    reader = reader_of(watched)
    while reader.poll():
        pass
    before = status(app, id_of(sent))
    assert before == 4
    chain.mine()
    reader.poll()
    assert status(app, id_of(sent)) == before
    watched.settle(reader)
    chain.mine_many(12)
    watched.settle(reader)
    assert status(app, id_of(sent)) == expected
    assert unknown(reader) == []


def test_validator_status_decides_pool_refund(app: Flask, watched: Watched) -> None:
    """A pool pays nothing else for a transfer of its own chain."""
    report_status(app, FREE)
    read(watched, (), (withdraw(FREE),))
    assert status(app, FREE) == Status.TRANSFER_REFUNDED


def test_payout_of_pruned_send_waits_for_nothing(database: Database, watched: Watched) -> None:
    """Nothing new about it is accepted, whatever it is."""
    with writing(database.engine) as connection:
        transfer_id = FREE.to_bytes(32, "big")
        connection.execute(insert(PrunedTransfer).values(transfer_id=transfer_id, status=10))
    reader = read(watched, (), (mint(FREE),))
    assert unknown(reader) == []


def test_withdrawal_waits_for_reported_send(app: Flask, watched: Watched) -> None:
    reader = read(watched, (), (mint(FREE),))
    assert status(app, FREE) == "transfer_not_found"
    burned = send_event(
        0, kind="burn", src_chain_id=int(CHAIN), dst_chain_id=int(OTHER), symbol="PEG", amount="1000"
    )
    assert feed(app, burned | {"transfer_id": f"0x{FREE:064x}"}).accepted == 1
    watched.chain.mine()
    watched.settle(reader)
    assert status(app, FREE) == Status.TRANSFER_REFUNDED


def test_relay_on_the_source_completes_nothing(app: Flask, database: Database, watched: Watched) -> None:
    """A node invents it for a transfer that is paid on another chain."""
    signature = "Relay(bytes32,address,address,address,uint256,uint64,bytes32)"
    paid = log_of(signature, PAYOUT, USER, OTHER_USER, TOKEN, 990, OTHER, id_of(pool_send()))
    read(watched, (pool_send(),), (paid,))
    assert status(app, id_of(pool_send())) == Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION
    with reading(database.engine) as connection:
        assert connection.scalars(select(Anomaly.kind)).all() == ["read_on_another_chain"]
