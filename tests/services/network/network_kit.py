"""A small network to import, and ways to change it."""

from __future__ import annotations

import copy
import json
from typing import Any

USDT = {
    1: ("0xdAC17F958D2ee523a2206206994597C13D831ec7", 6),
    10: ("0x94b008aA00579c1307B0EF2c499aD98a8ce58e58", 6),
    56: ("0x55d398326f99059fF775485246999027B3197955", 18),
}
CONTRACT = {
    1: "0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820",
    10: "0x9D39Fc627A6d9d9F8C831c16995b209548cc3401",
    56: "0xdd90E5E87A2081Dcf0391920868eBc2FFB81a1aF",
}
NAME = {1: "Ethereum", 10: "Optimism", 56: "BNB Chain"}
VAULT = "0xB37d31B2a74029b25951A2778f959282E2d51859"
BRIDGE = "0x88DCDC47D2f83a99CF0000FDF667A468bB958a78"
SIGNERS = ("0x00000000000000000000000000000000000000A1", "0x00000000000000000000000000000000000000b2")
VILLAIN = "0x1619DE6B6B20eD217a58d00f37B9d47C7663feca"

Document = dict[str, Any]


def chain(chain_id: int) -> Document:
    return {
        "id": chain_id,
        "name": NAME[chain_id],
        "icon": "",
        "block_delay": 12,
        "gas_token_symbol": "ETH",
        "explore_url": f"https://explorer-{chain_id}.example/",
        "contract_addr": CONTRACT[chain_id],
        "drop_gas_amt": "0",
        "minimal_max_slippage": 780,
        "disabled": False,
        "disabled_reason": "",
    }


def token(chain_id: int, symbol: str = "USDT", decimal: int | None = None) -> Document:
    address, decimals = USDT[chain_id]
    return {
        "chain_id": chain_id,
        "symbol": symbol,
        "name": f"{symbol} token",
        "icon": "",
        "address": address,
        "decimal": decimals if decimal is None else decimal,
        "xfer_disabled": False,
    }


def pool(chain_id: int, added: str = "5000000000000") -> Document:
    return {
        "chain_id": chain_id,
        "symbol": "USDT",
        "liquidity_added": added,
        "liquidity_sent": "0",
        "liquidity_relayed": "0",
        "liquidity_withdrawn": "0",
        "total_cap": "9000000000000",
        "epoch_cap": None,
        "epoch_seconds": 3600,
    }


def route(src: int, dst: int, rate: Document | None = None) -> Document:
    return {
        "symbol": "USDT",
        "src_chain_id": src,
        "dst_chain_id": dst,
        "rate": rate or {"model": "fixed", "value": "1.000001"},
        "base_fee": "605437528092011966",
        "base_fee_max_age_seconds": None,
        "perc_fee_tiers": [{"from": "0", "ppm": 400}, {"from": "1000000000000", "ppm": 300}],
    }


def pair(org: int, pegged: int, symbol: str = "CELR") -> Document:
    return {
        "symbol": symbol,
        "org_chain_id": org,
        "pegged_chain_id": pegged,
        "pegged_deposit_contract_addr": VAULT,
        "pegged_burn_contract_addr": BRIDGE,
        "canonical_token_contract_addr": "",
        "vault_version": 2,
        "bridge_version": 2,
        "deposit_base_fee": "7",
        "burn_base_fee": "8",
        "perc_fee_tiers": [{"from": "0", "ppm": 500}],
    }


def network() -> Document:
    """Three chains, USDT pools on all of them, CELR pegged from 1 to 10 and 56: every key of every list."""
    return {
        "version": 1,
        "chains": [chain(1), chain(10), chain(56)],
        "tokens": [token(c) for c in (1, 10, 56)] + [token(c, "CELR", 18) for c in (1, 10, 56)],
        "pools": [pool(1), pool(10), pool(56, added="5000000000000000000000000")],
        "routes": [route(1, 56), route(56, 1), route(1, 10, {"model": "stableswap", "amplification": 200})],
        "route_blocks": [
            {
                "symbol": "USDT",
                "src_chain_id": 10,
                "dst_chain_id": 56,
                "both_directions": True,
                "reason": "audit",
            }
        ],
        "pegged_pairs": [pair(1, 10), pair(1, 56)],
        "blocked_addresses": [
            {"address": VILLAIN, "reason": "sanctions list", "source": "", "expires_at": None}
        ],
        "blocked_networks": [
            {"cidr": "203.0.113.0/24", "reason": "VPN exit", "expires_at": "2027-01-01T00:00:00Z"},
            {"cidr": "2001:db8::/32", "reason": "VPN exit", "expires_at": None},
        ],
        "validators": [{"chain_id": 1, "signer": s, "power": "231000000000000000000000"} for s in SIGNERS],
    }


def changed(path: str, value: Any) -> Document:
    """The network with the value at a path such as ``chains.0.id`` replaced, or removed for ``...``."""
    document = copy.deepcopy(network())
    *route_key, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    place: Any = document
    for step in route_key:
        place = place[step]
    if value is ...:
        del place[last]
    elif isinstance(place, list) and last == len(place):
        place.append(value)
    else:
        place[last] = value
    return document


def text(document: Any) -> bytes:
    return json.dumps(document).encode()
