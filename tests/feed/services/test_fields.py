"""What the fields of each event must be, one by one, and which fault of a line is reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.feed.lines import ReadLine, RefusedLine, read_line
from app.transfers.rules.events.codec import decode_event, encode_event
from app.transfers.rules.events.event_types import EVENT_CLASSES, Event
from app.transfers.rules.events.fields import fields_of
from tests.feed.services.world import NOW, event

VALUES: dict[str, Any] = {
    "id": "e-1",
    "at": "2026-03-08T12:00:00.123456789+05:30",
    "transfer_id": "0X" + "aB" * 32,
    "kind": "pool",
    "src_chain_id": 1,
    "dst_chain_id": 2,
    "chain_id": 3,
    "symbol": "USDT",
    "amount": str(2**256 - 1),
    "base_fee": "0",
    "sender": "0x" + "ab" * 20,
    "receiver": "somebody",
    "nonce": 7,
    "max_slippage": 5000,
    "src_tx_hash": "AB" * 32,
    "dst_tx_hash": "other-hash",
    "tx_hash": "0x" + "cd" * 32,
    "delayed_id": "0x" + "ef" * 32,
    "contract": "0x" + "cd" * 20,
    "token": "0x" + "ce" * 20,
    "withdraw_id": "0x" + "d1" * 32,
    "ref_id": "d2" * 32,
    "block": 2**63 - 1,
    "block_hash": "0x" + "12" * 32,
    "log_index": 0,
    "from_block": 9,
    "reason": "why",
    "xfer_status": 2,
    "wd_onchain": "AAEC",
    "signature": "AwQF",
    "signers": ["0x" + "ab" * 20],
    "powers": ["1"],
    "targets": ["e-0"],
    "subjects": ["chain:1"],
    "unknown": [1],
}
NOTHING_TAKES: tuple[object, ...] = (-1, 2**64, True, 1.5, "y" * 5001, {}, [None])


def read(data: dict[str, Any]) -> Event | str:
    """The event, or why it is refused."""
    line = read_line(1, json.dumps(data).encode(), NOW, EVENT_CLASSES)
    assert isinstance(line, ReadLine | RefusedLine)
    return line.event if isinstance(line, ReadLine) else line.reason


@pytest.mark.parametrize("event_type", EVENT_CLASSES)
def test_each_field_is_read_stored_and_refused(event_type: str) -> None:
    whole = VALUES | {"type": event_type}
    found = read(whole)
    assert isinstance(found, EVENT_CLASSES[event_type]), f"VALUES has every field of every event: {found}"
    assert decode_event(found.id, event_type, encode_event(found)) == found
    for field in fields_of(EVENT_CLASSES[event_type]):
        without = {name: value for name, value in whole.items() if name != field.name}
        if field.required:
            assert read(without) == f"{field.name}: missing data for required field."
            assert read(whole | {field.name: None}) == f"{field.name}: field may not be null."
        else:
            assert read(without) == read(whole | {field.name: None})
            assert getattr(read(without), field.name) is None
        for wrong in NOTHING_TAKES:
            if field.name == "nonce" and type(wrong) is int:
                continue  # the one field that takes any
            reported = read(whole | {field.name: wrong})
            assert isinstance(reported, str) and reported.startswith(field.name), (
                field.name,
                wrong,
                reported,
            )


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (event("chain.head", chain_id=0, block=-1), "block: must be an integer from 0 to"),
        (event("chain.head", chain_id=0, block=1), "chain_id: must be an integer from 1 to 4294967295"),
        (event("transfer.sent", transfer_id="x", kind=1), "transfer_id: must be 32 bytes in hex"),
        (
            event("network.status", transfer_id="ab" * 32, xfer_status=True),
            "xfer_status: must be one of 1",
        ),
        (event("nothing"), "type: must be one of transfer.submitted, transfer.sent, "),
        (
            event("validators.updated", chain_id=1, signers=VALUES["signers"], powers=["1", "2"]),
            "powers: must have as many entries as signers",
        ),
        (
            event("validators.updated", chain_id=1, signers=VALUES["signers"] * 2, powers=["1", "2"]),
            "signers: must not name a signer twice",
        ),
        (event("validators.updated", chain_id=1, signers="x", powers=[]), "signers: not a valid list."),
        (event("validators.updated", chain_id=1, signers=[], powers=["1", None]), "powers[1]: field may not"),
        (event("events.retracted", targets=[], reason="why"), "targets: length must be between 1 and 10000."),
        (
            event("events.retracted", targets=["a"], subjects=["b", "c"], reason="why"),
            "subjects: must have as many entries as targets",
        ),
    ],
)
def test_refusal_names_first_fault(line: dict[str, Any], reason: str) -> None:
    reported = read(line)
    assert isinstance(reported, str)
    assert reported.startswith(reason)


def test_repeated_key_is_refused() -> None:
    text = json.dumps(event("chain.head", chain_id=1, block=1)).encode()
    for again in (b',"block":2}', b',"unknown":1,"unknown":2}', b',"bloc\\u006b":2}'):
        line = read_line(1, text[:-1] + again, NOW)
        assert isinstance(line, RefusedLine) and "repeats the key" in line.reason
