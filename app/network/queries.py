"""The network configuration: its rows, versions, names, stops and blocked accounts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple, Protocol

import orjson
from msgspec.structs import replace
from sqlalchemy import ColumnElement, Connection, Engine, Row, Text, cast, func, or_, select

from app.db.engine import after_commit, is_writing
from app.db.models import Base
from app.network.models import (
    BlockedAddress,
    BlockedNetwork,
    Chain,
    NetworkPart,
    OpeningValidator,
    PeggedPair,
    Pool,
    ReportedValidatorSet,
    Route,
    Token,
)
from app.network.rules.quorum import ValidatorSet
from app.network.rules.validation_facts import NetworkFacts, build_facts
from app.values.crypto import parse_evm_address
from app.values.identifiers import ChainId


def load_blocked_addresses(connection: Connection) -> Iterator[tuple[str, datetime | None]]:
    """Each blocked account and when its block ends, None for never."""
    yield from connection.execute(select(BlockedAddress.address, BlockedAddress.expires_at))


def load_blocked_networks(connection: Connection) -> Iterator[tuple[str, datetime | None]]:
    """Each blocked network in CIDR notation and when its block ends, None for never."""
    yield from connection.execute(select(BlockedNetwork.cidr, BlockedNetwork.expires_at))


def named_chains(connection: Connection) -> Sequence[Row[ChainId, str, str]]:
    """Id, name and contract (may be empty) of every chain, in the order of the names."""
    columns = Chain.chain_id, Chain.name, Chain.contract_addr
    return connection.execute(select(*columns).order_by(Chain.name)).all()


def named_tokens(connection: Connection) -> Sequence[Row[int, ChainId, str, str, str]]:
    """Number, chain, symbol, name and address of every token."""
    columns = Token.id, Token.chain_id, Token.symbol, Token.name, Token.address
    return connection.execute(select(*columns).order_by(Token.symbol, Token.chain_id)).all()


def named_pools(connection: Connection) -> Sequence[Row[int, ChainId, str]]:
    """Number, chain and symbol of every pool."""
    columns = Pool.id, Pool.chain_id, Pool.symbol
    return connection.execute(select(*columns).order_by(Pool.symbol, Pool.chain_id)).all()


def named_routes(
    connection: Connection, chain_ids: Collection[ChainId]
) -> Sequence[Row[int, str, ChainId, ChainId]]:
    """Number, symbol, source and destination of every route between two of the chains."""
    columns = Route.id, Route.symbol, Route.src_chain_id, Route.dst_chain_id
    ends = Route.src_chain_id.in_(chain_ids), Route.dst_chain_id.in_(chain_ids)
    return connection.execute(select(*columns).where(*ends).order_by(*columns[1:])).all()


def chain_names(connection: Connection) -> dict[ChainId, str]:
    """The name of every configured chain by its id, in the order of the names."""
    rows = connection.execute(select(Chain.chain_id, Chain.name).order_by(Chain.name))
    return {ChainId(row.chain_id): row.name for row in rows}


def token_decimals(connection: Connection) -> dict[tuple[int, str], int]:
    rows = connection.execute(select(Token.chain_id, Token.symbol, Token.decimal))
    return {(row.chain_id, row.symbol): row.decimal for row in rows}


def load_rows(connection: Connection, model: type[Base]) -> list[dict[str, Any]]:
    """Every row of one network table by column name, in the order of arrival."""
    table = model.__table__
    return [dict(row) for row in connection.execute(select(table).order_by(table.c.id)).mappings()]


_AT_ONCE: Final = 500


def rows_with(
    connection: Connection, model: type[Base], column: str, values: Sequence[Any]
) -> list[dict[str, Any]]:
    """The rows whose column has one of the values, maybe a hundred thousand; accounts without regard to
    case.
    """
    table, found = model.__table__, list[dict[str, Any]]()
    for start in range(0, len(values), _AT_ONCE):
        some = values[start : start + _AT_ONCE]
        is_one: ColumnElement[bool] = table.c[column].in_(some)
        if table is BlockedAddress.__table__ and column == "address":
            # EVM addresses have one spelling, which is indexed. Only the others need the slower comparison.
            others = [value.lower() for value in some if not (len(value) == 42 and value.startswith("0x"))]
            is_one = or_(is_one, func.lower(table.c[column]).in_(others)) if others else is_one
        found += (dict(row) for row in connection.execute(select(table).where(is_one)).mappings())
    return found


def stopped_chains(connection: Connection) -> Sequence[Row[ChainId, str, str, datetime | None]]:
    """Id, name, reason and time of the stopped chains that are not retired, in the order of their arrival."""
    columns = Chain.chain_id, Chain.name, Chain.disabled_reason, Chain.disabled_at
    return connection.execute(select(*columns).where(Chain.disabled, ~Chain.retired).order_by(Chain.id)).all()


class PartVersion(NamedTuple):
    """How often a part of the configuration has changed, and when it last did."""

    version: int
    changed_at: datetime


_VERSIONS: Final = select(NetworkPart.part, NetworkPart.version, NetworkPart.changed_at)


def load_versions(connection: Connection) -> dict[str, PartVersion]:
    """The version of each part that has ever been written, by its name."""
    rows = connection.execute(_VERSIONS)
    return {row.part: PartVersion(row.version, row.changed_at) for row in rows}


_OPTION: Final = "gateway_facts"


class FactsInMemory(Protocol):
    def facts_of(self, versions: Mapping[str, PartVersion]) -> NetworkFacts | None:
        """The facts of the configuration of these versions, with the configured validators. None where other
        versions are in memory."""

    def renew(self) -> None:
        """Load the newest versions where others are in memory. A failure is only logged."""


def share_facts(engine: Engine, in_memory: FactsInMemory) -> None:
    engine.update_execution_options(**{_OPTION: in_memory})


_REPORTED_SETS: Final = select(
    ReportedValidatorSet.chain_id, ReportedValidatorSet.version, cast(ReportedValidatorSet.members, Text)
)


def load_network_facts(connection: Connection) -> NetworkFacts:
    """The facts with validator sets: each chain's latest canonical ``validators.updated`` takes precedence
    over its opening set.
    """
    configured = load_configured_facts(connection)
    rows = connection.execute(_REPORTED_SETS)
    reported = {
        ChainId(row.chain_id): _decoded_set(ChainId(row.chain_id), int(row.version), str(row.members))
        for row in rows
    }
    return replace(configured, validators={**configured.validators, **reported})


def load_configured_facts(connection: Connection) -> NetworkFacts:
    """The facts of the configuration that the transaction sees, with the configured validators."""
    in_memory: FactsInMemory | None = connection.get_execution_options().get(_OPTION)
    if in_memory is not None:
        facts = in_memory.facts_of(load_versions(connection))
        if facts is not None:
            return facts
        if is_writing(connection):
            # In a process that only writes, nothing else renews it. It runs after the transaction: the
            # writer's lock is not held for that, and what is rolled back was never the configuration.
            after_commit(connection, in_memory.renew)
    # Other versions are in memory, as in a transaction that changes them, or on a replica that is behind.
    rows = {model.__tablename__: load_rows(connection, model) for model in _OF_FACTS}
    return replace(build_facts(rows), validators=load_opening_sets(connection))


_OF_FACTS: Final = (Chain, Token, Pool, Route, PeggedPair)


def load_opening_sets(connection: Connection, chain_id: ChainId | None = None) -> dict[ChainId, ValidatorSet]:
    """Each chain's configured set, in force until a rotation is reported; only of ``chain_id`` where it is
    given.
    """
    opening: dict[ChainId, list[tuple[bytes, int]]] = {}
    table = OpeningValidator
    wanted = select(table.chain_id, table.signer, table.power)
    for row in connection.execute(wanted if chain_id is None else wanted.where(table.chain_id == chain_id)):
        opening.setdefault(row.chain_id, []).append((_address(row.signer), row.power))
    return {chain_id: ValidatorSet.of(chain_id, 0, members) for chain_id, members in opening.items()}


def load_contacts(connection: Connection) -> dict[bytes, tuple[str, str]]:
    """Name and contact of validators by their address. Of several opening sets the newest row counts."""
    table = OpeningValidator
    known = or_(table.name != "", table.contact != "")
    rows = connection.execute(select(table.signer, table.name, table.contact).where(known).order_by(table.id))
    return {_address(row.signer): (row.name, row.contact) for row in rows}


@lru_cache(maxsize=256)
def _decoded_set(chain_id: ChainId, version: int, members: str) -> ValidatorSet:
    stored = ((_address(signer), int(power)) for signer, power in orjson.loads(members))
    return ValidatorSet.of(chain_id, version, stored)


def _address(text: str) -> bytes:
    address = parse_evm_address(text)
    if address is None:
        raise ValueError(f"{text} is stored as a validator but is no address")
    return address
