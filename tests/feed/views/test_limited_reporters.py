"""What a reporter sends counts where its token allows it: in any order and spelling, however often."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import permutations
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import func, select, table

from app.credentials.services.issuing import issue, new_token
from app.db.database import Database
from app.db.engine import reading
from app.feed.services.retract import retract_reporter
from app.transfers.rules.events.bounds import MAX_OF_A_LIMITED, MAX_OF_A_TYPE
from app.values.codes import TransferHistoryStatus as Status
from tests.actors import TESTER
from tests.amounts import few_or_many
from tests.applications import Audited, Editing
from tests.databases import filled_tables
from tests.feed.services.world import (
    KEYS,
    NOW,
    SENDER,
    about,
    event,
    for_send,
    prepared,
    proven,
    released,
    request,
    signature,
    signed,
    token,
)
from tests.feed.views.kit import TOKEN, post, verdict
from tests.steps import steps

Line = dict[str, Any]
BARE = SENDER[2:]
LOG = f"1:0x{'ab' * 32}:0x{'cd' * 32}:7"
SEND = proven(1, event_id=LOG, block=100)
OTHER_HASH = "0x" + "66" * 32


@pytest.fixture
def limited(editing: Editing) -> Callable[..., str]:
    """Gives the token for some chains."""
    made: dict[tuple[int, ...], str] = {}

    def for_chains(*chains: int) -> str:
        if chains not in made:
            name = "only-" + "-".join(map(str, chains))
            made[chains] = issue(*editing, new_token(name, chains=chains), actor=TESTER).text
        return made[chains]

    return for_chains


def answer(client: FlaskClient, send: Line = SEND) -> dict[str, Any]:
    found = client.post("/v2/getTransferStatus", json={"transfer_id": send["transfer_id"]}).get_json()
    assert isinstance(found, dict)
    return found


def status(client: FlaskClient, send: Line = SEND) -> int:
    return int(answer(client, send)["status"])


def report(client: FlaskClient, *events: Line, token: str = TOKEN) -> dict[str, Any]:
    """Report events, none of which may be refused."""
    result = verdict(post(client, events, token))
    assert result["refused"] == []
    return result


def refund(send: Line, key: bytes = KEYS[0]) -> tuple[Line, Line]:
    """A refund request of a send, and a validator's signature over it."""
    wd_onchain = request(1, ref_id=bytes.fromhex(send["transfer_id"][2:]))
    return for_send(send, prepared(1, wd_onchain)), for_send(send, signed(1, signature(wd_onchain, key)))


@pytest.mark.parametrize(
    ("field", "spelled"),
    [
        ("sender", BARE),
        ("sender", BARE.upper()),
        ("sender", SENDER.lower()),
        ("sender", "0X" + BARE),
        ("receiver", BARE),
        ("token", token(1, "USDT")[2:]),
        ("nonce", "0001"),
        ("nonce", "+1"),
        ("nonce", " 1 "),
        ("nonce", "0x1"),
        ("nonce", 1),
        ("symbol", "usdt"),
        ("src_tx_hash", "01" * 32),
        ("transfer_id", SEND["transfer_id"][2:].upper()),
        ("amount", "0001000000000"),
        ("id", f"01:0X{'AB' * 32}:{'CD' * 32}:0x7"),
    ],
)
def test_other_spelling_repeats_same_fact(client: FlaskClient, field: str, spelled: Any) -> None:
    report(client, SEND | {field: spelled})
    assert report(client, SEND, SEND | {field: spelled})["repeated"] == 2
    wanted, *_ = refund(SEND)
    quorum = [refund(SEND, key)[1] for key in KEYS[:3]]
    report(client, wanted, *quorum)
    found = answer(client)
    assert (found["status"], found["src_block_tx_link"]) == (
        Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
        f"https://scan1.example/tx/0x{'01' * 32}",
    )


def test_contradicting_nonce_is_refused(client: FlaskClient) -> None:
    for spelled in ("2", "0x2", " 2", "+2"):
        result = verdict(post(client, [SEND | {"nonce": spelled}]))
        assert result["refused"][0]["reason"].startswith("transfer_id: is not the id"), spelled


EARLY = for_send(
    SEND, about(1, "transfer.submitted", -9000, src_chain_id=3, dst_chain_id=1, src_tx_hash=OTHER_HASH)
)
EARLY |= {"sender": "0x" + "bb" * 20, "symbol": "USDT", "amount": "7"}


def test_limited_submission_gives_status_1(client: FlaskClient, limited: Callable[..., str]) -> None:
    report(client, EARLY, token=limited(3))
    assert (answer(client)["status"], answer(client)["src_block_tx_link"]) == (
        Status.TRANSFER_SUBMITTING,
        f"https://scan3.example/tx/{OTHER_HASH}",
    )


def test_limited_submission_adds_nothing_to_others(client: FlaskClient, limited: Callable[..., str]) -> None:
    announced = for_send(SEND, about(1, "transfer.submitted", src_chain_id=1, src_tx_hash="0x" + "11" * 32))
    report(client, EARLY, token=limited(3))
    report(client, refund(SEND)[1])
    assert (answer(client)["status"], answer(client)["src_block_tx_link"]) == (Status.TRANSFER_SUBMITTING, "")
    report(client, announced)
    assert answer(client)["src_block_tx_link"].endswith("tx/0x" + "11" * 32)
    params = {"acct_addr": EARLY["sender"], "page_size": 9}
    assert client.get("/v2/transferHistory", query_string=params).get_json()["history"] == []


CRASHING = [
    event("chain.reorged", "reorg", chain_id=1, from_block=100),
    SEND,
    for_send(SEND, about(1, "transfer.confirmed", event_id="confirmed", block=100)),
    for_send(SEND, about(1, "network.status", event_id="status", xfer_status=4)),
    for_send(SEND, released(1, event_id="paid", block=200)),
    event("liquidity.added", "added", chain_id=1, symbol="USDT", amount="5", block=101),
]


def sizes(database: Database) -> dict[str, int]:
    """The number of rows of each table."""
    with reading(database.engine) as connection:
        names = filled_tables(connection)
        return {name: connection.scalar(select(func.count()).select_from(table(name))) or 0 for name in names}


@pytest.mark.parametrize("times", few_or_many(10, 300))
@pytest.mark.parametrize("is_whole", [True, False])
def test_log_sent_many_times_adds_nothing(
    client: FlaskClient, database: Database, *, is_whole: bool, times: int
) -> None:
    def send_log() -> None:
        for part in [CRASHING] if is_whole else [[line] for line in CRASHING]:
            report(client, *part)

    for _ in range(3):
        send_log()
    before, answered, cost = sizes(database), answer(client), steps(send_log)
    for _ in range(times):
        send_log()
    assert sizes(database) == before
    assert answer(client) | {"as_of": 0} == answered | {"as_of": 0}
    assert steps(send_log) < 1.3 * cost


def test_bound_accepts_known_events_again(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.transfers.rules.events.bounds.MAX_OF_A_TYPE", 1)
    monkeypatch.setattr("app.feed.services.load.MAX_REQUESTS", 0)
    for _ in range(4):
        report(client, *CRASHING)
    assert status(client) == Status.TRANSFER_COMPLETED
    result = verdict(post(client, [SEND | {"id": "another", "block": 101}]))
    assert result["refused"][0]["reason"].startswith("type: this reporter may send at most 1")


def test_limited_token_is_bounded_per_transfer(client: FlaskClient, limited: Callable[..., str]) -> None:
    """The whole log of a transfer is read with each event about it, and for each stream that begins."""
    report(client, SEND)
    named = [
        for_send(SEND, line) | {"id": f"{line['type']} {n}"}
        for n in range(MAX_OF_A_LIMITED // 3 + 1)
        for line in (
            about(1, "network.status", xfer_status=2),
            released(1, block=200, chain_id=2),
            about(1, "transfer.delayed", block=200, chain_id=2),
        )
    ]
    result = verdict(post(client, named, limited(1, 2)))
    assert result["accepted"] == MAX_OF_A_LIMITED
    assert {each["reason"] for each in result["refused"]} == {
        "transfer_id: a token that is limited to chains may send at most 512 events about a transfer: send "
        "further ones with a token for all chains"
    }
    assert report(client, *named[:5], token=limited(1, 2))["repeated"] == 5
    report(client, refund(SEND)[0])
    signatures = [refund(SEND)[1] | {"id": f"signature {n}"} for n in range(MAX_OF_A_TYPE + 1)]
    assert verdict(post(client, signatures, limited(1)))["accepted"] == MAX_OF_A_TYPE
    report(client, *(each | {"id": f"honest {n}"} for n, each in enumerate(named[:9])))


def test_retracting_a_reporter_leaves_what_others_reported(
    client: FlaskClient, limited: Callable[..., str], audited: Audited
) -> None:
    paid = for_send(SEND, released(1, block=200, chain_id=2))
    decision = for_send(SEND, about(1, "network.status", xfer_status=3))
    report(client, *(decision | {"id": each["id"]} for each in (paid, SEND)), decision, token=limited(3))
    report(client, SEND, paid)
    retract_reporter(*audited, "only-3", NOW - timedelta(days=1), "hostile", actor=TESTER)
    assert status(client) == Status.TRANSFER_COMPLETED


def test_limited_submission_opens_no_failure(client: FlaskClient, limited: Callable[..., str]) -> None:
    report(client, EARLY, for_send(SEND, about(1, "transfer.failed")), token=limited(3))
    assert status(client) == Status.TRANSFER_SUBMITTING


def test_source_link_names_first_send_in_any_order(
    client: FlaskClient, app: Flask, limited: Callable[..., str]
) -> None:
    """The same sends by a token with limits and one without, after a reorganisation."""
    sends = [
        (SEND, TOKEN),
        (SEND | {"max_slippage": 5}, limited(1)),
        (proven(1, event_id="second", block=101, src_tx_hash=OTHER_HASH), TOKEN),
    ]
    report(client, SEND)
    for number, story in enumerate(permutations(sends)):
        report(client, event("chain.reorged", f"reorg-{number}", chain_id=1, from_block=100))
        for line, bearer in story:
            report(client, line, token=bearer)
        assert answer(client)["src_block_tx_link"].endswith(SEND["src_tx_hash"]), story


def test_proven_send_precedes_earlier_ones(client: FlaskClient) -> None:
    early = {name: value for name, value in SEND.items() if name not in ("nonce", "token")}
    report(client, early | {"id": "early", "block": 50, "src_tx_hash": OTHER_HASH}, SEND)
    assert answer(client)["src_block_tx_link"].endswith(SEND["src_tx_hash"])


def test_complete_send_is_accepted_after_vague_one(client: FlaskClient) -> None:
    vague = {name: value for name, value in SEND.items() if name not in ("nonce", "token")}
    report(client, vague | {"sender": BARE, "receiver": BARE, "symbol": "usdt"})
    report(client, SEND)
    wanted, _ = refund(SEND)
    report(client, wanted, *(refund(SEND, key)[1] for key in KEYS[:3]))
    assert status(client) == Status.TRANSFER_REFUND_TO_BE_CONFIRMED


def test_account_without_proof_is_not_respelled(client: FlaskClient) -> None:
    report(client, SEND | {"transfer_id": "0x" + "99" * 32, "sender": BARE, "receiver": BARE, "nonce": "b1"})
    params = {"acct_addr": BARE, "page_size": 9}
    history = client.get("/v2/transferHistory", query_string=params).get_json()["history"]
    assert [each["transfer_id"] for each in history] == ["0x" + "99" * 32]
