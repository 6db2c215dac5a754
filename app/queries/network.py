"""The network tables: rows, versions, and whether transfers use a row."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, exists, select

from app.extensions import Base
from app.models.network import NetworkPart
from app.models.transfers import Transfer


def load_rows(connection: Connection, model: type[Base]) -> list[dict[str, Any]]:
    """Every row of one network table by column name, in the order of arrival."""
    table = model.__table__
    return [dict(row) for row in connection.execute(select(table).order_by(table.c.id)).mappings()]


def load_versions(connection: Connection) -> dict[str, int]:
    """The version of each part that has ever been written; the others are at 0."""
    rows = connection.execute(select(NetworkPart.part, NetworkPart.version))
    return {row.part: row.version for row in rows}


def transfers_use_chain(connection: Connection, chain_id: int) -> bool:
    """Whether any known transfer comes from the chain or goes there."""
    return _any(connection, Transfer.src_chain_id == chain_id) or _any(
        connection, Transfer.dst_chain_id == chain_id
    )


def transfers_use_token(connection: Connection, chain_id: int, symbol: str) -> bool:
    """Whether any known transfer of the token comes from the chain or goes there."""
    of_symbol = Transfer.symbol == symbol
    return _any(connection, of_symbol & (Transfer.src_chain_id == chain_id)) or _any(
        connection, of_symbol & (Transfer.dst_chain_id == chain_id)
    )


def _any(connection: Connection, condition: ColumnElement[bool]) -> bool:
    return bool(connection.scalar(select(exists().where(condition))))
