"""A small network with validators whose keys the tests hold, and events about it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from flask import Flask
from sqlalchemy import Connection, Engine, select, text

from app.db.database import Database
from app.db.engine import reading, writing
from app.estimates.models import PoolCounter, PoolVolume, ReportedFee
from app.feed.models import TransferBlock
from app.feed.services.ingest import IngestResult, Intake, ingest_lines
from app.http.application import part_of
from app.latency.models import LatencyRecord
from app.network.document import import_within, read_document
from app.network.models import ReportedValidatorSet
from app.refunds.models import WithdrawDone
from app.transfers.models import (
    Anomaly,
    ChainProgress,
    Refund,
    Transfer,
    TransferAccount,
    TransferHash,
    TrendCount,
)
from app.transfers.rules.events.contract_ids import pool_transfer_id
from app.transfers.rules.refunds.request_checks import signing_digest
from app.transfers.rules.refunds.request_message import RefundRequest, encode_request
from app.values.codes import SendKind
from app.values.crypto import address_of, checksum_address, keccak256, sign_digest
from app.values.identifiers import ChainId
from app.values.times import Clock
from tests.applications import change_part
from tests.builders import network as build
from tests.builders.events import EventBuilder
from tests.databases import SharedDatabase, filled_tables

NOW = datetime(2026, 6, 1, 12, 0, 0, tzinfo=UTC)
KEYS = [keccak256(f"test validator {n}".encode()) for n in range(1, 8)]
POWERS = [40, 30, 20, 10]
NETWORK_TABLES = {"chains", "tokens", "pegged_pairs", "opening_validators", "network_parts"}
SENDER = checksum_address(bytes.fromhex("aa" * 20))

NO_LIQUIDITY = dict.fromkeys(
    ("liquidity_added", "liquidity_sent", "liquidity_relayed", "liquidity_withdrawn"), 0
)
"""The opening values of a pool that has nothing."""

_events = EventBuilder(
    NOW,
    transfer={
        "kind": "pool",
        "src_chain_id": 1,
        "dst_chain_id": 2,
        "symbol": "USDT",
        "amount": "1000000000",
        "sender": SENDER,
        "receiver": SENDER,
        "block": 100,
    },
    payout={"dst_tx_hash": "0x" + "ee" * 32},
)


def address(n: int) -> str:
    """A made-up contract or token address."""
    return checksum_address(n.to_bytes(20, "big"))


def network() -> build.Document:
    """Chains 1, 2 and 3 with USDT (6, 18, 6 decimals); CELR is pegged from 1 on 2 and 3."""
    chains = (1, 2, 3)
    return build.document(
        chains=[
            build.chain(
                n,
                f"Chain {n}",
                block_delay=10 * n,
                explore_url=f"https://scan{n}.example/",
                contract_addr=address(1000 + n),
            )
            for n in chains
        ],
        tokens=[
            build.token(n, symbol, token(n, symbol), decimals)
            for n in chains
            for symbol, decimals in (("USDT", 18 if n == 2 else 6), ("CELR", 18))
        ],
        pegged_pairs=[build.pair(1, n, "CELR", address(3001), address(4000 + n)) for n in (2, 3)],
        validators=[
            build.validator(n, checksum_address(address_of(key)), str(power))
            for key, power in zip(KEYS, POWERS, strict=False)
            for n in (1, 2)
        ],
    )


def build_network(connection: Connection) -> None:
    """Import the network."""
    import_within(connection, read_document(build.text(network())), NOW)


def write_network(engine: Engine) -> None:
    """Import the network in a transaction of its own."""
    with writing(engine) as connection:
        build_network(connection)


def fill_network(shared_database: SharedDatabase, engine: Engine) -> None:
    """Fill the empty database with the small network."""
    shared_database.fill(fill_network, lambda: write_network(engine))


def small_network(app: Flask, shared_database: SharedDatabase, *, clock: Clock) -> Flask:
    """The application with this clock, on the empty database filled with the small network."""
    change_part(app, Database, clock=clock)
    fill_network(shared_database, part_of(app, Database).engine)
    return app


def forget_events(app: Flask) -> None:
    """Empty every table but those of the network, for the next example of a test."""
    with writing(part_of(app, Database).engine) as connection:
        for name in filled_tables(connection):
            if name not in NETWORK_TABLES:
                connection.execute(text(f'DELETE FROM "{name}"'))


def token(chain_id: int, symbol: str) -> str:
    """The address of a token."""
    return address(2000 + 10 * chain_id + (symbol == "CELR"))


def transfer_id(n: int) -> str:
    """A transfer id that is easy to read."""
    return "0x" + f"{n:064x}"


def id_of(n: int) -> bytes:
    """The transfer id as tables have it."""
    return n.to_bytes(32, "big")


def event(event_type: str, /, event_id: str | None = None, at: float = 0, **fields: Any) -> dict[str, Any]:
    """An event at so many seconds before (negative) or after NOW; its id is its content."""
    return _events.event(event_type, event_id, at, **fields)


def sent(n: int, /, at: float = -100, **changes: Any) -> dict[str, Any]:
    """A pool send of 1,000 USDT from chain 1 to chain 2, in block 100."""
    return _events.sent(transfer_id(n), at, **{"src_tx_hash": "0x" + f"{n:02x}" * 32, **changes})


def proven(nonce: int, /, at: float = -100, **changes: Any) -> dict[str, Any]:
    """A pool send as ``sent``, with the fields by which its contract makes its id, and that id."""
    fields = {"src_tx_hash": "0x" + f"{nonce:02x}" * 32, "nonce": nonce, **changes}
    send = _events.sent("0x", at, **fields)
    send["token"] = changes.get("token", token(send["src_chain_id"], send["symbol"]))
    computed = pool_transfer_id(
        sender=bytes.fromhex(send["sender"][2:]),
        receiver=bytes.fromhex(send["receiver"][2:]),
        token=bytes.fromhex(send["token"][2:]),
        amount=int(send["amount"]),
        dst_chain_id=send["dst_chain_id"],
        nonce=nonce,
        src_chain_id=send["src_chain_id"],
    )
    return send | {"transfer_id": "0x" + computed.hex()}


def for_send(send: dict[str, Any], event: dict[str, Any]) -> dict[str, Any]:
    """The event, about the transfer of this send."""
    return event | {"transfer_id": send["transfer_id"]}


def about(n: int, event_type: str, /, at: float = -50, **fields: Any) -> dict[str, Any]:
    """An event about transfer ``n``."""
    return _events.about(transfer_id(n), event_type, at, **fields)


def released(n: int, /, at: float = -10, **fields: Any) -> dict[str, Any]:
    """A release of transfer ``n``."""
    return _events.released(transfer_id(n), at, **fields)


def request(n: int, kind: SendKind = SendKind.POOL, chain: int = 1, **changes: Any) -> bytes:
    """The refund request that belongs to ``sent(n, kind=kind)``."""
    symbol = "USDT" if kind is SendKind.POOL else "CELR"
    values: dict[str, Any] = {
        "kind": kind,
        "receiver": bytes.fromhex(SENDER[2:]),
        "token": bytes.fromhex(token(chain, symbol)[2:]),
        "amount": 1_000_000_000,
        "ref_id": bytes.fromhex(transfer_id(n)[2:]),
    }
    if kind is SendKind.POOL:
        values |= {"chain_id": chain, "seqnum": 7}
    else:
        values |= {
            "ref_chain_id": chain,
            "burn_account" if kind is SendKind.DEPOSIT else "depositor": bytes(20),
        }
    return encode_request(RefundRequest(**(values | changes)))


def contract(kind: SendKind, chain: int = 1) -> bytes:
    """The contract that pays the refund."""
    base = {SendKind.POOL: 1000 + chain, SendKind.DEPOSIT: 3001, SendKind.BURN: 4000 + chain}[kind]
    return bytes.fromhex(address(base)[2:])


def signature(wd_onchain: bytes, key: bytes, kind: SendKind = SendKind.POOL, chain: int = 1) -> bytes:
    """A validator's signature over a request."""
    return sign_digest(signing_digest(kind, ChainId(chain), contract(kind, chain), wd_onchain), key)


def prepared(n: int, wd_onchain: bytes, at: float = -40) -> dict[str, Any]:
    """``refund.prepared``."""
    return about(n, "refund.prepared", at=at, wd_onchain=base64.b64encode(wd_onchain).decode())


def signed(n: int, sig: bytes, at: float = -30) -> dict[str, Any]:
    """``refund.signed``."""
    return about(n, "refund.signed", at=at, signature=base64.b64encode(sig).decode())


def rotation(event_id: str, key: int, at: float, **fields: Any) -> dict[str, Any]:
    """A validator set of chain 1 with one member."""
    members = {"signers": [checksum_address(address_of(KEYS[key]))], "powers": ["1"]}
    return event("validators.updated", event_id, at, chain_id=1, **members, **fields)


def feed(app: Flask, *events: dict[str, Any], reporter: str = "test") -> IngestResult:
    """Ingest events as lines."""
    return ingest_lines(
        part_of(app, Database), part_of(app, Intake), [json.dumps(e).encode() for e in events], reporter
    )


def projections(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
    """All projections that answers are made of, in a comparable form."""
    tables = (
        Transfer,
        Refund,
        LatencyRecord,
        TransferAccount,
        TransferBlock,
        TransferHash,
        PoolCounter,
        PoolVolume,
        TrendCount,
        ReportedFee,
        ReportedValidatorSet,
        WithdrawDone,
    )
    dump = {model.__tablename__: rows_of(connection, model) for model in (*tables, ChainProgress)}
    for name, first_sum in (("pool_counters", 2), ("pool_volumes", 3), ("course_counts", 6)):
        dump[name] = [row for row in dump[name] if any(row[first_sum:])]
    columns = (
        Anomaly.kind,
        Anomaly.subject,
        Anomaly.detail,
        Anomaly.event_ids,
        Anomaly.first_at,
        Anomaly.last_at,
    )
    rows = connection.execute(select(*columns).order_by(Anomaly.subject, Anomaly.kind))
    dump["anomalies"] = [tuple(map(_comparable, row)) for row in rows]
    return dump


def state(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """The projections as they are committed."""
    with reading(database.engine) as connection:
        return projections(connection)


def rows_of(connection: Connection, model: Any) -> list[tuple[Any, ...]]:
    """The rows of a table, in an order that their writing does not decide."""
    rows: Iterable[Any] = connection.execute(select(model.__table__))
    return sorted((tuple(map(_comparable, row)) for row in rows), key=repr)


def _comparable(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list) else value
