"""A network document that differs from the small network."""

from __future__ import annotations

from typing import Any

from tests.network.services.network_kit import network


def changed_file() -> dict[str, Any]:
    """A fee, a name, a block less, a validator less, an opening value and a field that no form has."""
    rows = network()
    rows["chains"][0]["name"] = "Mainnet"
    rows["chains"][0]["suggested_gas_cost"] = "7"
    rows["routes"][0]["base_fee"] = "7"
    rows["pools"][0]["liquidity_added"] = "9"
    rows["route_blocks"] = []
    del rows["validators"][1]
    rows["config_fields"] = [{"name": "tag", "value": 1}]
    return rows
