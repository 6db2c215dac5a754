"""Sends, when they are confirmed, validator sets, heads, reorganisations, and what cannot be translated."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from app.transfers.rules.events.event_types import (
    ChainHead,
    ChainReorged,
    Event,
    TransferConfirmed,
    TransferSent,
    ValidatorsUpdated,
)
from app.values.codes import SendKind
from app.values.crypto import checksum_address
from app.values.identifiers import BlockNumber, ChainId
from app.watcher.rules.blocks import Log
from app.watcher.rules.logs.translation import head_event, reorged_event, translate
from app.watcher.rules.steps import WaitingKey, WaitingKind
from tests.watcher.logs import (
    ALICE,
    BOB,
    BRIDGE,
    HERE,
    ID,
    NETWORK,
    OTHER_ID,
    PEGGED,
    POOL,
    TERMS,
    THERE,
    THIRD,
    TOKEN,
    VAULT,
    block_hash,
    header,
    headers_of,
    log,
    pair,
    send,
    tx_hash,
)
from tests.watcher.translate.kit import ID_OF_LOG, but_ids, translated


def only(events: Iterable[Event]) -> Event:
    [event] = events
    return event


def test_pool_send_is_decoded() -> None:
    assert only(translated(send()).events) == TransferSent(
        id=ID_OF_LOG,
        at=header(100).at,
        transfer_id=ID,
        block=BlockNumber(100),
        block_hash=block_hash(100),
        log_index=4,
        kind=SendKind.POOL,
        src_chain_id=HERE,
        dst_chain_id=THERE,
        symbol="USDT",
        token=checksum_address(TOKEN),
        amount=2_000_000,
        sender=checksum_address(ALICE),
        receiver=checksum_address(BOB),
        src_tx_hash=tx_hash("one"),
        nonce="7",
        max_slippage=5000,
        contract=checksum_address(POOL),
    )


PEGGED_SENDS = [
    ("deposit", log("Deposited", ID, ALICE, TOKEN, 5, THERE, BOB, 9, contract=VAULT), THERE, "ORG", "9"),
    ("deposit", log("DepositedV1", ID, ALICE, TOKEN, 5, THERE, BOB, contract=VAULT), THERE, "ORG", None),
    ("burn", log("Burn", ID, PEGGED, ALICE, 5, 0, BOB, 9, contract=BRIDGE), THIRD, "PEG", "9"),
    ("burn", log("Burn", ID, PEGGED, ALICE, 5, THERE, BOB, 9, contract=BRIDGE), THERE, "PEG", "9"),
    ("burn", log("BurnV1", ID, PEGGED, ALICE, 5, BOB, contract=BRIDGE), THIRD, "PEG", None),
]


@pytest.mark.parametrize(("kind", "given", "dst", "symbol", "nonce"), PEGGED_SENDS)
def test_sends_of_pegged_tokens(kind: str, given: Log, dst: int, symbol: str, nonce: str | None) -> None:
    event = only(translated(given).events)
    assert isinstance(event, TransferSent)
    assert (event.kind, event.dst_chain_id, event.symbol, event.nonce) == (kind, dst, symbol, nonce)
    assert (event.sender, event.receiver) == (checksum_address(ALICE), checksum_address(BOB))
    assert (event.contract, event.amount) == (checksum_address(given.address), 5)
    assert event.max_slippage is None


def test_send_is_confirmed_at_block_delay() -> None:
    first = translated(send(), read_to=111)
    assert [type(event) for event in first.events] == [TransferSent]
    [waits] = first.waiting
    assert (waits.kind, waits.key, waits.block, waits.due) == (WaitingKind.SEND_DEPTH, ID_OF_LOG, 100, 112)
    assert translated(read_to=111, waiting=(waits,)).events == []
    then = translated(read_to=112, waiting=(waits,))
    assert only(then.events) == TransferConfirmed(
        id=f"{ID_OF_LOG}:transfer.confirmed",
        at=header(100).at,
        transfer_id=ID,
        chain_id=HERE,
        block=BlockNumber(100),
        block_hash=block_hash(100),
        log_index=4,
    )
    assert then.done == [WaitingKey(WaitingKind.SEND_DEPTH, ID_OF_LOG)]


def test_late_send_is_confirmed_at_once() -> None:
    late = translated(send(), read_to=500)
    early = translated(send(), read_to=100)
    assert late.waiting == [] and late.done == []
    assert late.events[0] == early.events[0]
    assert late.events[1] == only(translated(read_to=112, waiting=tuple(early.waiting)).events)


def test_zero_delay_confirms_in_block() -> None:
    terms = replace(TERMS, block_delay=0)
    given = send()
    at_once = translate(NETWORK, terms, [given], headers_of(given), (), read_to=BlockNumber(100))
    assert [type(event) for event in at_once.events] == [TransferSent, TransferConfirmed]


@pytest.mark.parametrize("dst", [0, 424_242, 2**32, 2**64 - 1])
def test_chains_are_numbers_of_64_bits(dst: int) -> None:
    event = only(translated(send(dst=dst)).events)
    assert isinstance(event, TransferSent) and event.dst_chain_id == dst


UNLISTED = [
    send(token=b"\x99" * 20),
    log("Deposited", ID, ALICE, PEGGED, 5, THERE, BOB, 9, contract=VAULT),
    log("Burn", ID, TOKEN, ALICE, 5, THERE, BOB, 9, contract=BRIDGE),
]


@pytest.mark.parametrize("given", UNLISTED)
def test_unlisted_token_is_named_by_address(given: Log) -> None:
    event = only(translated(given).events)
    assert isinstance(event, TransferSent) and event.symbol is None
    assert event.token in list(map(checksum_address, (b"\x99" * 20, PEGGED, TOKEN)))


INVENTED = [
    log("Send", OTHER_ID, ALICE, BOB, TOKEN, 5, THERE, 7, 5000),
    log("Deposited", OTHER_ID, ALICE, TOKEN, 5, THERE, BOB, 9, contract=VAULT),
    log("Burn", OTHER_ID, PEGGED, ALICE, 5, THERE, BOB, 9, contract=BRIDGE),
]


@pytest.mark.parametrize("given", INVENTED)
def test_send_with_wrong_id_is_unreadable(given: Log) -> None:
    step = translated(given, read_to=500)
    assert (step.events, step.waiting) == ([], [])
    assert "transfer id" in step.unreadable[0].reason


UNKNOWN = [
    log("Burn", ID, TOKEN, ALICE, 5, 0, BOB, 9, contract=BRIDGE),
    log("BurnV1", ID, TOKEN, ALICE, 5, BOB, contract=BRIDGE),
    log("LiquidityAdded", 1, ALICE, PEGGED, 5),
    log("WithdrawDone", ID, 1, ALICE, PEGGED, 5, bytes(32)),
]


@pytest.mark.parametrize("given", UNKNOWN)
def test_unconfigured_log_is_stored(given: Log) -> None:
    first = translated(given)
    assert but_ids(first.events) == [] and first.unreadable == []
    [waits] = first.waiting
    assert (waits.kind, waits.key, waits.block) == (WaitingKind.UNKNOWN, ID_OF_LOG, 100)
    assert waits.facts["why"]
    same = translated(waiting=(waits,))
    assert (same.events, same.waiting, same.done) == ([], [], [])
    other = translated(waiting=(waits,), network=replace(NETWORK, version="2"))
    [again] = other.waiting
    assert (again.key, again.facts["version"], other.done) == (ID_OF_LOG, "2", [])


def test_stored_log_counts_once_configured() -> None:
    given = log("Burn", ID, TOKEN, ALICE, 5, 0, BOB, 9, contract=BRIDGE, block=90)
    waits = translated(given, read_to=95).waiting
    new = pair("NEW", THIRD, HERE, VAULT, BRIDGE, PEGGED, TOKEN)
    facts = replace(NETWORK.facts, pairs=(*NETWORK.facts.pairs, new))
    known = replace(NETWORK, version="2", facts=facts)
    then = translated(read_to=110, waiting=tuple(waits), network=known)
    assert then.events == translated(given, read_to=110, network=known).events
    assert [type(event) for event in then.events] == [TransferSent, TransferConfirmed]
    assert then.done == [WaitingKey(WaitingKind.UNKNOWN, waits[0].key)]


def test_logs_of_removed_contract_are_stored() -> None:
    [waits] = translated(UNKNOWN[0]).waiting
    moved = replace(TERMS, bridges=frozenset())
    known = replace(NETWORK, version="2")
    then = translate(known, moved, [], {}, [waits], read_to=BlockNumber(100))
    assert then.events == [] and then.waiting[0].key == ID_OF_LOG


def test_ids_differ_by_chain() -> None:
    given = log("DepositedV1", ID, ALICE, TOKEN, 5, THERE, BOB, contract=VAULT)
    terms, network = replace(TERMS, chain_id=ChainId(5)), NETWORK
    [event] = translate(network, terms, [given], headers_of(given), (), read_to=BlockNumber(100)).events
    assert event.id == ID_OF_LOG.replace("1:", "5:", 1)


def test_rotation_is_translated() -> None:
    [event] = translated(log("SignersUpdated", [ALICE, BOB], [5, 2**200])).events
    assert event == ValidatorsUpdated(
        id=ID_OF_LOG,
        at=header(100).at,
        chain_id=HERE,
        block=BlockNumber(100),
        block_hash=block_hash(100),
        log_index=4,
        signers=(checksum_address(ALICE), checksum_address(BOB)),
        powers=(5, 2**200),
    )


@pytest.mark.parametrize("contract", [VAULT, BRIDGE])
def test_set_of_other_contract_is_ignored(contract: bytes) -> None:
    first = translated(log("SignersUpdated", [ALICE], [5], contract=contract))
    assert (first.events, first.waiting, first.unreadable) == ([], [], [])


ACCEPTED_SETS = [
    ([], []),
    ([ALICE], [0]),
    ([ALICE, BOB], [2**255, 1]),
    ([ALICE, BOB], [2**256 - 1] * 2),
    ([bytes([n // 200 + 1, n % 200]) + bytes(18) for n in range(5000)], [2**256 - 1] * 5000),
]


@pytest.mark.parametrize(("signers", "powers"), ACCEPTED_SETS)
def test_set_accepted_by_contract_is_reported(signers: list[bytes], powers: list[int]) -> None:
    first = translated(log("SignersUpdated", signers, powers))
    [event] = first.events
    assert isinstance(event, ValidatorsUpdated) and not first.unreadable
    assert event.signers == tuple(map(checksum_address, signers)) and event.powers == tuple(powers)


BAD_SETS = [([ALICE], [1, 2]), ([ALICE, ALICE], [1, 2]), ([bytes(20)], [1])]


@pytest.mark.parametrize(("signers", "powers"), BAD_SETS)
def test_set_refused_by_contracts_is_fault(signers: list[bytes], powers: list[int]) -> None:
    first = translated(log("SignersUpdated", signers, powers))
    assert first.events == [] and first.unreadable[0].reason


FAULTS = [
    (replace(send(), data=bytes(3)), "3 bytes of data"),
    (replace(send(), topics=()), "not an event of these contracts"),
    (send(contract=VAULT), "configured as vault"),
    (log("Deposited", ID, ALICE, TOKEN, 5, THERE, BOB, 9, contract=BRIDGE), "configured as pegged bridge"),
]


@pytest.mark.parametrize(("fault", "reason"), FAULTS)
def test_unreadable_log_stops_no_other(fault: Log, reason: str) -> None:
    both = translated(fault, send(index=9))
    assert [type(event) for event in both.events] == [TransferSent]
    [unreadable] = both.unreadable
    assert unreadable.log == fault and reason in unreadable.reason


def test_unconfigured_contract_log_waits() -> None:
    elsewhere = b"\x55" * 20
    first = translated(send(contract=elsewhere))
    assert first.events == [] and len(first.waiting) == 1
    there = replace(TERMS, pool_bridge=elsewhere)
    version = replace(NETWORK, version="2")
    then = translate(version, there, [], {}, first.waiting, read_to=BlockNumber(100))
    assert [type(event) for event in then.events] == [TransferSent]


def test_heads_and_reorganisations() -> None:
    assert head_event(HERE, header(7)) == ChainHead(
        id=f"1:{block_hash(7)}",
        at=header(7).at,
        chain_id=HERE,
        block=BlockNumber(7),
        block_hash=block_hash(7),
    )
    one = reorged_event(HERE, BlockNumber(7), block_hash(7), header(7, "b"))
    back = reorged_event(HERE, BlockNumber(7), block_hash(7, "b"), header(7))
    assert one == ChainReorged(id=one.id, at=header(7).at, chain_id=HERE, from_block=BlockNumber(7))
    assert one.id != back.id and len(one.id) <= 256
