"""The network of the local chains with liquidity, and requests for transactions of its transfers."""

from __future__ import annotations

from typing import Any

from demo.chains import LEFT, RIGHT
from demo.network import document
from demo.validators import Validators

SENDER = "0x58b529F9084D7eAA598EB3477Fe36064C5B7bbC1"
RECEIVER = "0x1619DE6B6B20eD217a58d00f37B9d47C7663feca"
USDX_UNIT = 10**6
"""A whole token of USDX on the left chain."""

UNIT = 10**18
"""A whole token of all the others."""

LIQUIDITY = 10**30


def sending_network() -> dict[str, Any]:
    """Pools that pay, a base fee and a protocol fee on every way, a minimum of slippage."""
    made = document(Validators.of(1, 1, 1), liquidity=LIQUIDITY)
    for chain in made["chains"]:
        chain["minimal_max_slippage"] = 780
    for way in made["routes"]:
        way.update(base_fee="250000", perc_fee_tiers=[{"from": "0", "ppm": 400}])
    for pair in made["pegged_pairs"]:
        fees = {"deposit_base_fee": "1000", "burn_base_fee": "2000"}
        pair.update(fees, perc_fee_tiers=[{"from": "0", "ppm": 500}])
    return made


def send_query(symbol: str = "USDX", src: int = LEFT, dst: int = RIGHT, **changes: Any) -> dict[str, Any]:
    """A thousand of a token by its sender to another account."""
    unit = USDX_UNIT if (symbol, src) == ("USDX", LEFT) else UNIT
    usual = {
        "src_chain_id": src,
        "dst_chain_id": dst,
        "token_symbol": symbol,
        "amt": str(1000 * unit),
        "sender": SENDER,
        "receiver": RECEIVER,
        "slippage_tolerance": 5000,
        "nonce": "1764504000000",
    }
    return {name: value for name, value in (usual | changes).items() if value is not None}
