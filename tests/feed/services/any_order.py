"""Events in any order, again, in batches, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import Flask
from hypothesis import strategies as st

from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from app.transfers.rules.refunds.request_message import withdraw_id_of
from app.values.codes import SendKind, XferStatus
from app.values.crypto import address_of, checksum_address
from tests.feed.services.world import (
    KEYS,
    about,
    event,
    feed,
    forget_events,
    prepared,
    projections,
    released,
    request,
    sent,
    signature,
    signed,
)

Events = list[dict[str, Any]]


def members(*keys: int) -> dict[str, Any]:
    signers = [checksum_address(address_of(KEYS[k])) for k in keys]
    return {"signers": signers, "powers": [str(10 + k) for k in keys]}


def shared_ids(n: int) -> Events:
    """Facts of different transfers under ids that each of them has, also reported with fewer fields."""
    bare = about(n, "transfer.submitted", at=-102, src_chain_id=1)
    return [
        bare | {"id": "shared"},
        bare | {"id": "shared", "dst_chain_id": 3},
        bare | {"id": "shared", "symbol": "CELR", "unknown": n},
        about(n, "refund.submitted", at=-47, tx_hash="0x" + f"{n:02x}" * 32, block=105) | {"id": "refund"},
        about(n, "refund.submitted", at=-47, tx_hash="0x" + f"{n:02x}" * 32) | {"id": "refund"},
    ]


def used_id() -> str:
    """The withdraw id that the second requests of all pool transfers have."""
    return (withdraw_id_of(request(0, SendKind.POOL, 1, amount=5)) or b"").hex()


def of_transfer(n: int) -> Events:
    """Everything that can be reported of one transfer, true and false."""
    kind = (SendKind.POOL, SendKind.DEPOSIT, SendKind.BURN)[n % 3]
    chain = 2 if kind is SendKind.BURN else 1
    send: dict[str, Any] = {
        "kind": kind.value,
        "src_chain_id": chain,
        "dst_chain_id": 3 - chain,
        "symbol": "USDT" if kind is SendKind.POOL else "CELR",
    }
    wd = request(n, kind, chain)
    other = request(n, kind, chain, amount=5)
    too_much = request(n, kind, chain, amount=1_000_000_001)
    return [
        about(n, "transfer.submitted", at=-101, src_chain_id=chain, dst_chain_id=3, amount="9"),
        sent(n, block=100, **send),
        sent(n, at=-99, **{**send, "block": 102}),
        about(n, "transfer.confirmed", block=100),
        about(n, "transfer.confirmed", at=-49),
        about(n, "transfer.failed", block=101),
        *(about(n, "network.status", at=-40 + x, xfer_status=int(x)) for x in XferStatus if x),
        about(n, "transfer.delayed", block=201),
        released(n, block=201, amount="77"),
        released(n, at=-9),
        about(n, "refund.requested"),
        prepared(n, wd),
        prepared(n, other),
        prepared(n, too_much),
        *(signed(n, signature(wd, key, kind, chain)) for key in KEYS),
        signed(n, signature(wd, KEYS[0], kind, chain), at=-31),
        *shared_ids(n),
        signed(n, signature(other, KEYS[0], kind, chain)),
        about(n, "refund.submitted", tx_hash="0x" + "44" * 32, block=103),
        about(n, "refund.submitted", at=-48, tx_hash="0x" + "45" * 32, block=104),
        about(n, "refund.failed", tx_hash="0x" + "44" * 32, block=104),
        about(n, "refund.delayed", delayed_id="0x" + "46" * 32, tx_hash="0x" + "45" * 32, block=104),
        about(n, "refund.completed", block=104),
    ]


SHARED: Events = [
    event("liquidity.added", chain_id=1, symbol="USDT", amount="5000", block=90),
    event("liquidity.added", chain_id=1, symbol="USDT", amount="70", block=110),
    event("liquidity.withdrawn", chain_id=1, symbol="USDT", amount="600", block=111, withdraw_id="07" * 32),
    event("withdraw.done", chain_id=1, withdraw_id="07" * 32, block=110),
    event("withdraw.done", chain_id=1, withdraw_id=used_id(), block=112),
    event("withdraw.done", chain_id=1, withdraw_id=used_id(), ref_id="0x" + "09" * 32, block=103),
    event("fee.updated", at=-60, symbol="USDT", src_chain_id=1, dst_chain_id=2, base_fee="1"),
    event("fee.updated", at=-59, symbol="USDT", src_chain_id=1, dst_chain_id=2, base_fee="2"),
    event("validators.updated", at=-30, chain_id=1, block=105, **members(0, 1, 4)),
    event("validators.updated", at=-29, chain_id=1, block=112, **members(0, 2, 3)),
    event("validators.updated", "1:0xb:9", at=-29, chain_id=1, block=104, log_index=9, **members(0, 1, 5)),
    event("validators.updated", "1:0xb:10", at=-29, chain_id=1, block=104, log_index=10, **members(1, 4, 6)),
    event("validators.updated", at=-2, chain_id=1, **members(2, 4, 5)),
    event("validators.updated", at=-50, chain_id=2, block=206, **members(0, 5, 6)),
    event("chain.head", chain_id=1, block=120),
    event("chain.head", at=1, chain_id=2, block=220),
]

MAY_BE_MISSING = ("block", "log_index")

WITH_FEWER_FIELDS: Events = [
    {name: value for name, value in line.items() if name not in MAY_BE_MISSING} for line in SHARED[5:9]
]

EVERYTHING: Events = [*SHARED, *WITH_FEWER_FIELDS, *(e for n in (1, 2, 3) for e in of_transfer(n))]

REORGS: Events = [
    event("chain.reorged", chain_id=1, from_block=101),
    event("chain.reorged", chain_id=2, from_block=201),
]


@st.composite
def arrival(draw: st.DrawFn, events: Events) -> list[Events]:
    """The events in some order, some of them again, in batches."""
    again = draw(st.lists(st.sampled_from(events), max_size=6))
    order = draw(st.permutations([*events, *again]))
    cuts = sorted(draw(st.sets(st.integers(1, len(order)), max_size=4)))
    starts = [0, *cuts]
    return [order[a:b] for a, b in zip(starts, [*cuts, len(order)], strict=True) if a < b]


def ingest(app: Flask, batches: Sequence[Events]) -> None:
    """Feed the batches; then send what was refused again until nothing more is taken."""
    refused: dict[str, dict[str, Any]] = {}
    for batch in batches:
        by_line = dict(enumerate(batch, start=1))
        for refusal in feed(app, *batch).refused:
            refused[refusal.id] = by_line[refusal.line]
    while refused:
        verdict = feed(app, *refused.values())
        if not verdict.accepted:
            return
        still = {refusal.id for refusal in verdict.refused}
        refused = {event_id: e for event_id, e in refused.items() if event_id in still}


def answers_after(app: Flask, *phases: Sequence[Events]) -> dict[str, list[tuple[Any, ...]]]:
    forget_events(app)
    for phase in phases:
        ingest(app, phase)
    with reading(part_of(app, Database).engine) as connection:
        return projections(connection)
