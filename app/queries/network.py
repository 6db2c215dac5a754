"""The network tables: rows, versions, and whether transfers use a row."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, exists, select

from app.domain.keys import ChainId
from app.extensions import Base
from app.models.blocked import BlockedAddress, BlockedNetwork
from app.models.network import NetworkPart
from app.models.pruned import PrunedPool
from app.models.transfers import Transfer


def load_rows(connection: Connection, model: type[Base]) -> list[dict[str, Any]]:
    """Every row of one network table by column name, in the order of arrival."""
    table = model.__table__
    return [dict(row) for row in connection.execute(select(table).order_by(table.c.id)).mappings()]


class PartVersion(NamedTuple):
    """How often a part of the configuration has changed, and when it last did."""

    version: int
    changed_at: datetime


def load_versions(connection: Connection) -> dict[str, PartVersion]:
    """The version of each part that has ever been written, by its name."""
    rows = connection.execute(select(NetworkPart.part, NetworkPart.version, NetworkPart.changed_at))
    return {row.part: PartVersion(row.version, row.changed_at) for row in rows}


def load_blocked_addresses(connection: Connection) -> Iterator[tuple[str, datetime | None]]:
    """Each blocked account and when its block ends, None for never."""
    yield from connection.execute(select(BlockedAddress.address, BlockedAddress.expires_at))


def load_blocked_networks(connection: Connection) -> Iterator[tuple[str, datetime | None]]:
    """Each blocked network in CIDR notation and when its block ends, None for never."""
    yield from connection.execute(select(BlockedNetwork.cidr, BlockedNetwork.expires_at))


def transfers_use_chain(connection: Connection, chain_id: ChainId) -> bool:
    """Whether any known transfer comes from the chain or goes there."""
    return _any(connection, Transfer.src_chain_id == chain_id) or _any(
        connection, Transfer.dst_chain_id == chain_id
    )


def transfers_use_token(connection: Connection, chain_id: ChainId, symbol: str) -> bool:
    """Whether any transfer of the token comes from the chain or goes there, or did and was pruned."""
    of_symbol = Transfer.symbol == symbol
    if _any(connection, (PrunedPool.chain_id == chain_id) & (PrunedPool.symbol == symbol)):
        return True
    return _any(connection, of_symbol & (Transfer.src_chain_id == chain_id)) or _any(
        connection, of_symbol & (Transfer.dst_chain_id == chain_id)
    )


def _any(connection: Connection, condition: ColumnElement[bool]) -> bool:
    return bool(connection.scalar(select(exists().where(condition))))
