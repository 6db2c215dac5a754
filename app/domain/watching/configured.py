"""The configuration as one who watches chains looks at it, from the rows of the network document."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.domain.crypto import parse_evm_address
from app.domain.keys import ChainId, PoolKey
from app.domain.watching.network import WatchedNetwork, WatchedPair
from app.domain.watching.terms import WatchTerms, default_finality

Row = Mapping[str, Any]
"""A row of one of the network document's lists, by column name."""

Rows = Mapping[str, Sequence[Row]]


@dataclass(frozen=True, slots=True)
class Watching:
    """Which chains are to be watched, and what logs of any chain mean."""

    network: WatchedNetwork
    terms: Mapping[ChainId, WatchTerms] = field(default_factory=dict)


def build_watching(rows: Rows, version: str) -> Watching:
    """Index the rows of the core sections, by section name.

    :param version: changes with any of the rows.
    """
    network = _network(rows, version)
    chains = [row for row in rows["chains"] if row["watch_from_block"] is not None]
    return Watching(network, {row["chain_id"]: _terms(row, network) for row in chains})


def _network(rows: Rows, version: str) -> WatchedNetwork:
    tokens: defaultdict[tuple[ChainId, bytes], list[str]] = defaultdict(list)
    listed: dict[PoolKey, bytes] = {}
    for row in rows["tokens"]:
        if (address := parse_evm_address(row["address"])) is not None:
            tokens[row["chain_id"], address].append(row["symbol"])
            listed[PoolKey(row["chain_id"], row["symbol"])] = address
    bridges = ((row["chain_id"], parse_evm_address(row["contract_addr"])) for row in rows["chains"])
    return WatchedNetwork(
        version=version,
        chain_ids=frozenset(row["chain_id"] for row in rows["chains"]),
        tokens={key: tuple(symbols) for key, symbols in tokens.items()},
        pools=frozenset(PoolKey(row["chain_id"], row["symbol"]) for row in rows["pools"]),
        pool_bridges={chain_id: address for chain_id, address in bridges if address is not None},
        pairs=tuple(_pair(row, listed) for row in rows["pegged_pairs"]),
    )


def _pair(row: Row, listed: Mapping[PoolKey, bytes]) -> WatchedPair:
    symbol, org, pegged = row["symbol"], row["org_chain_id"], row["pegged_chain_id"]
    return WatchedPair(
        symbol=symbol,
        org_chain_id=org,
        pegged_chain_id=pegged,
        vaults=frozenset(_addresses(row["pegged_deposit_contract_addr"], *row["deposit_contracts"])),
        bridges=frozenset(_addresses(row["pegged_burn_contract_addr"], *row["burn_contracts"])),
        org_token=_token(row["org_token"], listed.get(PoolKey(org, symbol))),
        pegged_token=_token(row["pegged_token"], listed.get(PoolKey(pegged, symbol))),
    )


def _addresses(*texts: str) -> Iterator[bytes]:
    yield from (address for text in texts if (address := parse_evm_address(text)) is not None)


def _token(said: Row, listed: bytes | None) -> bytes | None:
    """The address of a pair's token: its own one, else the chain's."""
    return parse_evm_address(said["address"]) if "address" in said else listed


def _terms(row: Row, network: WatchedNetwork) -> WatchTerms:
    chain_id, finality = row["chain_id"], row["finality"]
    return WatchTerms(
        chain_id=chain_id,
        name=row["name"],
        block_delay=row["block_delay"],
        from_block=row["watch_from_block"],
        finality=default_finality(row["block_delay"]) if finality is None else finality,
        poll_seconds=float(row["poll_seconds"]),
        rpc=tuple(row["rpc"]),
        pool_bridge=network.pool_bridges.get(chain_id),
        vaults=frozenset().union(*(pair.vaults for pair in network.pairs if pair.org_chain_id == chain_id)),
        bridges=frozenset().union(
            *(pair.bridges for pair in network.pairs if pair.pegged_chain_id == chain_id)
        ),
        disabled=row["disabled"],
    )
