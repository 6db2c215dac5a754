"""A token for one chain, in the hands of an attacker, changes no answer about transfers of other chains."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.credentials.rules.ingest_token import Scope
from app.db.database import Database
from app.feed.services.ingest import IngestResult, Intake, ingest_lines
from app.feed.services.log import export_log
from app.feed.services.reprojection import replay
from app.http.application import part_of
from app.transfers.rules.events.bounds import MAX_OF_A_TYPE
from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from tests.actors import TESTER
from tests.applications import Audited
from tests.feed.seeds import seeds
from tests.feed.services.any_order import members
from tests.feed.services.world import (
    KEYS,
    SENDER,
    about,
    event,
    for_send,
    forget_events,
    prepared,
    proven,
    released,
    request,
    signature,
    signed,
    state,
)

Events = list[dict[str, Any]]

SCOPES = {
    "a": Scope(),
    "b": Scope(chains=frozenset({1, 2})),
    "c": Scope(chains=frozenset({2})),
    "hostile": Scope(chains=frozenset({3})),
}
FALSE_HASH = "0x" + "cc" * 32
SENDS = [proven(n, at=-100 - n, block=90 + n, dst_chain_id=2) for n in range(1, 5)]


def story(send: dict[str, Any], rng: random.Random) -> Events:
    """What honest reporters send of a transfer from chain 1 to chain 2."""
    wd_onchain = request(1, ref_id=bytes.fromhex(send["transfer_id"][2:]))
    reported = [
        send,
        for_send(send, about(1, "transfer.confirmed", block=99)),
        for_send(send, about(1, "transfer.submitted", at=-200, src_chain_id=1, dst_chain_id=2)),
        for_send(send, released(1, block=200, chain_id=2)),
        for_send(send, about(1, "transfer.delayed", block=200)),
        for_send(send, about(1, "network.status", xfer_status=4)),
        for_send(send, prepared(1, wd_onchain)),
        *(for_send(send, signed(1, signature(wd_onchain, key))) for key in KEYS[:3]),
    ]
    return [reported[0], *rng.sample(reported[1:], rng.randrange(len(reported)))]


def false_reports(send: dict[str, Any], honest: Events, rng: random.Random) -> Events:
    """What the bearer of a token for chain 3 may send of it."""
    at = rng.choice([-9000, -150, -1])
    common = {"chain_id": rng.choice([None, 3]), "block": rng.choice([1, 95, 60_000_000])}
    other = {"src_chain_id": 3, "dst_chain_id": rng.choice([1, 2, 3]), "block": 1}
    reported = [
        send | other | {"id": "false"},
        for_send(send, proven(99, at=at, **other)),
        proven(98, at=at, **other),
        for_send(send, about(1, "transfer.submitted", at=at, src_chain_id=3, src_tx_hash=FALSE_HASH)),
        for_send(send, released(1, at=at, amount="1", dst_tx_hash=FALSE_HASH, **common)),
        for_send(send, about(1, "transfer.delayed", at=at, **common)),
        for_send(send, about(1, "transfer.failed", at=at, **common)),
        for_send(send, about(1, "transfer.confirmed", at=at, **common)),
        for_send(send, about(1, "refund.completed", at=at, **common)),
        for_send(send, about(1, "refund.submitted", at=at, tx_hash="0x" + "dd" * 32, **common)),
        for_send(send, about(1, "refund.delayed", at=at, delayed_id="0x" + "de" * 32, **common)),
        for_send(send, about(1, "refund.requested", at=at)),
        for_send(send, about(1, "network.status", at=at, xfer_status=rng.choice([3, 7]))),
        for_send(send, prepared(1, request(1, SendKind.POOL, chain=3))),
        event("chain.reorged", chain_id=3, from_block=1),
        event("chain.head", chain_id=3, block=60_000_000),
    ]
    chosen = rng.sample(reported, rng.randrange(1, 7))
    taken = rng.choice(honest)["id"]
    return [each | {"id": taken} if rng.random() < 0.3 else each for each in chosen]


def answers(client: FlaskClient, sends: Iterable[dict[str, Any]]) -> list[Any]:
    """All answers about the transfers, and of a transaction that only an attacker names."""
    by_hash = {"tx_hash": FALSE_HASH, "src_chain_id": 1}
    found: list[Any] = [client.post("/v2/getTransferStatus", json=by_hash).get_json()["err"]["code"]]
    found.append(client.get("/v2/getTransfer", query_string={"tx_hash": FALSE_HASH}).get_json()["transfers"])
    for send in sends:
        wanted = {"transfer_id": send["transfer_id"]}
        found.append(client.post("/v2/getTransferStatus", json=wanted).get_json())
        found.append(client.get("/v2/getRefundEvidence", query_string=wanted).get_json())
    history = client.get(
        "/v2/transferHistory", query_string={"acct_addr": SENDER, "page_size": 50}
    ).get_json()
    ours = {send["transfer_id"] for send in sends}
    found.append([each for each in history["history"] if each["transfer_id"] in ours])
    return found


def report(app: Flask, reported: list[tuple[str, dict[str, Any]]]) -> None:
    """Report each event by its reporter, in batches of one."""
    for reporter, line in reported:
        result = ingest_lines(
            part_of(app, Database),
            part_of(app, Intake),
            [json.dumps(line).encode()],
            reporter,
            scope=SCOPES[reporter],
        )
        assert reporter == "hostile" or not result.refused, (line, result.refused)


@pytest.mark.parametrize("tried", seeds(10))
def test_proven_send_is_answered_the_same(app: Flask, tried: range) -> None:
    for seed in tried:
        assert_attack_changes_nothing(app, random.Random(seed))


def assert_attack_changes_nothing(app: Flask, rng: random.Random) -> None:
    client = app.test_client()
    forget_events(app)
    sends = rng.sample(SENDS, rng.randrange(1, 3))
    honest = [(rng.choice("ab"), each) for send in sends for each in story(send, rng)]
    rng.shuffle(honest)
    report(app, honest)
    expected = answers(client, sends)
    forget_events(app)
    reported = list(honest)
    for send in sends:
        of_send = [each for _, each in honest if each["transfer_id"] == send["transfer_id"]]
        for false in false_reports(send, of_send, rng):
            reported.insert(rng.randrange(len(reported) + 1), ("hostile", false))
    report(app, reported)
    assert answers(client, sends) == expected
    deep = {"type": "chain.reorged", "id": "r", "at": "2026-06-01T12:00:00Z", "chain_id": 1, "from_block": 95}
    assert not report_as(app, "a", deep).refused


def report_as(app: Flask, reporter: str, *lines: dict[str, Any]) -> IngestResult:
    """What becomes of the lines of a reporter."""
    scope = SCOPES[reporter]
    return ingest_lines(
        part_of(app, Database),
        part_of(app, Intake),
        [json.dumps(line).encode() for line in lines],
        reporter,
        scope=scope,
    )


def status(app: Flask) -> int:
    query = {"transfer_id": SENDS[0]["transfer_id"]}
    return int(app.test_client().post("/v2/getTransferStatus", json=query).get_json()["status"])


REQUEST = for_send(SENDS[0], prepared(1, request(1, ref_id=bytes.fromhex(SENDS[0]["transfer_id"][2:]))))
SIGNATURES = [
    for_send(SENDS[0], signed(1, signature(base64.b64decode(REQUEST["wd_onchain"]), key))) for key in KEYS[:7]
]
EARLY = "2020-01-01T00:00:00Z"


@pytest.mark.parametrize("honest", ["a", "b"])
def test_copied_signatures_leave_refund_ready(app: Flask, audited: Audited, honest: str) -> None:
    copies = [each | {"id": f"copy-{n}", "at": EARLY} for n, each in enumerate(SIGNATURES[:3])]
    assert report_as(app, "hostile", *copies).accepted == 3
    report_as(app, honest, SENDS[0], REQUEST, *SIGNATURES[:3])
    assert status(app) == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    replay(*audited, actor=TESTER)
    assert status(app) == Status.TRANSFER_REFUND_TO_BE_CONFIRMED


def test_aside_signature_survives_foreign_id(app: Flask) -> None:
    later = SIGNATURES[4:7]
    decision = for_send(SENDS[0], about(1, "network.status", xfer_status=3))
    report_as(app, "hostile", *(decision | {"id": each["id"]} for each in later))
    report_as(app, "a", SENDS[0], REQUEST, *later)
    assert status(app) == Status.TRANSFER_REQUESTING_REFUND
    report_as(app, "a", event("validators.updated", chain_id=1, **members(4, 5, 6)))
    assert status(app) == Status.TRANSFER_REFUND_TO_BE_CONFIRMED


def test_signatures_that_wait_have_a_bound(app: Flask) -> None:
    many = [SIGNATURES[0] | {"id": f"s{n}", "at": EARLY} for n in range(400)]
    assert report_as(app, "hostile", *many).accepted == MAX_OF_A_TYPE


def test_copies_of_counted_signatures_are_bounded(app: Flask) -> None:
    report_as(app, "a", SENDS[0], REQUEST, *SIGNATURES[:3])
    many = [SIGNATURES[0] | {"id": f"s{n}"} for n in range(MAX_OF_A_TYPE)]
    assert report_as(app, "b", *many).accepted == MAX_OF_A_TYPE
    assert report_as(app, "b", SIGNATURES[0] | {"id": "one more"}).refused


def test_reporter_cannot_set_limits(app: Flask, database: Database) -> None:
    report_as(app, "a", SENDS[0] | {"limited_to": [2**64]})
    [line] = export_log(database)
    assert "limited_to" not in json.loads(line)


DIFFERENT = [
    [("b", SENDS[0] | {"id": "other", "block": 60_000_000}), ("a", SENDS[0])],
    [("a", for_send(SENDS[0], released(1, block=203, chain_id=3))), ("a", SENDS[0])],
    [
        ("b", SENDS[0]),
        ("c", PAID := for_send(SENDS[0], released(1, amount="77"))),
        ("b", PAID | {"amount": "78"}),
    ],
    [("hostile", for_send(SENDS[0], released(1, block=5, chain_id=3))), ("a", SENDS[0])],
]


@pytest.mark.parametrize("reported", DIFFERENT)
def test_order_of_reporters_leaves_same_state(
    app: Flask, database: Database, audited: Audited, reported: list[tuple[str, dict[str, Any]]]
) -> None:
    found = []
    for order in (reported, reported[::-1]):
        forget_events(app)
        for _ in range(2):  # what is refused is sent again
            for reporter, line in order:
                report_as(app, reporter, line)
        found.append(state(database))
        replay(*audited, actor=TESTER)
        assert state(database) == found[-1]
    assert found[0] == found[1]
