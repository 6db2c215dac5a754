"""The network document of the two local chains."""

from __future__ import annotations

from typing import Any

from app.values.crypto import checksum_address
from demo.chains import (
    BRIDGE_V1,
    BRIDGE_V2,
    COIN,
    ELSEWHERE,
    LEFT,
    OLD,
    PEG,
    POOL,
    RIGHT,
    TRI,
    USDX,
    VAULT_V1,
    VAULT_V2,
)
from demo.validators import Validators

RPC_NAMES = {LEFT: "RPC_URL_LEFT", RIGHT: "RPC_URL_RIGHT"}
CHAIN_NAMES = {LEFT: "Left", RIGHT: "Right", ELSEWHERE: "Elsewhere"}
NOWHERE = "0x" + "77" * 20
"""The vault of the chain that is only named."""

_TOKENS = {
    LEFT: (("USDX", USDX.text, 6), ("COIN", COIN.text, 18), ("PEG", PEG.text, 18), ("OLD", OLD.text, 18),
           ("TRI", TRI.text, 18)),
    RIGHT: (("USDX", USDX.text, 18), ("COIN", COIN.text, 18), ("PEG", PEG.text, 18), ("OLD", OLD.text, 18),
            ("TRI", TRI.text, 18)),
    ELSEWHERE: (("TRI", "0x" + "78" * 20, 18),),
}  # fmt: skip


def document(
    validators: Validators, *, block_delays: tuple[int, int] = (3, 5), liquidity: int = 0, **watching: Any
) -> dict[str, Any]:
    """The document.

    :param liquidity: what each pool has from the beginning, in its token's units.
    :param watching: further keys of both chains: how they are watched.
    """
    delays = dict(zip((LEFT, RIGHT), block_delays, strict=True))
    watched = {chain: {"rpc": [RPC_NAMES[chain]]} | watching for chain in (LEFT, RIGHT)}
    free = [{"from": "0", "ppm": 0}]
    return {
        "version": 1,
        "chains": [
            _chain(LEFT, delays[LEFT], contract_addr=POOL.text, native_wrap=COIN.text, **watched[LEFT]),
            _chain(RIGHT, delays[RIGHT], contract_addr=POOL.text, native_wrap=COIN.text, **watched[RIGHT]),
            _chain(ELSEWHERE, 12),
        ],
        "tokens": [
            {"chain_id": chain, "symbol": symbol, "name": symbol, "icon": "", "address": address,
             "decimal": decimal, "xfer_disabled": False}
            for chain, tokens in _TOKENS.items()
            for symbol, address, decimal in tokens
        ],
        "pools": [
            {"chain_id": chain, "symbol": symbol, "liquidity_added": str(liquidity), "liquidity_sent": "0",
             "liquidity_relayed": "0", "liquidity_withdrawn": "0", "total_cap": None, "epoch_cap": None,
             "epoch_seconds": 3600}
            for chain in (LEFT, RIGHT)
            for symbol in ("USDX", "COIN")
        ],
        "routes": [
            {"symbol": symbol, "src_chain_id": src, "dst_chain_id": dst,
             "rate": {"model": "fixed", "value": "1"}, "base_fee": "0", "base_fee_max_age_seconds": None,
             "perc_fee_tiers": free}
            for src, dst in ((LEFT, RIGHT), (RIGHT, LEFT))
            for symbol in ("USDX", "COIN")
        ],
        "route_blocks": [],
        "pegged_pairs": [
            _pair("PEG", LEFT, RIGHT, VAULT_V2.text, BRIDGE_V2.text),
            _pair("OLD", LEFT, RIGHT, VAULT_V1.text, BRIDGE_V1.text, vault_version=1, bridge_version=1),
            _pair("TRI", ELSEWHERE, LEFT, NOWHERE, BRIDGE_V2.text),
            _pair("TRI", ELSEWHERE, RIGHT, NOWHERE, BRIDGE_V2.text),
        ],
        "blocked_addresses": [],
        "blocked_networks": [],
        "validators": [
            {"chain_id": chain, "signer": checksum_address(who), "power": str(power)}
            for chain in (LEFT, RIGHT)
            for who, power in validators.members
        ],
    }  # fmt: skip


def _chain(chain_id: int, block_delay: int, **more: Any) -> dict[str, Any]:
    usual = {
        "id": chain_id,
        "name": CHAIN_NAMES[chain_id],
        "icon": "",
        "block_delay": block_delay,
        "gas_token_symbol": "COIN",
        "explore_url": f"https://scan-{chain_id}.example/",
        "contract_addr": "",
        "drop_gas_amt": "0",
        "minimal_max_slippage": 0,
        "disabled": False,
        "disabled_reason": "",
    }
    return usual | more


def _pair(symbol: str, org: int, pegged: int, deposit: str, burn: str, **more: Any) -> dict[str, Any]:
    usual = {
        "symbol": symbol,
        "org_chain_id": org,
        "pegged_chain_id": pegged,
        "pegged_deposit_contract_addr": deposit,
        "pegged_burn_contract_addr": burn,
        "canonical_token_contract_addr": "",
        "vault_version": 2,
        "bridge_version": 2,
        "deposit_base_fee": "0",
        "burn_base_fee": "0",
        "perc_fee_tiers": [{"from": "0", "ppm": 0}],
    }
    return usual | more
