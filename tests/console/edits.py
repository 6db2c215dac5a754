"""Edits, new rows and documents of the small network, as operators send them."""

from __future__ import annotations

from typing import Any

from app.db.database import Database
from tests.network.services.edits.kit import document, shown
from tests.network.services.network_kit import SIGNERS, VAULT, network

NEW: dict[str, dict[str, Any]] = {
    "chains": {
        "id": "8453",
        "name": "Base",
        "explore_url": "https://basescan.example",
        "contract_addr": "",
        "gas_token_symbol": "ETH",
        "block_delay": "1",
        "minimal_max_slippage": "501",
    },
    "tokens": {"chain_id": "1", "symbol": "USDC", "name": "Coin", "address": VAULT.lower(), "decimal": "6"},
    "pools": {"chain_id": "1", "symbol": "CELR", "total_cap": "1 000 000", "liquidity_added": "7"},
    "routes": {
        "symbol": "USDT",
        "src_chain_id": "10",
        "dst_chain_id": "1",
        "rate_model": "stableswap",
        "rate_value": "",
        "rate_amplification": "85",
        "base_fee": "0.3",
        "base_fee_max_age_seconds": "600",
        "perc_fee_tiers_0_from": "0",
        "perc_fee_tiers_0_fee": "0.04",
        "perc_fee_tiers_2_from": " 1 000.5 ",
        "perc_fee_tiers_2_fee": "0.03 %",
    },
    "route_blocks": {
        "symbol": "LATER",
        "src_chain_id": "other",
        "src_chain_id_other": "5",
        "dst_chain_id": "6",
        "reason": "not yet",
        "expires_at": "2027-01-31",
    },
    "pegged_pairs": {
        "symbol": "USDT",
        "org_chain_id": "1",
        "pegged_chain_id": "10",
        "pegged_deposit_contract_addr": VAULT,
        "pegged_burn_contract_addr": VAULT,
        "perc_fee_tiers_0_fee": "0",
    },
    "blocked_addresses": {"text": VAULT.upper().replace("0X", "0x"), "expires_at": "2027-01-31 18:00"},
    "blocked_networks": {"text": "198.51.100.0/24", "reason": "two\r\nlines", "expires_at": ""},
}

CHANGES: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "chains": ({"name": "Base chain", "minimal_max_slippage": "502"}, {"name": "Base chain"}),
    "tokens": ({"xfer_disabled": "stopped"}, {"xfer_disabled": True}),
    "pools": ({"total_cap": "", "epoch_cap": "5"}, {"total_cap": None, "epoch_cap": "5" + "0" * 18}),
    "routes": (
        # A rate far from 1 is confirmed by the token's symbol.
        {"rate_model": "fixed", "rate_value": "1.5", "base_fee_max_age_seconds": "", "typed": "usdt"},
        {"rate": {"model": "fixed", "value": "1.5"}, "base_fee_max_age_seconds": None},
    ),
    "route_blocks": (
        {"both_directions": "0", "reason": "", "expires_at": "2027-02-01"},
        {"both_directions": False, "reason": "", "expires_at": "2027-02-01T00:00:00Z"},
    ),
    "pegged_pairs": ({"burn_base_fee": "0.000009"}, {"burn_base_fee": "9"}),
    "blocked_addresses": ({"expires_at": "", "source": "list"}, {"expires_at": None, "source": "list"}),
    "blocked_networks": ({"expires_at": "2027-02-01"}, {"expires_at": "2027-02-01T00:00:00Z"}),
}


def new_page(section: str) -> str:
    """Where rows of a section are added."""
    return "/admin/connect/?like=nothing" if section == "chains" else f"/admin/{section}/new"


def added(database: Database, section: str) -> dict[str, Any]:
    """The last row of a section."""
    row: dict[str, Any] = document(database)[section][-1]
    return row


def key_of_last(database: Database, section: str) -> int:
    row = added(database, section)
    if section == "chains":
        return int(row["id"])
    names = {
        "tokens": ("chain_id", "symbol"), "pools": ("chain_id", "symbol"), "blocked_networks": ("cidr",),
        "routes": ("symbol", "src_chain_id", "dst_chain_id"), "blocked_addresses": ("address",),
        "route_blocks": ("symbol", "src_chain_id", "dst_chain_id"),
        "pegged_pairs": ("symbol", "org_chain_id", "pegged_chain_id"),
    }  # fmt: skip
    return shown(database, section, *(row[name] for name in names[section])).row_id


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


PATH = "/admin/connect/?like=56"
BASE = {
    "id": "8453",
    "name": "Base",
    "explore_url": "https://basescan.example",
    "contract_addr": VAULT,
    "token0_address": "0x00000000000000000000000000000000000000a1",
    "token0_decimal": "6",
    "token0_liquidity": "1 0\u20090\u202f0_.\u00a05",
    "token0_total_cap": "",
    "validators": f"{SIGNERS[0]} 10\r\n\r\n{SIGNERS[1]} 20",
}
