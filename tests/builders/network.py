"""Network documents: one function for each kind of row, every key present, any of them changed by name."""

from __future__ import annotations

import json
from typing import Any

Document = dict[str, Any]

SECTIONS = (
    "chains",
    "tokens",
    "pools",
    "routes",
    "route_blocks",
    "pegged_pairs",
    "blocked_addresses",
    "blocked_networks",
    "validators",
)


def document(**sections: list[Document]) -> Document:
    """A network document; sections that are not given are empty."""
    assert set(sections) <= set(SECTIONS)
    return {"version": 1} | {name: sections.get(name, []) for name in SECTIONS}


def text(content: Any) -> bytes:
    """The document as it is imported."""
    return json.dumps(content).encode()


def chain(chain_id: int, name: str, **changes: Any) -> Document:
    row = {
        "id": chain_id,
        "name": name,
        "icon": "",
        "block_delay": 12,
        "gas_token_symbol": "GAS",
        "explore_url": f"https://explorer-{chain_id}.example/",
        "contract_addr": "",
        "drop_gas_amt": "0",
        "minimal_max_slippage": 0,
        "disabled": False,
        "disabled_reason": "",
    }
    return row | changes


def token(chain_id: int, symbol: str, address: str, decimal: int, **changes: Any) -> Document:
    row = {
        "chain_id": chain_id,
        "symbol": symbol,
        "name": symbol,
        "icon": "",
        "address": address,
        "decimal": decimal,
        "xfer_disabled": False,
    }
    return row | changes


def pool(chain_id: int, symbol: str, added: str, **changes: Any) -> Document:
    row = {
        "chain_id": chain_id,
        "symbol": symbol,
        "liquidity_added": added,
        "liquidity_sent": "0",
        "liquidity_relayed": "0",
        "liquidity_withdrawn": "0",
        "total_cap": None,
        "epoch_cap": None,
        "epoch_seconds": 3600,
    }
    return row | changes


def route(src: int, dst: int, symbol: str, **changes: Any) -> Document:
    row = {
        "symbol": symbol,
        "src_chain_id": src,
        "dst_chain_id": dst,
        "rate": {"model": "fixed", "value": "1.000001"},
        "base_fee": "605437528092011966",
        "base_fee_max_age_seconds": None,
        "perc_fee_tiers": [{"from": "0", "ppm": 0}],
    }
    return row | changes


def pair(org: int, pegged: int, symbol: str, deposit: str, burn: str, **changes: Any) -> Document:
    """
    :param deposit: the contract on the original chain.
    :param burn: the contract on the pegged chain.
    """
    row = {
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
    return row | changes


def block(src: int, dst: int, symbol: str = "USDT", *, both: bool = False, **changes: Any) -> Document:
    row = {"symbol": symbol, "src_chain_id": src, "dst_chain_id": dst, "both_directions": both, "reason": ""}
    return row | changes


def validator(chain_id: int, signer: str, power: str) -> Document:
    return {"chain_id": chain_id, "signer": signer, "power": power}
