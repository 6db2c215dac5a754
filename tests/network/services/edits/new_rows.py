"""A new row for each section."""

from __future__ import annotations

from typing import Any

from tests.builders import network as build
from tests.network.services import network_kit as kit

STRANGER = "0x00000000000000000000000000000000000000C3"

NEW_ROWS: dict[str, dict[str, Any]] = {
    "chains": kit.chain(1) | {"id": 137, "name": "Polygon"},
    "tokens": kit.token(1, "USDC", 6),
    "pools": kit.pool(1) | {"symbol": "CELR"},
    "routes": kit.route(56, 10),
    "route_blocks": build.block(1, 56, reason="x"),
    "pegged_pairs": kit.pair(10, 56, "USDT"),
    "blocked_addresses": {"address": STRANGER, "reason": "", "source": "list", "expires_at": None},
    "blocked_networks": {"cidr": "198.51.100.0/24", "reason": "", "expires_at": None},
}
