"""New events and fields are read, kept and written out again as they came."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask

from app.db.database import Database
from app.feed.lines import ReadLine, RefusedLine, read_line
from app.feed.services.log import export_log
from tests.feed.services.world import NOW, about, address, event, feed, sent

DELAYED_ID = "0x" + "d1" * 32
TX = "0x" + "dd" * 32

KEPT: list[dict[str, Any]] = [
    sent(1, contract=address(7), log_index=4, block_hash="0x" + "b1" * 32),
    about(1, "transfer.delayed", delayed_id=DELAYED_ID, block=7, log_index=0),
    about(1, "refund.submitted", tx_hash=TX, log_index=9),
    about(1, "refund.failed", tx_hash=TX, block=8, log_index=2),
    about(1, "refund.delayed", delayed_id=DELAYED_ID, tx_hash=TX, block=8, log_index=3),
    about(1, "refund.delayed", delayed_id=DELAYED_ID),
    event("validators.updated", chain_id=1, block=9, log_index=11, signers=[address(5)], powers=["1"]),
    event("liquidity.added", "1:" + "x" * 254, chain_id=1, symbol="USDT", amount="1", block=9, log_index=12),
]


def test_every_field_is_kept(app: Flask, database: Database) -> None:
    verdict = feed(app, *KEPT)
    assert (verdict.accepted, verdict.refused) == (len(KEPT), [])
    written = [json.loads(line) for line in export_log(database)]
    for sent_in, out in zip(KEPT, written, strict=True):
        out["transfer_id"] = "0x" + out["transfer_id"] if "transfer_id" in out else None
        assert {name: out[name] for name in sent_in} == sent_in


REFUSED: list[tuple[dict[str, Any], str]] = [
    (event("chain.head", "x" * 257, chain_id=1, block=1), "id: must be a text of 1 to 256 characters"),
    (about(1, "refund.delayed", tx_hash=TX), "delayed_id: missing data"),
    (about(1, "refund.delayed", delayed_id="#1"), "delayed_id: must be"),
    (about(1, "refund.failed"), "tx_hash: missing data"),
    (sent(1, contract=""), "contract: must be"),
    (sent(1, log_index=-1), "log_index: must be an integer"),
    (sent(1, log_index=1.0), "log_index: must be an integer"),
    (about(1, "transfer.delayed", delayed_id=7), "delayed_id: must be"),
]


@pytest.mark.parametrize(("line", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
@pytest.mark.one_database
def test_what_they_must_look_like(line: dict[str, Any], reason: str) -> None:
    refused = read_line(1, json.dumps(line).encode(), NOW)
    assert isinstance(refused, RefusedLine)
    assert refused.reason.startswith(reason)


@pytest.mark.one_database
def test_spellings_of_contract_and_hash_agree() -> None:
    spelled = [
        sent(1, contract=address(0xABCDEF)),
        sent(1, contract=address(0xABCDEF).lower()),
        sent(1, contract="0x" + address(0xABCDEF)[2:].upper()),
    ]
    read = [read_line(1, json.dumps(line | {"id": "one"}).encode(), NOW) for line in spelled]
    assert all(isinstance(line, ReadLine) for line in read)
    assert len({repr(line) for line in read}) == 1
