"""A transfer's page: its way, the events behind it, its refund signer by signer, the reply to its user."""

from __future__ import annotations

import json
import re

import pytest
from flask import Flask

from app.console.transfers.detail import TransferDetail, reply_to_user, transfer_detail
from app.console.transfers.labels import NEXT_ACTOR_WORDS
from app.db.database import Database
from app.db.engine import reading
from app.feed.services.retract import retract_ids
from app.http.application import part_of
from app.network.snapshot import SnapshotSource
from app.refunds.queries import load_histories
from app.sandbox.catalogue import SANDBOX_TRANSFERS
from app.transfers.rules.events.event_types import RefundSigned, TransferConfirmed
from app.transfers.rules.history import EventOutcome, event_outcomes
from app.transfers.rules.progress import NextActor
from app.transfers.rules.stuck import Progress, StageName
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import address_of, checksum_address
from app.values.errors import GatewayError
from app.values.identifiers import TransferId
from tests.actors import TESTER
from tests.applications import Audited
from tests.feed.services.world import (
    KEYS,
    NOW,
    about,
    event,
    feed,
    prepared,
    released,
    request,
    sent,
    signature,
    signed,
    transfer_id,
)

pytestmark = pytest.mark.one_database
"""What is read is tested in the services, on both."""

INTERNAL = re.compile(
    r"TRANSFER_|XferStatus|BAD_|wd_onchain|validator|quorum|signature|signer|status \d|feed\b|reorg|event\b"
    r"|retract|projection|None|smallest unit|ppm\b",
    re.IGNORECASE,
)


def detail(app: Flask, shown_id: str) -> TransferDetail:
    key = TransferId(bytes.fromhex(shown_id[2:]))
    return transfer_detail(part_of(app, Database), part_of(app, SnapshotSource), key)


def progress(of: TransferDetail) -> dict[StageName, Progress]:
    return {stage.name: stage.progress for stage in of.stages}


def test_unknown_id_is_refused(app: Flask) -> None:
    with pytest.raises(GatewayError, match="transfer not found"):
        detail(app, transfer_id(1))


@pytest.mark.every_database
def test_detail_of_completed_transfer(app: Flask) -> None:
    feed(
        app,
        sent(1, at=-100),
        about(1, "transfer.confirmed", at=-80, block=100),
        about(1, "network.status", at=-70, xfer_status=2),
        released(1, at=-10, amount="999500000000000000000", block=7),
    )
    got = detail(app, transfer_id(1))
    assert progress(got) == {
        StageName.SUBMITTED: Progress.SKIPPED,
        StageName.SENT: Progress.DONE,
        StageName.CONFIRMED: Progress.DONE,
        StageName.DECIDED: Progress.DONE,
        StageName.RELEASED: Progress.DONE,
    }
    assert [(stage.at - NOW).total_seconds() for stage in got.stages if stage.at] == [-100, -80, -70, -10]
    assert (str(got.line.amount), str(got.paid_out)) == ("1000 USDT", "999.5 USDT")
    assert got.paid_out and got.paid_out.units == 999500000000000000000
    assert got.src_transaction and got.src_transaction.link == f"https://scan1.example/tx/0x{'01' * 32}"
    assert got.dst_transaction and got.dst_transaction.link == f"https://scan2.example/tx/0x{'ee' * 32}"
    assert (got.block_delay, got.kind, got.refund, got.refund_reason) == (10, "Pool transfer", None, "")
    assert [(line.label, line.words, line.chain, line.block) for line in got.events] == [
        (
            "Source transaction in a block",
            "1000 USDT from Chain 1 to Chain 2 (pool transfer)",
            "Chain 1",
            100,
        ),
        ("Source block final", "", "Chain 1", 100),
        ("Decision of the validators", "approved: it will be paid out (SUCCESS)", "", None),
        ("Paid out on the destination", "999.5 USDT", "Chain 2", 7),
    ]
    assert all(line.canonical and not line.why_not_counted and line.reporter == "test" for line in got.events)


def test_event_orphaned_again_shows_reason(app: Flask) -> None:
    """The reorganisation was repeated when it was too late for a new one."""
    reported = [sent(1, event_id="send"), event("chain.reorged", at=-60, chain_id=1, from_block=90)]
    feed(app, *reported, event("chain.head", chain_id=1, block=5000))
    feed(app, *reported)
    reason = "Its block was orphaned: Chain 1 reorganised from block 90"
    assert [line.why_not_counted for line in detail(app, transfer_id(1)).events] == [reason] * 2


def test_orphaned_event_shows_reason(app: Flask, audited: Audited) -> None:
    feed(app, sent(1, at=-100, event_id="send"), about(1, "transfer.confirmed", at=-80, block=100))
    feed(app, event("chain.reorged", at=-60, chain_id=1, from_block=90))
    unknown = detail(app, transfer_id(1))
    assert unknown.line.status is Status.TRANSFER_UNKNOWN
    assert set(progress(unknown).values()) == {Progress.TO_COME}
    reason = "Its block was orphaned: Chain 1 reorganised from block 90"
    assert [(line.canonical, line.why_not_counted) for line in unknown.events] == [(False, reason)] * 2
    feed(
        app,
        sent(1, at=-100, event_id="send"),
        about(1, "network.status", at=-5, xfer_status=4, event_id="bad"),
    )
    retract_ids(*audited, ["bad"], "a typing error", actor=TESTER)
    got = detail(app, transfer_id(1))
    assert got.line.status is Status.TRANSFER_SUBMITTING
    reported = [line for line in got.events if line.event_id in ("send", "bad")]
    assert sorted((line.event_id, line.canonical, line.why_not_counted) for line in reported) == [
        ("bad", False, "Retracted by an operator: a typing error"),
        ("send", False, reason),
        ("send", True, ""),
    ]  # fmt: skip


def test_confirmation_is_orphaned_with_send(app: Flask) -> None:
    feed(app, sent(1, event_id="send"), about(1, "transfer.confirmed", at=-80))
    feed(app, event("chain.reorged", at=-60, chain_id=1, from_block=90))
    feed(app, sent(1, event_id="send"))
    assert [
        line.why_not_counted
        for line in detail(app, transfer_id(1)).events
        if line.type == TransferConfirmed.type
    ] == ["Not valid, because the send that it confirms is not valid"]


def test_fates_agree_with_history(sandbox: Flask) -> None:
    """Of every transfer of the sandbox."""
    ids = [bytes.fromhex(transfer.transfer_id[2:]) for transfer in SANDBOX_TRANSFERS]
    with reading(part_of(sandbox, Database).reads) as connection:
        histories = load_histories(connection, ids)
    fates = set()
    for history in histories.values():
        entry = list(event_outcomes(history))
        fates |= {each.outcome for each in entry}
        by_type = history.canonical().by_type.values()
        assert {each.event.id for each in entry if each.is_canonical} == {
            e.id for events in by_type for e in events
        }
        assert [each.seq for each in entry] == [logged.seq for logged in history.log]
    assert fates >= {EventOutcome.CANONICAL, EventOutcome.REORGANISED}


@pytest.mark.parametrize("first", [EventOutcome.REORGANISED, EventOutcome.RETRACTED])
def test_first_cause_ended_the_event(app: Flask, audited: Audited, first: EventOutcome) -> None:
    """Of a send that was both reorganised and retracted."""
    feed(app, sent(1, event_id="send"))
    steps = {
        EventOutcome.REORGANISED: lambda: feed(app, event("chain.reorged", chain_id=1, from_block=90, at=-5)),
        EventOutcome.RETRACTED: lambda: retract_ids(*audited, ["send"], "was another's", actor=TESTER),
    }
    for outcome in sorted(steps, key=lambda outcome: outcome is not first):
        steps[outcome]()
    with reading(part_of(app, Database).reads) as connection:
        (history,) = load_histories(connection, [bytes.fromhex(transfer_id(1)[2:])]).values()
    (fate,) = event_outcomes(history)
    assert (fate.outcome, fate.by) == (first, 2)


@pytest.mark.every_database
def test_detail_of_refund_lists_signers(app: Flask) -> None:
    wd = request(1)
    by_second = signature(wd, KEYS[1])
    feed(
        app, sent(1), about(1, "network.status", at=-60, xfer_status=3), prepared(1, wd), signed(1, by_second)
    )
    got = detail(app, transfer_id(1))
    refund = got.refund
    assert refund and not refund.valid
    who = [checksum_address(address_of(key)) for key in KEYS[:4]]
    assert {row.address: (row.power, row.share, row.signed) for row in refund.signers} == {
        who[0]: (40, "40.0 %", False),
        who[1]: (30, "30.0 %", True),
        who[2]: (20, "20.0 %", False),
        who[3]: (10, "10.0 %", False),
    }
    assert set(refund.not_signed) == {who[0], who[2], who[3]}
    assert (refund.power_signed, refund.quorum, refund.power_total) == (30, 67, 100)
    assert (refund.share_signed, refund.share_needed) == ("30.0 %", "67.0 %")
    assert any("37 more needed" in words for words in refund.missing)
    assert [line.words for line in got.events if line.type == RefundSigned.type] == [f"by {who[1]}"]
    assert progress(got)[StageName.REFUND_SIGNED] is Progress.CURRENT
    feed(app, signed(1, signature(wd, KEYS[0])))
    ready = detail(app, transfer_id(1))
    assert ready.refund and ready.refund.valid and ready.refund.missing == ()
    assert progress(ready)[StageName.REFUND_SIGNED] is Progress.DONE
    assert progress(ready)[StageName.REFUND_SUBMITTED] is Progress.CURRENT


def test_detail_of_delayed_refund(app: Flask) -> None:
    queued = about(1, "refund.delayed", delayed_id="0x" + "5e" * 32, tx_hash="0x" + "d1" * 32)
    feed(app, sent(1), prepared(1, request(1)), *(signed(1, signature(request(1), key)) for key in KEYS[:3]))
    feed(app, about(1, "refund.submitted", tx_hash="0x" + "d1" * 32))
    assert "waiting until its block is final" in reply_to_user(detail(app, transfer_id(1)))
    feed(app, queued)
    got = detail(app, transfer_id(1))
    assert got.refund is not None and got.refund.explanation.delayed is not None
    assert got.refund.explanation.delayed.tx_link == f"https://scan1.example/tx/{queued['tx_hash']}"
    reply = reply_to_user(got)
    assert "holds large amounts back for some time" in reply and "do not confirm the refund again" in reply
    assert not INTERNAL.search(reply)


def test_anomalies_stand_on_the_page_with_advice(app: Flask) -> None:
    feed(app, sent(1), released(1), about(1, "refund.submitted", tx_hash="0x" + "fe" * 32, block=200))
    (anomaly,) = detail(app, transfer_id(1)).anomalies
    assert anomaly.label == "Paid out and refunded"
    assert "call the bridge's engineers" in anomaly.advice
    assert anomaly.acknowledged_at is None


def test_only_https_is_linked_to(app: Flask, database: Database) -> None:
    with database.engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE chains SET explore_url = 'http://scan1.example' WHERE chain_id = 1"
        )
    feed(app, sent(1), released(1))
    got = detail(app, transfer_id(1))
    assert got.src_transaction and got.src_transaction.link == ""
    assert got.dst_transaction and got.dst_transaction.link.startswith("https://")
    assert "http://" not in reply_to_user(got)


def test_every_transfer_of_the_sandbox(sandbox: Flask) -> None:
    """Its page and its reply agree with what the public interface returns."""
    client = sandbox.test_client()
    replies: dict[Status, str] = {}
    for transfer in SANDBOX_TRANSFERS:
        got = detail(sandbox, transfer.transfer_id)
        assert (got.line.status, got.line.transfer_id) == (transfer.status, transfer.transfer_id)
        door = client.post("/v2/getTransferStatus", json={"transfer_id": transfer.transfer_id})
        answer = json.loads(door.data)
        assert answer["src_block_tx_link"] == (got.src_transaction.link if got.src_transaction else "")
        assert answer["dst_block_tx_link"] == (got.dst_transaction.link if got.dst_transaction else "")
        assert answer["block_delay"] == got.block_delay
        assert got.next_actor == NEXT_ACTOR_WORDS[NextActor(door.headers["X-Transfer-Next-Actor"])]
        assert got.next_poll_seconds == int(door.headers.get("X-Transfer-Next-Poll-Seconds", 0))
        current = [stage for stage in got.stages if stage.progress is Progress.CURRENT]
        over = transfer.status in (
            Status.TRANSFER_UNKNOWN,
            Status.TRANSFER_FAILED,
            Status.TRANSFER_COMPLETED,
            Status.TRANSFER_REFUNDED,
        )
        assert len(current) == (0 if over else 1), transfer
        replies[transfer.status] = reply = reply_to_user(got)
        assert transfer.transfer_id in reply
        assert not INTERNAL.search(reply), reply
        for link in re.findall(r"\S+://\S+", reply):
            assert (
                link in (answer["src_block_tx_link"], answer["dst_block_tx_link"]) or "Your refund" in reply
            )
    assert set(replies) == set(Status)
    assert len(set(replies.values())) == len(Status)


NEXT_STEPS = {
    0: "nothing was taken, and you can send again",
    1: "There is nothing you need to do",
    2: "There is nothing to refund",
    3: "The bridge is checking it",
    4: "is about to be paid out",
    5: "is complete: it was paid out",
    6: "request the refund",
    7: "its refund on Ethereum is being prepared",
    8: "confirm the refund",
    9: "The transaction of your refund is on",
    10: "was refunded on",
    11: "holds large payouts back for some time",
}
"""What the reply says, by status."""


def test_reply_names_the_next_step(sandbox: Flask) -> None:
    for status, words in NEXT_STEPS.items():
        first = next(t for t in SANDBOX_TRANSFERS if t.status == status and "announced" not in t.what)
        reply = reply_to_user(detail(sandbox, first.transfer_id))
        assert words in reply, reply


def test_reply_names_each_reason_of_a_refund(sandbox: Flask) -> None:
    reasons = set()
    for transfer in SANDBOX_TRANSFERS:
        if transfer.status is Status.TRANSFER_TO_BE_REFUNDED:
            reply = reply_to_user(detail(sandbox, transfer.transfer_id))
            reasons.add(re.findall(r"because (.*?)\. Your", reply)[0])
    assert len(reasons) == 5
