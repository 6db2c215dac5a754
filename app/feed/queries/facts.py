"""What do the network's configuration and its validator sets say, in the transaction of the fold?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

import orjson
from sqlalchemy import Connection, Engine, Text, cast, select

from app.db.engine import after_commit, is_writing
from app.network.facts import NetworkFacts, PairFacts, TokenFacts
from app.network.models import Chain, OpeningValidator, PeggedPair, Pool, ReportedValidatorSet, Route, Token
from app.network.queries import PartVersion, load_versions
from app.network.validators import ValidatorSet
from app.values.amounts import parse_decimal
from app.values.crypto import parse_evm_address
from app.values.identifiers import ChainId, PoolKey, RouteKey

_OPTION: Final = "gateway_facts"


class FactsCache:
    """What a writer of this process loaded last: a batch of one event does not read the whole network.

    It never stands in for what a transaction sees: each reads the versions of the configuration and the rows
    of the reported sets itself, and takes from here only what was made of the same.
    """

    def __init__(self) -> None:
        self.configured: tuple[Mapping[str, PartVersion], NetworkFacts] = {}, NetworkFacts()
        """The versions of the configuration, and the facts that it came to, opening validators included."""
        self.reported: Mapping[tuple[ChainId, int, str], ValidatorSet] = {}
        """Sets by their rows, as these are stored."""


def share_facts(engine: Engine, cache: FactsCache) -> None:
    """Let the writers of an engine use a cache."""
    engine.update_execution_options(**{_OPTION: cache})


def load_network_facts(connection: Connection) -> NetworkFacts:
    """Everything that folding depends on, the validator sets included."""
    cache = connection.get_execution_options().get(_OPTION)
    if not isinstance(cache, FactsCache) or not is_writing(connection):
        # A reader that is not the only writer may see a change between two of its statements.
        configured, sets = _load_configured(connection), _reported_sets(connection, {})
    else:
        configured = _configured_facts(connection, cache)
        cache.reported = sets = _reported_sets(connection, cache.reported)
    reported = {members.chain_id: members for members in sets.values()}
    return replace(configured, validators={**configured.validators, **reported})


def _configured_facts(connection: Connection, cache: FactsCache) -> NetworkFacts:
    """What the configuration says: from the cache, where that is of the version that the transaction sees."""
    versions = load_versions(connection)
    known, facts = cache.configured
    if versions and versions == known:
        return facts
    loaded = _load_configured(connection)

    def store() -> None:
        cache.configured = versions, loaded

    # Not before: when this is rolled back, another transaction may give the same version to other values.
    after_commit(connection, store)
    return loaded


def _load_configured(connection: Connection) -> NetworkFacts:
    """What the tables of the configuration say, with the opening validators."""
    listed = select(Token.chain_id, Token.symbol, Token.address, Token.decimal).order_by(Token.id)
    tokens = {
        PoolKey(row.chain_id, row.symbol): TokenFacts(parse_evm_address(row.address), row.decimal)
        for row in connection.execute(listed)
    }
    symbols: dict[tuple[ChainId, bytes], list[str]] = defaultdict(list)
    for (chain_id, symbol), token in tokens.items():
        if token.address is not None:
            symbols[chain_id, token.address].append(symbol)
    chains = connection.execute(select(Chain.chain_id, Chain.contract_addr))
    bridges = ((row.chain_id, parse_evm_address(row.contract_addr)) for row in chains)
    return NetworkFacts(
        tokens=tokens,
        symbols=dict(symbols),
        pools={PoolKey(*row) for row in connection.execute(select(Pool.chain_id, Pool.symbol))},
        pool_bridges={chain_id: address for chain_id, address in bridges if address is not None},
        pairs=tuple(_pairs(connection, tokens)),
        validators=load_opening_sets(connection),
        rates=_rates(connection),
    )


def _rates(connection: Connection) -> dict[RouteKey, Fraction]:
    """The fixed rates other than 1, which most routes have."""
    rows = connection.execute(
        select(Route.symbol, Route.src_chain_id, Route.dst_chain_id, Route.rate_value).where(
            Route.rate_value != "1"
        )
    )
    return {
        RouteKey(row.symbol, row.src_chain_id, row.dst_chain_id): parse_decimal(row.rate_value)
        for row in rows
    }


def _pairs(connection: Connection, listed: Mapping[PoolKey, TokenFacts]) -> Iterable[PairFacts]:
    rows = connection.execute(
        select(
            PeggedPair.symbol,
            PeggedPair.org_chain_id,
            PeggedPair.pegged_chain_id,
            PeggedPair.pegged_deposit_contract_addr,
            PeggedPair.pegged_burn_contract_addr,
            PeggedPair.deposit_contracts,
            PeggedPair.burn_contracts,
            PeggedPair.org_token,
            PeggedPair.pegged_token,
        ).order_by(PeggedPair.id)
    )
    for row in rows:
        yield PairFacts(
            row.symbol,
            row.org_chain_id,
            row.pegged_chain_id,
            vaults=tuple(map(parse_evm_address, (row.pegged_deposit_contract_addr, *row.deposit_contracts))),
            bridges=tuple(map(parse_evm_address, (row.pegged_burn_contract_addr, *row.burn_contracts))),
            org_token=_own(row.org_token, listed.get(PoolKey(row.org_chain_id, row.symbol))),
            pegged_token=_own(row.pegged_token, listed.get(PoolKey(row.pegged_chain_id, row.symbol))),
        )


def _own(said: Mapping[str, Any], listed: TokenFacts | None) -> TokenFacts | None:
    """The token that a pair has of its own; None where it is the chain's."""
    address = parse_evm_address(said["address"]) if "address" in said else None
    if listed is None:
        return TokenFacts(address, said["decimal"]) if "decimal" in said else None
    if "address" not in said and "decimal" not in said:
        return None
    return TokenFacts(address if "address" in said else listed.address, said.get("decimal", listed.decimals))


def load_opening_sets(connection: Connection, chain_id: ChainId | None = None) -> dict[ChainId, ValidatorSet]:
    """Each chain's configured set, in force until a rotation is reported.

    :param chain_id: of this chain alone; None: of all.
    """
    opening: dict[ChainId, list[tuple[bytes, int]]] = {}
    table = OpeningValidator
    asked = select(table.chain_id, table.signer, table.power)
    for row in connection.execute(asked if chain_id is None else asked.where(table.chain_id == chain_id)):
        opening.setdefault(row.chain_id, []).append((_address(row.signer), row.power))
    return {chain_id: ValidatorSet.of(chain_id, 0, members) for chain_id, members in opening.items()}


def _reported_sets(
    connection: Connection, known: Mapping[tuple[ChainId, int, str], ValidatorSet]
) -> dict[tuple[ChainId, int, str], ValidatorSet]:
    """Each chain's latest standing ``validators.updated``, by its row; it outranks the opening set.

    :param known: sets by their rows: the same row is not decoded again.
    """
    table = ReportedValidatorSet
    rows = connection.execute(select(table.chain_id, table.version, cast(table.members, Text)))
    keys = [(ChainId(row.chain_id), int(row.version), str(row.members)) for row in rows]
    return {key: known.get(key) or _decoded_set(*key) for key in keys}


def _decoded_set(chain_id: ChainId, version: int, members: str) -> ValidatorSet:
    stored = ((_address(signer), int(power)) for signer, power in orjson.loads(members))
    return ValidatorSet.of(chain_id, version, stored)


def _address(text: str) -> bytes:
    address = parse_evm_address(text)
    if address is None:
        raise ValueError(f"{text} is stored as a validator but is no address")
    return address
