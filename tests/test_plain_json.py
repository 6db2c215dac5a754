"""Plain reading gives what marshmallow gives, and leaves to it what is not right."""

from __future__ import annotations

from typing import Any

import pytest
from marshmallow import Schema, ValidationError

from app import json_documents
from app.feed.schemas import OPERATOR_SCHEMAS
from app.transfers.event_types import EventType

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
    "unknown": [1],
}
WRONG: tuple[Any, ...] = (None, "", 0, -1, 2**64, True, 1.5, "x\0", "y" * 5000, [], {}, ["e"])


def outcome(load: Any, data: dict[str, Any]) -> tuple[str, Any]:
    try:
        loaded = load(data)
    except ValidationError as error:
        return "refused", error.messages
    return "read", {name: value for name, value in loaded.items() if value is not None}


@pytest.mark.parametrize("event_type", OPERATOR_SCHEMAS)
def test_it_gives_what_marshmallow_gives(event_type: EventType) -> None:
    """Whole data, and with each field missing or wrong."""
    schema = OPERATOR_SCHEMAS[event_type]

    def by_plain(data: dict[str, Any]) -> dict[str, Any]:
        return json_documents.load(schema, data)

    assert outcome(by_plain, VALUES)[0] == "read"
    for name in VALUES:
        without = {key: value for key, value in VALUES.items() if key != name}
        for data in (VALUES, without, *(VALUES | {name: wrong} for wrong in WRONG)):
            assert outcome(by_plain, data) == outcome(schema.load, data), (name, data)


def hooks_of(schema: Schema) -> list[Any]:
    return [hook for hooks in schema._hooks.values() for hook in hooks]


@pytest.mark.parametrize("event_type", OPERATOR_SCHEMAS)
def test_what_marshmallow_alone_can_check_is_left_to_it(
    event_type: EventType, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = OPERATOR_SCHEMAS[event_type]
    asked: list[dict[str, Any]] = []
    load = Schema.load

    def noted(self: Schema, data: dict[str, Any]) -> Any:
        asked.append(data)
        return load(self, data)

    monkeypatch.setattr(Schema, "load", noted)
    json_documents.load(schema, VALUES)
    by_lists = {EventType.VALIDATORS_UPDATED, EventType.EVENTS_RETRACTED}
    assert len(asked) == (1 if event_type in by_lists else 0)
    assert asked or not hooks_of(schema)
