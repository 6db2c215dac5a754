"""A small network and what happens on it, told to the gateway as operators and reporters do."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from flask import Flask

from app.runtime.gateway import Gateway
from app.services.feed.ingest import ingest_lines
from app.services.network.document import import_network
from tests.actors import TESTER

NOW = datetime(2026, 3, 8, 12, 0, 0, tzinfo=UTC)
VECTORS = Path(__file__).parents[1] / "contract" / "vectors"

ADDRESS = "0x1619DE6B6B20eD217a58d00f37B9d47C7663feca"
BLOCKED = "0x88DCDC47D2f83a99CF0000FDF667A468bB958a78"
CHAINS = {
    1: ("Ethereum", "https://etherscan.io", 12, 6),
    56: ("BNB Chain", "https://bscscan.com/", 15, 18),
    137: ("Polygon", "https://polygonscan.com", 100, 6),
    250: ("Fantom", "https://ftmscan.com/", 30, 6),
    42161: ("Arbitrum One", "https://arbiscan.io", 20, 6),
}


def vector(name: str) -> Any:
    """A recorded request, answer or both."""
    return json.loads((VECTORS / f"{name}.json").read_text())


def network() -> dict[str, Any]:
    """USDT between chains 1 and 56 as in the recorded estimate; chain 137 is disabled."""
    return {
        "version": 1,
        "chains": [
            {
                "id": chain_id,
                "name": name,
                "block_delay": delay,
                "gas_token_symbol": "GAS",
                "explore_url": explorer,
                "contract_addr": "",
                "minimal_max_slippage": 0,
                "disabled": chain_id == 137,
            }
            for chain_id, (name, explorer, delay, _) in CHAINS.items()
        ],
        "tokens": [
            {
                "chain_id": chain_id,
                "symbol": "USDT",
                "name": "Tether USD",
                "address": ADDRESS,
                "decimal": decimals,
            }
            for chain_id, (_, _, _, decimals) in CHAINS.items()
        ],
        "pools": [
            {"chain_id": 1, "symbol": "USDT", "liquidity_added": "5000000000000", "epoch_seconds": 3600},
            {
                "chain_id": 56,
                "symbol": "USDT",
                "liquidity_added": "5000000000000000000000000",
                "epoch_seconds": 3600,
            },
        ],
        "routes": [
            {
                "symbol": "USDT",
                "src_chain_id": 1,
                "dst_chain_id": 56,
                "rate": {"model": "fixed", "value": "1.000001"},
                "base_fee": "605437528092011966",
                "perc_fee_tiers": [{"from": "0", "ppm": 0}],
            }
        ],
        "blocked_addresses": [{"address": BLOCKED, "reason": "secret reason"}],
        "blocked_networks": [{"cidr": "203.0.113.0/24", "reason": "secret reason"}],
    }


def configure(app: Flask, document: dict[str, Any] | None = None) -> None:
    """Import the network."""
    import_network(gateway_of(app), json.dumps(document or network()).encode(), actor=TESTER)


def gateway_of(app: Flask) -> Gateway:
    """The application's gateway."""
    gateway = app.extensions["gateway"]
    assert isinstance(gateway, Gateway)
    return gateway


def tell(app: Flask, *events: dict[str, Any]) -> None:
    """Feed events; every one must be accepted."""
    verdict = ingest_lines(gateway_of(app), [json.dumps(event).encode() for event in events], "test")
    assert not verdict.refused
    assert verdict.accepted == len(events)


def event(told: str, ago: timedelta = timedelta(minutes=1), /, **fields: Any) -> dict[str, Any]:
    """An event so long before NOW."""
    at = (NOW - ago).isoformat()
    return {"id": sha256(f"{told} {fields} {at}".encode()).hexdigest(), "type": told, "at": at, **fields}


def sent(transfer_id: str, ago: timedelta = timedelta(minutes=1), **changes: Any) -> dict[str, Any]:
    """A pool send from chain 1 to chain 56."""
    fields: dict[str, Any] = {
        "transfer_id": transfer_id,
        "kind": "pool",
        "src_chain_id": 1,
        "dst_chain_id": 56,
        "symbol": "USDT",
        "amount": "1000000",
        "sender": ADDRESS,
        "receiver": ADDRESS,
        "src_tx_hash": "0x" + "ab" * 32,
    }
    return event("transfer.sent", ago, **fields | changes)


def released(transfer_id: str, ago: timedelta, **changes: Any) -> dict[str, Any]:
    """Its release."""
    fields = {"transfer_id": transfer_id, "dst_tx_hash": "0x" + "cd" * 32}
    return event("transfer.released", ago, **fields | changes)
