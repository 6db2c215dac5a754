"""A small network to import, and ways to change it."""

from __future__ import annotations

import copy
from typing import Any

from app.values.identifiers import ChainId
from tests.builders import network as build
from tests.builders.network import Document, text

__all__ = ["Document", "chain", "changed", "network", "pair", "pool", "route", "text", "token"]

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
ETHEREUM, OPTIMISM, BNB_CHAIN = ChainId(1), ChainId(10), ChainId(56)
NAME = {1: "Ethereum", 10: "Optimism", 56: "BNB Chain"}
VAULT = "0xB37d31B2a74029b25951A2778f959282E2d51859"
BRIDGE = "0x88DCDC47D2f83a99CF0000FDF667A468bB958a78"
SIGNERS = ("0x00000000000000000000000000000000000000A1", "0x00000000000000000000000000000000000000b2")
VILLAIN = "0x1619DE6B6B20eD217a58d00f37B9d47C7663feca"


def chain(chain_id: int) -> Document:
    return build.chain(
        chain_id,
        NAME[chain_id],
        gas_token_symbol="ETH",
        contract_addr=CONTRACT[chain_id],
        minimal_max_slippage=780,
    )


def token(chain_id: int, symbol: str = "USDT", decimal: int | None = None) -> Document:
    address, decimals = USDT[chain_id]
    decimal = decimals if decimal is None else decimal
    return build.token(chain_id, symbol, address, decimal, name=f"{symbol} token")


def pool(chain_id: int, added: str = "5000000000000") -> Document:
    return build.pool(chain_id, "USDT", added, total_cap="9000000000000")


def route(src: int, dst: int, rate: Document | None = None) -> Document:
    tiers = [{"from": "0", "ppm": 400}, {"from": "1000000000000", "ppm": 300}]
    changes = {"rate": rate} if rate else {}
    return build.route(src, dst, "USDT", perc_fee_tiers=tiers, **changes)


def pair(org: int, pegged: int, symbol: str = "CELR") -> Document:
    fees = {"deposit_base_fee": "7", "burn_base_fee": "8", "perc_fee_tiers": [{"from": "0", "ppm": 500}]}
    return build.pair(org, pegged, symbol, VAULT, BRIDGE, **fees)


def network() -> Document:
    """Three chains, USDT pools on all of them, CELR pegged from 1 to 10 and 56: every key of every list."""
    return build.document(
        chains=[chain(1), chain(10), chain(56)],
        tokens=[token(c) for c in (1, 10, 56)] + [token(c, "CELR", 18) for c in (1, 10, 56)],
        pools=[pool(1), pool(10), pool(56, added="5000000000000000000000000")],
        routes=[route(1, 56), route(56, 1), route(1, 10, {"model": "stableswap", "amplification": 200})],
        route_blocks=[build.block(10, 56, both=True, reason="audit")],
        pegged_pairs=[pair(1, 10), pair(1, 56)],
        blocked_addresses=[
            {"address": VILLAIN, "reason": "sanctions list", "source": "", "expires_at": None}
        ],
        blocked_networks=[
            {"cidr": "203.0.113.0/24", "reason": "VPN exit", "expires_at": "2027-01-01T00:00:00Z"},
            {"cidr": "2001:db8::/32", "reason": "VPN exit", "expires_at": None},
        ],
        validators=[build.validator(1, signer, "231000000000000000000000") for signer in SIGNERS],
    )


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
