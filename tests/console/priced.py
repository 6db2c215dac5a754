"""The production configuration with prices: fees, liquidity, and curves over pools of different sizes."""

from __future__ import annotations

import random
from typing import Any, Final

from app.network.from_configs import document_from_configs
from tests.console.large import RECORDED

SMALLEST: Final = 10_000
"""Whole tokens in the smallest pools."""

TIMES: Final = (1, 3, 10, 30, 100, 300, 1000)
"""How many times as large the others are."""


def priced_document(pick: random.Random) -> dict[str, Any]:
    """The recorded configuration; a third of the routes are curves, the others have a rate of 1."""
    document = dict(document_from_configs(RECORDED.read_bytes()).document)
    units = {(token["chain_id"], token["symbol"]): 10 ** token["decimal"] for token in document["tokens"]}
    for pool in document["pools"]:
        liquidity = SMALLEST * pick.choice(TIMES) * units[pool["chain_id"], pool["symbol"]]
        pool |= {"liquidity_added": str(liquidity), "total_cap": None, "epoch_cap": None}
    for route in document["routes"]:
        if not pick.randrange(3):
            route["rate"] = {"model": "stableswap", "amplification": pick.randint(50, 2000)}
        fee = units[route["dst_chain_id"], route["symbol"]] * pick.randrange(30) // 10
        route |= {"base_fee": str(fee), "perc_fee_tiers": [{"from": "0", "ppm": 400}]}
    return document
