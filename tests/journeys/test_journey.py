"""What is shown of one transfer: every status and reason of the sandbox, and corners of a small network."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from flask import Flask
from sqlalchemy import insert

from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.latency.services import median_latency
from app.network.snapshot import SnapshotSource
from app.refunds.services import refund_evidence
from app.sandbox.catalogue import SANDBOX_TRANSFERS
from app.transfer_page.rules.steps import FollowedTransfer, NotSeen, StepName
from app.transfer_page.rules.words import REFUSED_BECAUSE
from app.transfer_page.services import follow_transfer
from app.transfers.models import PrunedTransfer
from app.transfers.rules.progress import NextActor
from app.transfers.rules.stuck import Progress
from app.transfers.services.status import transfer_status
from app.values.codes import FINISHED_STATUSES, RESTING_STATUSES
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import ChainId, TransferId
from tests.applications import Applications, change_part
from tests.databases import SharedDatabase
from tests.feed.services.world import (
    KEYS,
    NOW,
    SENDER,
    about,
    event,
    feed,
    prepared,
    released,
    request,
    sent,
    signature,
    signed,
    small_network,
    transfer_id,
)
from tests.sandboxes import SANDBOX_NOW, fill_sandbox

DONE, CURRENT, TO_COME = Progress.DONE, Progress.CURRENT, Progress.TO_COME


@pytest.fixture
def app(app: Flask, shared_database: SharedDatabase) -> Flask:
    return small_network(app, shared_database, clock=lambda: NOW)


@pytest.fixture
def sandbox(applications: Applications, shared_database: SharedDatabase) -> Iterator[Flask]:
    application = applications.opener(shared_database, lambda: SANDBOX_NOW)()
    with application.app_context():
        fill_sandbox(shared_database, application)
        yield application


def follow(app: Flask, key: str) -> FollowedTransfer:
    followed = follow_transfer(part_of(app, Database), part_of(app, SnapshotSource), key)
    assert isinstance(followed, FollowedTransfer)
    return followed


def steps(followed: FollowedTransfer) -> dict[StepName, Progress]:
    return {step.name: step.progress for step in followed.steps}


def test_every_sandbox_transfer_is_followed(sandbox: Flask) -> None:
    """All twelve statuses and all reasons, and nothing else than the public answers have."""
    headlines: dict[Status, set[str]] = {status: set() for status in Status}
    for transfer in SANDBOX_TRANSFERS:
        key = TransferId(bytes.fromhex(transfer.transfer_id[2:]))
        got, answer = (
            follow(sandbox, transfer.transfer_id),
            transfer_status(
                part_of(sandbox, Database),
                part_of(sandbox, SnapshotSource),
                key,
            ),
        )
        assert (got.transfer_id, got.status) == (transfer.transfer_id, transfer.status)
        headlines[got.status].add(got.explanation.headline)
        why = REFUSED_BECAUSE.get(transfer.refund_reason, "\0").rpartition("%(transfer)s")[2]
        assert (why in got.explanation.now) == (got.status == Status.TRANSFER_TO_BE_REFUNDED)
        links = {tx.link for tx in got.transactions}
        assert {answer.src_block_tx_link, answer.dst_block_tx_link} - {""} <= links
        progress = [step.progress for step in got.steps]
        assert progress.count(CURRENT) == (0 if got.status in RESTING_STATUSES else 1), transfer
        assert got.progress.terminal == (got.status in FINISHED_STATUSES)
        assert (got.progress.next_actor is NextActor.USER) == (
            got.status in (Status.TRANSFER_TO_BE_REFUNDED, Status.TRANSFER_REFUND_TO_BE_CONFIRMED)
        )
        assert (got.claim is not None) == (got.status == Status.TRANSFER_REFUND_TO_BE_CONFIRMED)
        assert (got.held is not None) == (got.status == Status.TRANSFER_DELAYED)
        assert (got.pace is not None) <= (
            got.status
            in (
                Status.TRANSFER_SUBMITTING,
                Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION,
                Status.TRANSFER_WAITING_FOR_FUND_RELEASE,
            )
        )
        assert all(step.at for step in got.steps if step.progress is DONE and step.name is got.steps[-1].name)
        if claim := got.claim:
            evidence = refund_evidence(part_of(sandbox, Database), part_of(sandbox, SnapshotSource), key)
            assert (claim.call, claim.contract, claim.chain_id) == (
                evidence.call,
                evidence.contract,
                evidence.chain_id,
            )
            assert [argument.type for argument in claim.call.arguments] == [
                "bytes",
                "bytes[]",
                "address[]",
                "uint256[]",
            ]
            assert claim.receiver.lower() == got.sender.lower() and claim.may_refuse
            assert claim.explorer.startswith("https://")
    assert all(headlines.values())
    assert len(set().union(*headlines.values())) >= len(Status)


def test_transfer_is_followed_to_payout(app: Flask) -> None:
    feed(app, about(1, "transfer.submitted", at=-120, **_submission()))
    got = follow(app, transfer_id(1))
    assert got.explanation.headline == "Waiting for Chain 1"
    assert steps(got) == {
        StepName.SENT: CURRENT,
        StepName.FINAL: TO_COME,
        StepName.CHECKED: TO_COME,
        StepName.PAID_OUT: TO_COME,
    }
    feed(app, sent(1, at=-100), about(1, "transfer.confirmed", at=-80, block=100))
    got = follow(app, transfer_id(1))
    assert (got.src, got.dst, got.sent, got.received) == ("Chain 1", "Chain 2", "1 000 USDT", "")
    assert (got.sender, got.receiver) == (SENDER, SENDER)
    assert [step.label for step in got.steps] == [
        "Sent on Chain 1",
        "Final on Chain 1",
        "Check by the bridge",
        "Payout on Chain 2",
    ]
    assert [*steps(got).values()] == [DONE, DONE, CURRENT, TO_COME]
    assert [step.at for step in got.steps] == [
        NOW - timedelta(seconds=100),
        NOW - timedelta(seconds=80),
        None,
        None,
    ]
    feed(
        app,
        about(1, "network.status", at=-70, xfer_status=2),
        about(1, "transfer.delayed", at=-60, **_delay()),
    )
    got = follow(app, transfer_id(1))
    assert got.status is Status.TRANSFER_DELAYED and got.pace is None
    assert got.held and got.held.chain == "Chain 2" and got.held.call is not None
    assert got.held.call.function == "executeDelayedTransfer"
    assert steps(got)[StepName.HELD] is DONE and steps(got)[StepName.PAID_OUT] is CURRENT
    feed(app, released(1, at=-10, amount="999500000000000000000", block=7))
    got = follow(app, transfer_id(1))
    assert (got.status, got.received, got.held) == (Status.TRANSFER_COMPLETED, "999.5 USDT", None)
    assert [(tx.what, tx.link) for tx in got.transactions] == [
        ("Your transaction on Chain 1", f"https://scan1.example/tx/0x{'01' * 32}"),
        ("The payout on Chain 2", f"https://scan2.example/tx/0x{'ee' * 32}"),
    ]


def test_transfer_is_followed_to_refund(app: Flask) -> None:
    feed(app, sent(1), about(1, "network.status", at=-60, xfer_status=3))
    got = follow(app, transfer_id(1))
    assert (got.status, steps(got)[StepName.REFUND_REQUESTED]) == (Status.TRANSFER_TO_BE_REFUNDED, CURRENT)
    wd = request(1)
    feed(app, prepared(1, wd), signed(1, signature(wd, KEYS[1])))
    got = follow(app, transfer_id(1))
    assert (got.status, got.claim, steps(got)[StepName.REFUND_PREPARED]) == (
        Status.TRANSFER_REQUESTING_REFUND,
        None,
        CURRENT,
    )
    feed(app, signed(1, signature(wd, KEYS[0])))
    got = follow(app, transfer_id(1))
    assert got.claim and (got.claim.call.function, got.claim.chain) == ("withdraw", "Chain 1")
    assert steps(got)[StepName.REFUND_CONFIRMED] is CURRENT
    paying = "0x" + "d1" * 32
    feed(app, about(1, "refund.submitted", at=-20, tx_hash=paying))
    got = follow(app, transfer_id(1))
    assert (got.claim, got.held) == (None, None)
    assert got.explanation.headline == "Your refund is on its way"
    assert [(tx.what, tx.tx_hash) for tx in got.transactions][-1] == ("Your refund on Chain 1", paying)
    feed(app, about(1, "refund.delayed", at=-15, delayed_id="0x" + "5e" * 32, tx_hash=paying))
    got = follow(app, transfer_id(1))
    assert got.explanation.headline == "Your refund is held back for some time"
    assert got.held and got.held.chain == "Chain 1"
    assert steps(got)[StepName.REFUND_HELD] is DONE
    feed(app, about(1, "refund.completed", at=-5, tx_hash=paying))
    got = follow(app, transfer_id(1))
    assert (got.status, got.held, got.progress.terminal) == (Status.TRANSFER_REFUNDED, None, True)
    assert set(steps(got).values()) == {DONE}


def test_orphaned_transfer_has_no_steps(app: Flask) -> None:
    feed(app, sent(1), about(1, "transfer.confirmed", at=-80, block=100))
    feed(app, event("chain.reorged", at=-60, chain_id=1, from_block=90))
    got = follow(app, transfer_id(1))
    assert (got.status, set(steps(got).values())) == (Status.TRANSFER_UNKNOWN, {TO_COME})


def test_transfer_is_found_by_transaction(app: Flask, database: Database, snapshots: SnapshotSource) -> None:
    both, payout = "0x" + "77" * 32, "0x" + "ee" * 32
    feed(app, sent(1), released(1), sent(2, src_tx_hash=both), sent(3, src_tx_hash=both))
    assert follow(app, "0x" + "01" * 32).transfer_id == transfer_id(1)
    assert follow(app, payout).transfer_id == transfer_id(1)
    several = follow_transfer(database, snapshots, both)
    assert not isinstance(several, FollowedTransfer | NotSeen)
    assert sorted(each.transfer_id for each in several) == [transfer_id(2), transfer_id(3)]
    assert {each.words for each in several} == {"Your transfer of 1 000 USDT from Chain 1 to Chain 2"}


def test_unknown_transfer_is_reported(app: Flask, database: Database, snapshots: SnapshotSource) -> None:
    nothing = follow_transfer(database, snapshots, transfer_id(9))
    assert isinstance(nothing, NotSeen)
    assert (nothing.key, nothing.ended, nothing.read) == (transfer_id(9), None, [])
    feed(app, sent(1, at=-100))
    nothing = follow_transfer(database, snapshots, "5wHu1qwD7q2ggbJyc8X4nz")
    assert isinstance(nothing, NotSeen)
    assert [(chain.chain, chain.block, chain.age) for chain in nothing.read] == [
        ("Chain 1", 100, timedelta(seconds=100))
    ]
    with writing(database.engine) as connection:
        connection.execute(
            insert(PrunedTransfer), {"transfer_id": bytes.fromhex(transfer_id(9)[2:]), "status": 10}
        )
    pruned = follow_transfer(database, snapshots, transfer_id(9))
    assert isinstance(pruned, NotSeen)
    assert pruned.ended is Status.TRANSFER_REFUNDED


def test_pace_is_median_of_chains(app: Flask, database: Database, snapshots: SnapshotSource) -> None:
    feed(app, sent(1, at=-100), sent(7, at=-100, src_chain_id=2, dst_chain_id=1))
    assert follow(app, transfer_id(7)).pace is None
    for n, seconds in enumerate((60, 70, 90, 80, 400), 2):
        feed(app, sent(n, at=-3600), released(n, at=-3600 + seconds))
    pace = follow(app, transfer_id(1)).pace
    assert pace is not None
    assert (
        pace.median
        == timedelta(seconds=median_latency(database, snapshots, ChainId(1), ChainId(2)))
        == timedelta(seconds=80)
    )
    assert pace.p90 == timedelta(seconds=400)
    assert pace.usual_end == NOW - timedelta(seconds=20) and not pace.is_late
    change_part(app, Database, clock=lambda: NOW + timedelta(seconds=301))
    pace = follow(app, transfer_id(1)).pace
    assert pace is not None and pace.is_late


def test_links_need_https_and_amounts_decimals(app: Flask, database: Database) -> None:
    with database.engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE chains SET explore_url = 'http://scan1.example' WHERE chain_id = 1"
        )
    feed(app, sent(1, symbol="NEW"))
    got = follow(app, transfer_id(1))
    assert (got.sent, [tx.link for tx in got.transactions]) == ("", [""])
    assert "Your transfer from Chain 1 to Chain 2" in got.explanation.now


def _submission() -> dict[str, object]:
    return {
        "src_chain_id": 1,
        "dst_chain_id": 2,
        "symbol": "USDT",
        "amount": "1000000000",
        "sender": SENDER,
        "receiver": SENDER,
        "src_tx_hash": "0x" + "01" * 32,
    }


def _delay() -> dict[str, object]:
    return {"delayed_id": "0x" + "5e" * 32, "dst_tx_hash": "0x" + "dd" * 32}
