"""The ways that clients derive from the transfer configs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import permutations
from typing import Any

Way = tuple[str, int, int]


def pool_ways(configs: dict[str, Any]) -> set[Way]:
    """The ways through the pools that a client derives."""
    blocked = {
        (row["symbol"], int(row["src_chain_id"]), int(row["dst_chain_id"]))
        for row in configs["blocked_bridge_direct"]
    }
    chains = defaultdict(set)
    for chain_id, listed in configs["chain_token"].items():
        for info in listed["token"]:
            if not info["token"]["xfer_disabled"]:
                chains[info["token"]["symbol"]].add(int(chain_id))
    every = {(symbol, *way) for symbol, of in chains.items() for way in permutations(of, 2)}
    return every - blocked


def pegged_ways(configs: dict[str, Any]) -> Iterator[Way]:
    """The deposits and burns that a client derives from the pairs."""
    for pair in configs["pegged_pair_configs"]:
        tokens = pair["org_token"]["token"], pair["pegged_token"]["token"]
        if not any(token["xfer_disabled"] for token in tokens):
            symbol, org, pegged = tokens[0]["symbol"], pair["org_chain_id"], pair["pegged_chain_id"]
            yield symbol, org, pegged
            yield symbol, pegged, org


def burn_mint_ways(configs: dict[str, Any]) -> Iterator[Way]:
    """The ways between two pegged chains of one original that a client derives."""
    works = set(pegged_ways(configs))
    chains = defaultdict(list)
    for pair in configs["pegged_pair_configs"]:
        symbol, org, pegged = (
            pair["org_token"]["token"]["symbol"],
            pair["org_chain_id"],
            pair["pegged_chain_id"],
        )
        if pair["bridge_version"] == 2 and (symbol, org, pegged) in works:
            chains[symbol, org].append(pegged)
    for (symbol, _), of in chains.items():
        for src, dst in permutations(of, 2):
            yield symbol, src, dst
