"""What an operator fills in to connect a chain like one that is there."""

from __future__ import annotations

from tests.network.services.network_kit import SIGNERS, VAULT

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
