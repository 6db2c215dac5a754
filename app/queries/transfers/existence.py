"""Does any transfer use a chain or a token?"""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, exists, select

from app.domain.keys import ChainId
from app.models.pruned import PrunedPool
from app.models.transfers import Transfer


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
