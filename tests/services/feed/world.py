"""A small network with validators whose keys the tests hold, and events about it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, insert, select

from app.domain.codes import SendKind
from app.domain.crypto import address_of, checksum_address, keccak256, sign_digest
from app.domain.refund.evidence import signing_digest
from app.domain.refund.request import RefundRequest, encode_request
from app.models.anomalies import Anomaly
from app.models.events import ChainProgress, TransferBlock
from app.models.network import Chain, OpeningValidator, PeggedPair, Token
from app.models.pools import PoolCounter, PoolVolume, ReportedFee
from app.models.transfers import LatencyRecord, Refund, Transfer, TransferHash
from app.models.validators import ReportedValidatorSet
from app.runtime.gateway import Gateway
from app.services.feed.ingest import IngestResult, ingest_lines

NOW = datetime(2026, 6, 1, 12, 0, 0, tzinfo=UTC)
KEYS = [keccak256(f"test validator {n}".encode()) for n in range(1, 8)]
POWERS = [40, 30, 20, 10]
SENDER = checksum_address(bytes.fromhex("aa" * 20))


def address(n: int) -> str:
    """A made-up contract or token address."""
    return checksum_address(n.to_bytes(20, "big"))


def build_network(connection: Connection) -> None:
    """Chains 1, 2 and 3 with USDT (6, 18, 6 decimals); CELR is pegged from 1 on 2 and 3."""
    for chain_id in (1, 2, 3):
        connection.execute(
            insert(Chain).values(
                chain_id=chain_id,
                name=f"Chain {chain_id}",
                icon="",
                block_delay=10 * chain_id,
                gas_token_symbol="GAS",
                explore_url=f"https://scan{chain_id}.example/",
                contract_addr=address(1000 + chain_id),
                drop_gas_amt=0,
                minimal_max_slippage=0,
                disabled=False,
                disabled_reason="",
            )
        )
        for symbol, decimal in (("USDT", 18 if chain_id == 2 else 6), ("CELR", 18)):
            connection.execute(
                insert(Token).values(
                    chain_id=chain_id,
                    symbol=symbol,
                    name=symbol,
                    icon="",
                    address=token(chain_id, symbol),
                    decimal=decimal,
                    xfer_disabled=False,
                )
            )
    for pegged in (2, 3):
        connection.execute(
            insert(PeggedPair).values(
                symbol="CELR",
                org_chain_id=1,
                pegged_chain_id=pegged,
                pegged_deposit_contract_addr=address(3001),
                pegged_burn_contract_addr=address(4000 + pegged),
                canonical_token_contract_addr="",
                vault_version=2,
                bridge_version=2,
                deposit_base_fee=0,
                burn_base_fee=0,
                perc_fee_tiers=((0, 0),),
            )
        )
    for key, power in zip(KEYS, POWERS, strict=False):
        for chain_id in (1, 2):
            connection.execute(
                insert(OpeningValidator).values(
                    chain_id=chain_id, signer=checksum_address(address_of(key)), power=power
                )
            )


def token(chain_id: int, symbol: str) -> str:
    """The address of a token."""
    return address(2000 + 10 * chain_id + (symbol == "CELR"))


def transfer_id(n: int) -> str:
    """A transfer id that is easy to read."""
    return "0x" + f"{n:064x}"


def event(event_type: str, /, event_id: str | None = None, at: float = 0, **fields: Any) -> dict[str, Any]:
    """An event at so many seconds before (negative) or after NOW; its id is its content."""
    body = {"type": event_type, "at": (NOW + timedelta(seconds=at)).isoformat(), **fields}
    return {"id": event_id or keccak256(json.dumps(body, sort_keys=True).encode()).hex()[:16], **body}


def sent(n: int, /, at: float = -100, **changes: Any) -> dict[str, Any]:
    """A pool send of 1,000 USDT from chain 1 to chain 2, in block 100."""
    fields = {
        "transfer_id": transfer_id(n),
        "kind": "pool",
        "src_chain_id": 1,
        "dst_chain_id": 2,
        "symbol": "USDT",
        "amount": "1000000000",
        "sender": SENDER,
        "receiver": SENDER,
        "src_tx_hash": "0x" + f"{n:02x}" * 32,
        "block": 100,
    }
    return event("transfer.sent", at=at, **(fields | changes))


def about(n: int, event_type: str, /, at: float = -50, **fields: Any) -> dict[str, Any]:
    """An event about transfer ``n``."""
    return event(event_type, at=at, transfer_id=transfer_id(n), **fields)


def released(n: int, /, at: float = -10, **fields: Any) -> dict[str, Any]:
    """A release of transfer ``n``."""
    return about(n, "transfer.released", at=at, dst_tx_hash="0x" + "ee" * 32, **fields)


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
    return sign_digest(signing_digest(kind, chain, contract(kind, chain), wd_onchain), key)


def prepared(n: int, wd_onchain: bytes, at: float = -40) -> dict[str, Any]:
    """``refund.prepared``."""
    return about(n, "refund.prepared", at=at, wd_onchain=base64.b64encode(wd_onchain).decode())


def signed(n: int, sig: bytes, at: float = -30) -> dict[str, Any]:
    """``refund.signed``."""
    return about(n, "refund.signed", at=at, signature=base64.b64encode(sig).decode())


def feed(gateway: Gateway, *events: dict[str, Any], reporter: str = "test") -> IngestResult:
    """Ingest events as lines."""
    return ingest_lines(gateway, [json.dumps(e).encode() for e in events], reporter)


def projections(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
    """Everything that answers are made of, in a comparable form."""
    tables = (
        Transfer,
        Refund,
        LatencyRecord,
        TransferBlock,
        TransferHash,
        PoolCounter,
        PoolVolume,
        ReportedFee,
        ReportedValidatorSet,
    )
    dump = {model.__tablename__: _rows(connection, model) for model in (*tables, ChainProgress)}
    for name, first_sum in ((PoolCounter.__tablename__, 2), (PoolVolume.__tablename__, 3)):
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


def _rows(connection: Connection, model: Any) -> list[tuple[Any, ...]]:
    rows: Iterable[Any] = connection.execute(select(model.__table__))
    return sorted((tuple(map(_comparable, row)) for row in rows), key=repr)


def _comparable(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list) else value
