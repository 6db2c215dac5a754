"""The rules between the rows of a network document: no row twice, and no reference to a missing row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from app.domain.validators import MAX_TOTAL_POWER
from app.services.network.sections import SECTIONS, Row

_PAIRS_OF_CHAINS: Final = {
    "routes": ("src_chain_id", "dst_chain_id"),
    "route_blocks": ("src_chain_id", "dst_chain_id"),
    "pegged_pairs": ("org_chain_id", "pegged_chain_id"),
}

PAIR_CONTRACTS: Final = (
    ("pegged_deposit_contract_addr", "deposit_contracts"),
    ("pegged_burn_contract_addr", "burn_contracts"),
)
"""The columns of a pair's contract and of the further ones beside it, by side."""

PAIR_TOKENS: Final = (("org_chain_id", "org_token"), ("pegged_chain_id", "pegged_token"))
"""The columns of a pair's chain and of what the pair says of its token there, by side."""

Rows = Mapping[str, list[Row]]


def faults(document: Rows) -> Iterator[str]:
    """Every rule that the rows break, each line after the JSON path it is about."""
    yield from _repeated(document)
    yield from _unknown_chains(document)
    yield from _unknown_tokens(document)
    yield from _unknown_pools(document)
    yield from _circular(document)
    yield from _pegged_both_ways(document["pegged_pairs"])
    yield from _further_contracts(document["pegged_pairs"])
    yield from _powers(document["validators"])


def _repeated(document: Rows) -> Iterator[str]:
    for section in SECTIONS:
        first: dict[tuple[object, ...], int] = {}
        for index, row in enumerate(document[section.name]):
            earlier = first.setdefault(section.identity(row), index)
            if earlier != index:
                yield (
                    f"{section.name}[{index}]: {section.describe(row)} "
                    f"must not be given twice, first in {section.name}[{earlier}]"
                )


def _unknown_chains(document: Rows) -> Iterator[str]:
    known = {row["chain_id"] for row in document["chains"]}
    for name in ("tokens", "validators"):
        for index, row in enumerate(document[name]):
            if row["chain_id"] not in known:
                yield f"{name}[{index}].chain_id: chain {row['chain_id']} is not among the chains"


def _unknown_tokens(document: Rows) -> Iterator[str]:
    known = {(row["chain_id"], row["symbol"]) for row in document["tokens"]}
    for index, row in enumerate(document["pools"]):
        if (row["chain_id"], row["symbol"]) not in known:
            yield f"pools[{index}]: there is no token {row['symbol']} on chain {row['chain_id']}"
    for index, row in enumerate(document["routes"]):  # a block may come before what it blocks
        for column in _PAIRS_OF_CHAINS["routes"]:
            if (row[column], row["symbol"]) not in known:
                yield f"routes[{index}].{column}: there is no token {row['symbol']} on chain {row[column]}"
    chains = {row["chain_id"] for row in document["chains"]}
    for index, row in enumerate(document["pegged_pairs"]):
        for column, side in PAIR_TOKENS:
            if (row[column], row["symbol"]) in known:
                continue
            lacking = [key for key in ("address", "decimal") if key not in row[side]]
            if row[column] not in chains or lacking:
                hint = f'; add it, or give its address and decimal under "{side}"' if lacking else ""
                yield (
                    f"pegged_pairs[{index}].{column}: there is no token {row['symbol']} "
                    f"on chain {row[column]}{hint}"
                )


def _unknown_pools(document: Rows) -> Iterator[str]:
    known = {(row["chain_id"], row["symbol"]) for row in document["pools"]}
    for index, row in enumerate(document["routes"]):
        for column in _PAIRS_OF_CHAINS["routes"]:
            if (row[column], row["symbol"]) not in known:
                yield f"routes[{index}].{column}: there is no pool of {row['symbol']} on chain {row[column]}"


def _circular(document: Rows) -> Iterator[str]:
    for name, (one, other) in _PAIRS_OF_CHAINS.items():
        for index, row in enumerate(document[name]):
            if row[one] == row[other]:
                yield f"{name}[{index}].{other}: must be a different chain than {one}"


def _pegged_both_ways(pairs: Iterable[Row]) -> Iterator[str]:
    """Of two chains only one can be the original of a token. Otherwise a transfer would be both kinds."""
    first: dict[tuple[str, int, int], int] = {}
    for index, row in enumerate(pairs):
        org, pegged = row["org_chain_id"], row["pegged_chain_id"]
        first.setdefault((row["symbol"], org, pegged), index)
        earlier = first.get((row["symbol"], pegged, org), index)
        if earlier != index:
            yield (
                f"pegged_pairs[{index}]: must not name chain {org} as the original of {row['symbol']} "
                f"for chain {pegged}: pegged_pairs[{earlier}] has the opposite direction"
            )


def _further_contracts(pairs: Iterable[Row]) -> Iterator[str]:
    for index, row in enumerate(pairs):
        for own, further in PAIR_CONTRACTS:
            if row[own] in row[further]:
                place = row[further].index(row[own])
                yield f"pegged_pairs[{index}].{further}[{place}]: must not repeat the pair's {own}"


def _powers(validators: Iterable[Row]) -> Iterator[str]:
    totals: dict[int, int] = {}
    for row in validators:
        totals[row["chain_id"]] = totals.get(row["chain_id"], 0) + row["power"]
    for chain_id, total in totals.items():
        if not 0 < total <= MAX_TOTAL_POWER:
            yield f"validators: the powers of chain {chain_id} must add up to more than 0 and less than 2^255"
