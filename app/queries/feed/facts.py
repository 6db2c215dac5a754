"""What do the network's configuration and its validator sets say, in the transaction of the fold?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, select

from app.domain.amounts import parse_decimal
from app.domain.crypto import parse_evm_address
from app.domain.keys import ChainId, PoolKey, RouteKey
from app.domain.network_facts import NetworkFacts, PairFacts, TokenFacts
from app.domain.validators import ValidatorSet
from app.models.network import Chain, OpeningValidator, PeggedPair, Pool, Route, Token
from app.models.validators import ReportedValidatorSet


def load_network_facts(connection: Connection) -> NetworkFacts:
    """Everything that folding depends on, the validator sets included."""
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
        symbols=symbols,
        pools={PoolKey(*row) for row in connection.execute(select(Pool.chain_id, Pool.symbol))},
        pool_bridges={chain_id: address for chain_id, address in bridges if address is not None},
        pairs=tuple(_pairs(connection, tokens)),
        validators=load_validator_sets(connection),
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


def load_opening_sets(connection: Connection) -> dict[ChainId, ValidatorSet]:
    """Each chain's configured set, in force until a rotation is reported."""
    opening: dict[ChainId, list[tuple[bytes, int]]] = {}
    rows = connection.execute(
        select(OpeningValidator.chain_id, OpeningValidator.signer, OpeningValidator.power)
    )
    for row in rows:
        opening.setdefault(row.chain_id, []).append((_address(row.signer), row.power))
    return {chain_id: ValidatorSet.of(chain_id, 0, members) for chain_id, members in opening.items()}


def load_validator_sets(connection: Connection) -> dict[ChainId, ValidatorSet]:
    """Each chain's current set: the latest standing ``validators.updated``, else the opening one."""
    sets = load_opening_sets(connection)
    reported = connection.execute(
        select(ReportedValidatorSet.chain_id, ReportedValidatorSet.version, ReportedValidatorSet.members)
    )
    for chain_id, version, stored in reported:
        members = [(_address(signer), int(power)) for signer, power in stored]
        sets[chain_id] = ValidatorSet.of(chain_id, version, members)
    return sets


def _address(text: str) -> bytes:
    address = parse_evm_address(text)
    if address is None:
        raise ValueError(f"{text} is stored as a validator but is no address")
    return address
