"""A token for one chain, in the hands of an attacker, changes no answer about transfers of other chains."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.domain.codes import SendKind
from app.domain.reporting.scope import Scope
from app.runtime.gateway import Gateway
from app.services.feed.ingest import ingest_lines
from tests.services.feed.world import (
    KEYS,
    SENDER,
    about,
    event,
    forget_events,
    of,
    prepared,
    proven,
    released,
    request,
    signature,
    signed,
)
from tests.volume import volume

Events = list[dict[str, Any]]

SCOPES = {"a": Scope(), "b": Scope(chains=frozenset({1, 2})), "hostile": Scope(chains=frozenset({3}))}
FEEDS = 2_000 if os.environ.get("SOAK") else volume(120, 20)
FALSE_HASH = "0x" + "cc" * 32
SENDS = [proven(n, at=-100 - n, block=90 + n, dst_chain_id=2) for n in range(1, 5)]


def story(send: dict[str, Any], rng: random.Random) -> Events:
    """What honest reporters say of a transfer from chain 1 to chain 2."""
    wd_onchain = request(1, ref_id=bytes.fromhex(send["transfer_id"][2:]))
    told = [
        send,
        of(send, about(1, "transfer.confirmed", block=99)),
        of(send, about(1, "transfer.submitted", at=-200, src_chain_id=1, dst_chain_id=2)),
        of(send, released(1, block=200, chain_id=2)),
        of(send, about(1, "transfer.delayed", block=200)),
        of(send, about(1, "network.status", xfer_status=4)),
        of(send, prepared(1, wd_onchain)),
        *(of(send, signed(1, signature(wd_onchain, key))) for key in KEYS[:3]),
    ]
    return [told[0], *rng.sample(told[1:], rng.randrange(len(told)))]


def lies(send: dict[str, Any], honest: Events, rng: random.Random) -> Events:
    """What the bearer of a token for chain 3 may say of it."""
    at = rng.choice([-9000, -150, -1])
    common = {"chain_id": rng.choice([None, 3]), "block": rng.choice([1, 95, 60_000_000])}
    other = {"src_chain_id": 3, "dst_chain_id": rng.choice([1, 2, 3]), "block": 1}
    told = [
        send | other | {"id": "false"},
        of(send, proven(99, at=at, **other)),
        proven(98, at=at, **other),
        of(send, about(1, "transfer.submitted", at=at, src_chain_id=3, src_tx_hash=FALSE_HASH)),
        of(send, released(1, at=at, amount="1", dst_tx_hash=FALSE_HASH, **common)),
        of(send, about(1, "transfer.delayed", at=at, **common)),
        of(send, about(1, "transfer.failed", at=at, **common)),
        of(send, about(1, "transfer.confirmed", at=at, **common)),
        of(send, about(1, "refund.completed", at=at, **common)),
        of(send, about(1, "refund.submitted", at=at, tx_hash="0x" + "dd" * 32, **common)),
        of(send, about(1, "refund.delayed", at=at, delayed_id="0x" + "de" * 32, **common)),
        of(send, about(1, "refund.requested", at=at)),
        of(send, about(1, "network.status", at=at, xfer_status=rng.choice([3, 7]))),
        of(send, prepared(1, request(1, SendKind.POOL, chain=3))),
        event("chain.reorged", chain_id=3, from_block=1),
        event("chain.head", chain_id=3, block=60_000_000),
    ]
    chosen = rng.sample(told, rng.randrange(1, 7))
    taken = rng.choice(honest)["id"]
    return [each | {"id": taken} if rng.random() < 0.3 else each for each in chosen]


def answers(client: FlaskClient, sends: Iterable[dict[str, Any]]) -> list[Any]:
    """All that is said of the transfers, and of a transaction that only an attacker names."""
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


def tell(gateway: Gateway, told: list[tuple[str, dict[str, Any]]]) -> None:
    """Report each event by its reporter, in batches of one."""
    for reporter, line in told:
        result = ingest_lines(gateway, [json.dumps(line).encode()], reporter, scope=SCOPES[reporter])
        assert reporter == "hostile" or not result.refused, (line, result.refused)


@pytest.mark.parametrize("seed", range(FEEDS))
def test_what_is_said_of_a_proven_send_is_the_same(app: Flask, gateway: Gateway, seed: int) -> None:
    client, rng = app.test_client(), random.Random(seed)
    forget_events(gateway)
    sends = rng.sample(SENDS, rng.randrange(1, 3))
    honest = [(rng.choice("ab"), each) for send in sends for each in story(send, rng)]
    rng.shuffle(honest)
    tell(gateway, honest)
    expected = answers(client, sends)
    forget_events(gateway)
    told = list(honest)
    for send in sends:
        of_send = [each for _, each in honest if each["transfer_id"] == send["transfer_id"]]
        for lie in lies(send, of_send, rng):
            told.insert(rng.randrange(len(told) + 1), ("hostile", lie))
    tell(gateway, told)
    assert answers(client, sends) == expected
    deep = {"type": "chain.reorged", "id": "r", "at": "2026-06-01T12:00:00Z", "chain_id": 1, "from_block": 95}
    assert not ingest_lines(gateway, [json.dumps(deep).encode()], "a").refused
