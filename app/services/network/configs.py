"""The transfer configs: chains, tokens and pegged pairs for clients (docs/interface.md#transfer-configs)."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, Final

import orjson

from app.runtime.snapshot import TransferConfigs
from app.services.network.sections import Row

_CHAIN_FIELDS: Final = (
    ("id", "chain_id"),
    ("name", "name"),
    ("icon", "icon"),
    ("block_delay", "block_delay"),
    ("gas_token_symbol", "gas_token_symbol"),
    ("explore_url", "explore_url"),
    ("contract_addr", "contract_addr"),
)
_PAIR_FIELDS: Final = (
    "pegged_deposit_contract_addr",
    "pegged_burn_contract_addr",
    "canonical_token_contract_addr",
    "vault_version",
    "bridge_version",
)


def build_configs(rows: Mapping[str, list[Row]]) -> TransferConfigs:
    """The answer from the rows of the core sections, sorted so that the same network gives the same bytes."""
    chains = {row["chain_id"]: row for row in sorted(rows["chains"], key=itemgetter("chain_id"))}
    tokens = {(row["chain_id"], row["symbol"]): row for row in rows["tokens"]}
    answer = {
        "err": None,
        "chains": [_chain(row) for row in chains.values()],
        "chain_token": _tokens_by_chain(chains, rows["tokens"], rows["pools"]),
        "farming_reward_contract_addr": "",
        "pegged_pair_configs": [
            _pair(chains, tokens, row)
            for row in sorted(
                rows["pegged_pairs"], key=itemgetter("org_chain_id", "symbol", "pegged_chain_id")
            )
        ],
        "blocked_bridge_direct": [
            {"symbol": symbol, "src_chain_id": src, "dst_chain_id": dst}
            for symbol, src, dst in sorted(set(_blocked_routes(rows["route_blocks"])))
        ],
    }
    body = orjson.dumps(answer)
    return TransferConfigs(answer, body, hashlib.sha256(body).hexdigest()[:32])


def _chain(row: Row) -> dict[str, Any]:
    return {name: row[column] for name, column in _CHAIN_FIELDS} | {"drop_gas_amt": str(row["drop_gas_amt"])}


def _tokens_by_chain(
    chains: Mapping[int, Row], tokens: Iterable[Row], pools: Iterable[Row]
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """An entry for every chain, also where it has no token."""
    pool_of = {(row["chain_id"], row["symbol"]): row for row in pools}
    listed: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(tokens, key=itemgetter("symbol")):
        pool = pool_of.get((row["chain_id"], row["symbol"]))
        listed[row["chain_id"]].append(_token(chains, row, pool))
    return {str(chain_id): {"token": listed[chain_id]} for chain_id in chains}


def _token(chains: Mapping[int, Row], row: Row, pool: Row | None) -> dict[str, Any]:
    """A token with its pool's caps, empty where there is none.

    ``xfer_disabled`` is the switch of the token itself. ``transfer_disabled`` is that of its chain.
    """
    return {
        "token": {
            "symbol": row["symbol"],
            "address": row["address"],
            "decimal": row["decimal"],
            "xfer_disabled": row["xfer_disabled"],
        },
        "name": row["name"],
        "icon": row["icon"],
        "inbound_lmt": _cap(pool, "total_cap"),
        "inbound_epoch_cap": _cap(pool, "epoch_cap"),
        "transfer_disabled": chains[row["chain_id"]]["disabled"],
    }


def _cap(pool: Row | None, column: str) -> str:
    return "" if pool is None or pool[column] is None else str(pool[column])


def _pair(chains: Mapping[int, Row], tokens: Mapping[tuple[int, str], Row], row: Row) -> dict[str, Any]:
    """A pair. Its tokens have no limits: only pools have them."""
    org, pegged, symbol = row["org_chain_id"], row["pegged_chain_id"], row["symbol"]
    return {
        "org_chain_id": org,
        "org_token": _token(chains, tokens[org, symbol], None),
        "pegged_chain_id": pegged,
        "pegged_token": _token(chains, tokens[pegged, symbol], None),
    } | {name: row[name] for name in _PAIR_FIELDS}


def _blocked_routes(blocks: Iterable[Row]) -> Iterator[tuple[str, int, int]]:
    for row in blocks:
        yield row["symbol"], row["src_chain_id"], row["dst_chain_id"]
        if row["both_directions"]:
            yield row["symbol"], row["dst_chain_id"], row["src_chain_id"]
