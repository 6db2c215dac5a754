"""A small network and events on it, sent to the gateway as operators and reporters send them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from flask import Flask

from app.db.database import Database
from app.feed.services.ingest import Intake, ingest_lines
from app.http.application import part_of
from app.network.document import import_network
from tests.actors import TESTER
from tests.applications import editing_of
from tests.builders import network as build
from tests.builders.events import EventBuilder

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

_events = EventBuilder(
    NOW,
    transfer={
        "kind": "pool",
        "src_chain_id": 1,
        "dst_chain_id": 56,
        "symbol": "USDT",
        "amount": "1000000",
        "sender": ADDRESS,
        "receiver": ADDRESS,
        "src_tx_hash": "0x" + "ab" * 32,
    },
    payout={"dst_tx_hash": "0x" + "cd" * 32},
)


def vector(name: str) -> Any:
    """A recorded request, answer or both."""
    return json.loads((VECTORS / f"{name}.json").read_text())


def network() -> dict[str, Any]:
    """USDT between chains 1 and 56 as in the recorded estimate; chain 137 is disabled."""
    return build.document(
        chains=[
            build.chain(chain_id, name, block_delay=delay, explore_url=explorer, disabled=chain_id == 137)
            for chain_id, (name, explorer, delay, _) in CHAINS.items()
        ],
        tokens=[
            build.token(chain_id, "USDT", ADDRESS, decimals, name="Tether USD")
            for chain_id, (_, _, _, decimals) in CHAINS.items()
        ],
        pools=[build.pool(1, "USDT", "5000000000000"), build.pool(56, "USDT", "5000000000000000000000000")],
        routes=[build.route(1, 56, "USDT")],
        blocked_addresses=[{"address": BLOCKED, "reason": "secret reason"}],
        blocked_networks=[{"cidr": "203.0.113.0/24", "reason": "secret reason"}],
    )


def configure(app: Flask, document: dict[str, Any] | None = None) -> None:
    """Import the network."""
    import_network(*editing_of(app), json.dumps(document or network()).encode(), actor=TESTER)


def report_events(app: Flask, *events: dict[str, Any], reporter: str = "test") -> None:
    """Feed events; every one must be accepted."""
    verdict = ingest_lines(
        part_of(app, Database),
        part_of(app, Intake),
        [json.dumps(event).encode() for event in events],
        reporter,
    )
    assert not verdict.refused
    assert verdict.accepted == len(events)


def event(event_type: str, ago: timedelta = timedelta(minutes=1), /, **fields: Any) -> dict[str, Any]:
    """An event so long before NOW."""
    return _events.event(event_type, **{"at": -ago, **fields})


def sent(transfer_id: str, ago: timedelta = timedelta(minutes=1), **changes: Any) -> dict[str, Any]:
    """A pool send from chain 1 to chain 56."""
    return _events.sent(transfer_id, -ago, **changes)


def released(transfer_id: str, ago: timedelta, **changes: Any) -> dict[str, Any]:
    """Its release."""
    return _events.released(transfer_id, -ago, **changes)
