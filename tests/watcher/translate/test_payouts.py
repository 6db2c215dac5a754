"""Releases, refunds and liquidity: at once, and through the delay queue, in whatever order they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from app.network.rules.watch_terms import KnownSend
from app.transfers.rules.events.contract_ids import pool_withdraw_id
from app.transfers.rules.events.event_types import (
    Event,
    LiquidityAdded,
    LiquidityWithdrawn,
    RefundCompleted,
    RefundDelayed,
    RefundSubmitted,
    TransferDelayed,
    TransferReleased,
    WithdrawDone,
)
from app.values.codes import SendKind
from app.values.identifiers import BlockNumber, ChainId, TransferId
from app.watcher.rules.blocks import Log
from app.watcher.rules.logs.contracts import decode
from app.watcher.rules.logs.payouts import Payment, payout_of
from app.watcher.rules.logs.translation import translate
from app.watcher.rules.logs.values import Mint, Withdrawn
from app.watcher.rules.steps import WaitingKey, WaitingKind
from tests.watcher.logs import (
    ALICE,
    BOB,
    HERE,
    ID,
    NETWORK,
    NO_ID,
    PAYOUT,
    THERE,
    THIRD,
    TOKEN,
    VAULT,
    block_hash,
    header,
    log,
    tx_hash,
    with_symbol,
)
from tests.watcher.logs import TERMS as ONE
from tests.watcher.translate.kit import (
    ID_OF_LOG,
    added,
    but_ids,
    executed,
    mint,
    relay,
    translated,
    withdraw,
    withdrawn,
)

TERMS = ONE
AT = ID_OF_LOG
OF_LOG: dict[str, Any] = {
    "at": header(100).at, "chain_id": HERE,
    "block": BlockNumber(100), "block_hash": block_hash(100), "log_index": 4,
}  # fmt: skip
"""What each event of that log has."""

PAID_AT = f"1:{block_hash(120)}:{tx_hash('later')}:2"


def types(events: Sequence[Event]) -> list[type[Event]]:
    return [type(event) for event in events]


RELEASES = [relay(), withdrawn(THIRD), withdrawn(THERE), mint(THIRD), mint(THERE)]
REFUNDS = [withdraw(), withdrawn(HERE), mint(HERE)]


@pytest.mark.parametrize("given", RELEASES)
def test_foreign_payout_is_released_at_once(given: Log) -> None:
    """That of another chain's send."""
    first = translated(given)
    assert first.events == [
        TransferReleased(
            id=AT,
            transfer_id=ID,
            **OF_LOG,
            dst_tx_hash=tx_hash("one"),
            amount=7,
        )
    ]
    assert first.waiting == []


@pytest.mark.parametrize("given", REFUNDS)
def test_refund_is_submitted_then_completed_deep(given: Log) -> None:
    first = translated(given, read_to=111)
    [submitted] = but_ids(first.events)
    assert isinstance(submitted, RefundSubmitted)
    assert (submitted.id, submitted.tx_hash, submitted.block) == (AT, tx_hash("one"), 100)
    assert submitted.at == header(100).at
    [waits] = first.waiting
    assert (waits.kind, waits.due) == (WaitingKind.REFUND_DEPTH, 112)
    then = translated(read_to=112, waiting=(waits,))
    [completed] = then.events
    assert completed == RefundCompleted(
        id=f"{AT}:refund.completed",
        transfer_id=ID,
        **OF_LOG,
        tx_hash=tx_hash("one"),
    )
    assert then.done == [WaitingKey(WaitingKind.REFUND_DEPTH, AT)]
    assert but_ids(translated(given, read_to=112).events) == [submitted, completed]


@pytest.mark.parametrize(
    ("given", "kind", "dst", "payment"),
    [
        (withdrawn(HERE), SendKind.DEPOSIT, THERE, Payment.REFUND),
        (withdrawn(HERE), SendKind.BURN, THERE, Payment.RELEASE),
        (mint(HERE), SendKind.DEPOSIT, THERE, Payment.RELEASE),
        (mint(HERE), SendKind.BURN, THERE, Payment.REFUND),
        (mint(HERE), SendKind.BURN, HERE, Payment.RELEASE),
    ],
)
def test_send_decides_what_its_chain_pays(given: Log, kind: SendKind, dst: ChainId, payment: Payment) -> None:
    said = decode(given)
    assert isinstance(said, Withdrawn | Mint)
    paid = payout_of(said, HERE, KnownSend(kind, dst))
    assert paid is not None and paid.payment is payment


SHORT_IDS = [NO_ID, b"\x01".rjust(32, b"\0"), b"\x01\x02\x03".ljust(32, b"\0")]


@pytest.mark.parametrize("refid", SHORT_IDS)
def test_withdraw_without_transfer_is_a_providers(refid: bytes) -> None:
    used, event = translated(withdraw(refid)).events
    assert isinstance(used, WithdrawDone) and used.ref_id is None
    assert event == LiquidityWithdrawn(
        id=AT,
        **OF_LOG,
        symbol="USDT",
        amount=7,
        withdraw_id=PAYOUT,
    )


WITHDRAW_ID = pool_withdraw_id(chain_id=HERE, seqnum=3, receiver=BOB, token=TOKEN, amount=7)


@pytest.mark.parametrize("queue", [(), (added(),)])
@pytest.mark.parametrize(("refid", "ref_id"), [(ID, ID), (NO_ID, None)])
def test_paid_or_queued_withdraw_uses_id(
    queue: tuple[Log, ...], refid: bytes, ref_id: TransferId | None
) -> None:
    [used] = [
        event for event in translated(*queue, withdraw(refid)).events if isinstance(event, WithdrawDone)
    ]
    assert used == WithdrawDone(
        id=f"{AT}:withdraw.done",
        **OF_LOG,
        withdraw_id=WITHDRAW_ID,
        ref_id=ref_id,
    )


def test_vaults_and_bridges_use_no_withdraw_ids() -> None:
    for given in (withdrawn(HERE), mint(HERE), relay()):
        assert not any(isinstance(event, WithdrawDone) for event in translated(given).events)


def test_liquidity_that_is_added() -> None:
    [event] = translated(log("LiquidityAdded", 5, ALICE, TOKEN, 9)).events
    assert isinstance(event, LiquidityAdded)
    assert (event.id, event.symbol, event.amount, event.chain_id) == (AT, "USDT", 9, HERE)


@pytest.mark.parametrize("given", [withdrawn(0), mint(0), withdrawn(THERE, NO_ID), mint(HERE, NO_ID)])
def test_fees_of_validators_are_no_transfers(given: Log) -> None:
    first = translated(given)
    assert (first.events, first.waiting, first.unreadable) == ([], [], [])


@pytest.mark.parametrize("given", RELEASES)
def test_queued_release_is_released_when_executed(given: Log) -> None:
    first = translated(added(given.address), given)
    assert first.events == [
        TransferDelayed(
            id=AT,
            transfer_id=ID,
            **OF_LOG,
            dst_tx_hash=tx_hash("one"),
            delayed_id="0x" + PAYOUT.hex(),
        )
    ]
    [waits] = first.waiting
    assert waits.kind is WaitingKind.QUEUED
    then = translated(executed(given.address), read_to=120, waiting=(waits,))
    assert then.events == [
        TransferReleased(
            id=PAID_AT,
            at=header(120).at,
            transfer_id=ID,
            chain_id=HERE,
            block=BlockNumber(120),
            block_hash=block_hash(120),
            log_index=2,
            dst_tx_hash=tx_hash("later"),
            amount=7,
        )
    ]


@pytest.mark.parametrize("given", REFUNDS)
def test_queued_refund_completes_deep(given: Log) -> None:
    first = translated(added(given.address), given, read_to=119)
    [delayed] = but_ids(first.events)
    assert isinstance(delayed, RefundDelayed)
    assert (delayed.id, delayed.delayed_id) == (AT, "0x" + PAYOUT.hex())
    then = translated(executed(given.address), read_to=131, waiting=tuple(first.waiting))
    assert then.events == []
    last = translated(read_to=132, waiting=(*first.waiting, *then.waiting))
    [completed] = last.events
    assert isinstance(completed, RefundCompleted)
    assert (completed.id, completed.tx_hash, completed.block) == (PAID_AT, tx_hash("later"), 120)


def test_liquidity_leaves_when_its_delay_is_over() -> None:
    first = translated(added(), withdraw(NO_ID))
    assert but_ids(first.events) == []
    [event] = translated(executed(), read_to=120, waiting=tuple(first.waiting)).events
    assert isinstance(event, LiquidityWithdrawn) and event.id == PAID_AT


@pytest.mark.parametrize("given", [*RELEASES, *REFUNDS, withdraw(NO_ID)])
def test_early_execution_gives_the_same(given: Log) -> None:
    """Live reading has come to the execution before the backfill comes to the queue."""
    forward = translated(added(given.address), given, executed(given.address), read_to=200)
    first = translated(executed(given.address), read_to=200)
    assert first.events == [] and [each.kind for each in first.waiting] == [WaitingKind.EXECUTED]
    then = translated(added(given.address), given, read_to=200, waiting=tuple(first.waiting))
    assert then.events == forward.events
    assert len(but_ids(forward.events)) == (1 if given == withdraw(NO_ID) else 2)


def test_queue_is_per_contract_and_transaction() -> None:
    elsewhere = translated(added(VAULT), relay())
    assert types(elsewhere.events) == [TransferReleased]
    another = translated(added(tx="other"), relay())
    assert types(another.events) == [TransferReleased]


def test_queue_facts_last_until_final() -> None:
    """A reorganisation may take the execution away again: then the queue has to be known still."""
    first = translated(added(), relay())
    then = translated(executed(), read_to=120, waiting=tuple(first.waiting))
    assert then.done == []
    stored = (*first.waiting, *then.waiting)
    assert {each.kind for each in stored} == {WaitingKind.QUEUED, WaitingKind.EXECUTED}
    again = translated(executed(block=121, tx="again"), read_to=121, waiting=tuple(first.waiting))
    assert types(again.events) == [TransferReleased]
    for final_to, done in ((119, 0), (120, 2)):
        last = translate(
            NETWORK, TERMS, [], {}, stored, read_to=BlockNumber(200), final_to=BlockNumber(final_to)
        )
        assert last.events == [] and len(last.done) == done


def test_unknown_token_liquidity_is_stored() -> None:
    unknown = b"\x99" * 20
    given = log("WithdrawDone", PAYOUT, 3, BOB, unknown, 7, NO_ID)
    first = translated(added(), given)
    then = translated(executed(), read_to=120, waiting=tuple(first.waiting))
    stored = [each for each in then.waiting if each.kind is WaitingKind.UNKNOWN]
    known = with_symbol(NETWORK, HERE, unknown, "NEW")
    [event] = translated(read_to=120, waiting=tuple(stored), network=known).events
    assert isinstance(event, LiquidityWithdrawn)
    assert (event.symbol, event.amount, event.id) == ("NEW", 7, PAID_AT)
