"""Verdicts: of lines that count, stored once and committed before, and of lines that cannot be taken."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from app.credentials.services.issuing import issue, new_token
from app.db.database import Database
from app.db.engine import reading
from app.feed.services import ingest
from app.transfers.models import Anomaly
from tests.actors import TESTER
from tests.applications import Editing
from tests.feed.services.world import NOW, about, event, released, sent, transfer_id
from tests.feed.views.kit import CURSOR, bearer, logged, ndjson, post, post_gzip, verdict


def status_of(client: FlaskClient, n: int) -> Any:
    return client.post("/v2/getTransferStatus", json={"transfer_id": transfer_id(n)}).get_json()["status"]


def test_accepted_events_are_stored_and_count(client: FlaskClient, app: Flask, editing: Editing) -> None:
    token = issue(*editing, new_token("relayer-1"), actor=TESTER).text
    answer = verdict(post(client, [sent(1), about(1, "network.status", xfer_status=2)], token))
    assert answer == {"accepted": 2, "repeated": 0, "refused": []}
    assert status_of(client, 1) == 4
    assert verdict(post(client, [released(1)], token))["accepted"] == 1
    assert status_of(client, 1) == 5
    assert {reporter for _, reporter in logged(app)} == {"relayer-1"}


def test_repeated_events_count_once(client: FlaskClient, app: Flask, editing: Editing) -> None:
    body = ndjson(sent(1), sent(2), sent(1))
    assert verdict(post(client, body)) == {"accepted": 2, "repeated": 1, "refused": []}
    assert verdict(post(client, body)) == {"accepted": 0, "repeated": 3, "refused": []}
    other = issue(*editing, new_token("another"), actor=TESTER).text
    assert verdict(post(client, body, other))["repeated"] == 3
    assert len(logged(app)) == 2


def test_id_with_other_content_is_refused(client: FlaskClient, database: Database) -> None:
    first = sent(1)
    post(client, [first])
    answer = verdict(post(client, [sent(2), first | {"amount": "1"}, sent(3)]))
    assert answer["accepted"] == 2
    assert answer["refused"] == [
        {
            "line": 2,
            "id": first["id"],
            "reason": "id: was reported before with other content (amount): send a new fact with a new id",
        }
    ]
    with reading(database.engine) as connection:
        assert connection.scalar(select(Anomaly.kind)) == "id_with_two_contents"


def test_refusals_are_in_line_order(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blank lines are counted."""
    monkeypatch.setattr(ingest, "BATCH", 4)  # what is unreadable and what is validated mix within batches
    first = sent(1)
    twice = json.dumps(first | {"amount": "1"}).encode()
    reorg = json.dumps(event("chain.reorged", chain_id=1, from_block=100)).encode()
    body = b"\n".join(
        [b"", json.dumps(first).encode(), b"", twice, b"broken", b" ", twice, b"[]", reorg, b"", twice, b"{"]
    )
    answer = verdict(post(client, body))
    assert [line["line"] for line in answer["refused"]] == [4, 5, 7, 8, 11, 12]
    assert [line["id"] for line in answer["refused"]] == [first["id"], "", first["id"], "", first["id"], ""]
    assert answer["accepted"] == 2


def test_cursor_is_the_last_accepted_event(client: FlaskClient, editing: Editing) -> None:
    mine, other = (
        issue(*editing, new_token("mine"), actor=TESTER).text,
        issue(*editing, new_token("other"), actor=TESTER).text,
    )
    empty = client.get(CURSOR, headers=bearer(mine))
    assert empty.get_json() == {"err": None, "cursor": None}
    assert empty.headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in empty.headers
    post(client, [sent(1), sent(2, at=-90.25)], mine)
    post(client, [sent(3)], other)
    expected = {
        "id": sent(2, at=-90.25)["id"],
        "type": "transfer.sent",
        "at": "2026-06-01T11:58:29.750000Z",
        "received_at": "2026-06-01T12:00:00Z",
        "seq": 2,
    }
    assert client.get(CURSOR, headers=bearer(mine)).get_json() == {"err": None, "cursor": expected}
    post(client, [sent(1)], mine)  # repeated: it was accepted before
    post(client, b"nonsense", mine)
    assert client.get(CURSOR, headers=bearer(mine)).get_json()["cursor"] == expected
    assert client.get(CURSOR, headers=bearer(other)).get_json()["cursor"]["seq"] == 3
    assert client.get(CURSOR, headers=bearer("test-ingest-token")).get_json()["cursor"] is None


GOOD = sent(1)
NAME = GOOD["id"]
HEAD = event("chain.head", "head", chain_id=1, block=5)
SET = event("validators.updated", "set", chain_id=1, signers=["0x" + "11" * 20], powers=["1"])


def line(good: dict[str, Any] = GOOD, /, **changes: Any) -> bytes:
    """A good event with other values; None leaves a field out."""
    changed = {key: value for key, value in (good | changes).items() if value is not None}
    return json.dumps(changed).encode()


def raw(name: str, value: str, good: dict[str, Any] = GOOD) -> bytes:
    """A good event with one value as raw text."""
    text = json.dumps({key: item for key, item in good.items() if key != name})
    return f'{text[:-1]}, "{name}": {value}}}'.encode()


def ahead(seconds: float) -> str:
    return (NOW + timedelta(seconds=seconds)).isoformat()


LINES: list[tuple[bytes, str, str]] = [
    # line, id, the beginning of the reason; test_fields.py has the faults that every field can have
    (b"{", "", "the line is not JSON"),
    (b"nonsense", "", "the line is not JSON"),
    (b"\xff\xfe", "", "the line is not JSON"),
    (b'"\xed\xa0\x80"', "", "the line is not JSON"),
    (b'{"id": "\\ud800"}', "", "the line is not JSON"),
    (b"\xef\xbb\xbf" + line(), "", "the line is not JSON"),
    (line().decode().encode("utf-16-le")[:-1], "", "the line is not JSON"),
    (line() + line(), "", "the line is not JSON"),
    (raw("max_slippage", "NaN"), "", "the line is not JSON"),
    (raw("max_slippage", "1e999"), "", "the line is not JSON"),
    (raw("nonce", "9" * 5000), "", "the line is not JSON"),
    (raw("x", "[" * 30_000 + "]" * 30_000), "", "the line is not JSON"),
    (raw("x", "[" * 80 + "]" * 80), "", "the line is nested more than 64 levels deep"),
    (b'{"id": "a", "id": "b"}', "", "the line repeats the key 'id'"),
    (b'{"id": "a\\u0000"}', "", "the line has a NUL character in a string"),
    (b"null", "", "the line must be a JSON object"),
    (b"17", "", "the line must be a JSON object"),
    (b"[" + line() + b"]", "", "the line must be a JSON object"),
    (b"{}", "", "type: must be one of transfer.submitted, "),
    (line(type=None), NAME, "type: must be one of"),
    (line(type="transfer.lost"), NAME, "type: must be one of"),
    (line(type="events.retracted", targets=["x"], reason="so"), NAME, "type: must be one of"),
    (line(id=None), "", "id: "),
    (line(id="x" * 257), "", "id: must be a text of 1 to 256 characters"),
    (line(at="2026-05-01"), NAME, "at: must be a time with an offset"),
    (line(at="2026-05-01T12:00:00"), NAME, "at: must be a time with an offset"),
    (line(at="2026-02-30T12:00:00Z"), NAME, "at: must be a time with an offset"),
    (line(at="2026-05-01T25:00:00Z"), NAME, "at: must be a time with an offset"),
    (line(at="0001-01-01T00:00:00+14:00"), NAME, "at: must be a time with an offset"),
    (line(at=ahead(601)), NAME, "at: must not be more than 10 minutes ahead of the gateway's clock"),
    (line(at="2009-01-02T23:59:59.999999Z"), NAME, "at: must not be before 2009-01-03, when the first chain"),
    (line(at="0001-01-01T00:00:00Z"), NAME, "at: must not be before 2009-01-03"),
    (line(at="9999-12-31T23:59:59Z"), NAME, "at: must not be more than 10 minutes ahead"),
    (line(transfer_id="0x12"), NAME, "transfer_id: must be 32 bytes in hex"),
    (line(transfer_id=transfer_id(1) + "0"), NAME, "transfer_id: must be 32 bytes in hex"),
    (line(transfer_id="0x" + "g" * 64), NAME, "transfer_id: must be 32 bytes in hex"),
    (line(transfer_id=" " + transfer_id(1)), NAME, "transfer_id: must be 32 bytes in hex"),
    (line(kind="swap"), NAME, "kind: must be one of pool, deposit, burn"),
    (line(src_chain_id=0), NAME, "src_chain_id: must be an integer from 1 to 4294967295"),
    (line(src_chain_id=2**32), NAME, "src_chain_id: must be an integer from 1 to 4294967295"),
    (line(symbol="S" * 65), NAME, "symbol: must be a text of 1 to 64 characters"),
    (line(amount="-1"), NAME, "amount: must be a string of decimal digits"),
    (line(amount="1e18"), NAME, "amount: must be a string of decimal digits"),
    (line(amount="1_000"), NAME, "amount: must be a string of decimal digits"),
    (line(amount="0x10"), NAME, "amount: must be a string of decimal digits"),
    (line(amount=" 1"), NAME, "amount: must be a string of decimal digits"),
    (line(amount="\u0661"), NAME, "amount: must be a string of decimal digits"),
    (line(amount=str(2**256)), NAME, "amount: must be a string of decimal digits up to 2^256-1"),
    (line(sender="x" * 129), NAME, "sender: must be a text of 1 to 128 characters"),
    (line(src_tx_hash="0x 1"), NAME, "src_tx_hash: must be a hash"),
    (line(src_tx_hash="https://example.org/"), NAME, "src_tx_hash: must be a hash"),
    (line(block=2**63), NAME, "block: must be an integer from 0"),
    (line(GOOD, type="network.status", xfer_status=0), NAME, "xfer_status: must be one of 1, 2, 3"),
    (line(GOOD, type="network.status", xfer_status=10), NAME, "xfer_status: must be one of 1, 2, 3"),
    (line(GOOD, type="refund.prepared", wd_onchain=""), NAME, "wd_onchain: must be 1 to 4096 bytes"),
    (line(GOOD, type="refund.prepared", wd_onchain="YQ"), NAME, "wd_onchain: must be 1 to 4096 bytes"),
    (line(GOOD, type="refund.prepared", wd_onchain="YR=="), NAME, "wd_onchain: must be 1 to 4096 bytes"),
    (line(GOOD, type="refund.signed", signature="_-=="), NAME, "signature: must be 1 to 4096 bytes"),
    (line(GOOD, type="refund.signed", signature="YQ=\n"), NAME, "signature: "),
    (line(SET, powers=[]), "set", "powers: "),
    (line(SET, signers=[]), "set", "powers: must have as many entries as signers"),
    (line(SET, signers=[f"0x{0:040x}"]), "set", "signers[0]: must be a 0x address of 20 bytes"),
    (line(SET, signers=["0x11"]), "set", "signers[0]: must be a 0x address of 20 bytes"),
]  # fmt: skip


@pytest.mark.parametrize("send", [post, post_gzip])
def test_bad_lines_are_refused_good_ones_accepted(client: FlaskClient, app: Flask, send: Any) -> None:
    good = [sent(n) for n in range(2, len(LINES) + 2)]
    body = b"".join(
        bad + b"\n" + line(around) + b"\n" for (bad, _, _), around in zip(LINES, good, strict=True)
    )
    answer = verdict(send(client, body))
    assert answer["accepted"] == len(good)
    assert [event_id for event_id, _ in logged(app)] == [around["id"] for around in good]
    assert [refusal["line"] for refusal in answer["refused"]] == list(range(1, 2 * len(LINES), 2))
    for refusal, (bad, event_id, reason) in zip(answer["refused"], LINES, strict=True):
        assert list(refusal) == ["line", "id", "reason"]
        assert refusal["id"] == event_id, bad
        assert refusal["reason"].startswith(reason), (bad, refusal["reason"])
        assert len(refusal["reason"]) < 500
    again = verdict(send(client, body))
    assert again == {"accepted": 0, "repeated": len(good), "refused": answer["refused"]}
