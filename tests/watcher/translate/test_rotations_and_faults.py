"""Validator sets, heads, reorganisations, and logs that cannot be translated."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from app.transfers.rules.events.event_types import ChainHead, ChainReorged, TransferSent, ValidatorsUpdated
from app.values.crypto import checksum_address
from app.values.identifiers import BlockNumber
from app.watcher.rules.blocks import Log
from app.watcher.rules.logs.translation import head_event, reorged_event, translate
from tests.watcher.logs import (
    ALICE,
    BOB,
    BRIDGE,
    HERE,
    ID,
    NETWORK,
    TERMS,
    THERE,
    TOKEN,
    VAULT,
    block_hash,
    header,
    log,
    send,
)
from tests.watcher.translate.kit import ID_OF_LOG, translated


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
