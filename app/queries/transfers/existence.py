"""Does any transfer use a chain or a token?"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import ColumnElement, Connection, and_, exists, or_, select

from app.domain.codes import SendKind
from app.domain.keys import ChainId
from app.models.pruned import PrunedPool
from app.models.transfers import Transfer, transfer_is_open


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


def open_transfers_use_contract(
    connection: Connection,
    kind: SendKind,
    symbol: str,
    chains: tuple[ChainId, ChainId | None],
    contracts: Collection[str | None],
) -> bool:
    """Whether a transfer that is not over was sent through one of a pegged pair's contracts.

    :param chains: the source chain, and the destination where it matters.
    :param contracts: as sends name them; None stands for sends that name none.
    """
    named = [contract for contract in contracts if contract is not None]
    unnamed = [Transfer.contract.is_(None)] if None in contracts else []
    through = or_(Transfer.contract.in_(named), *unnamed)
    src_chain_id, dst_chain_id = chains
    to = [] if dst_chain_id is None else [Transfer.dst_chain_id == dst_chain_id]
    of_pair = and_(Transfer.src_chain_id == src_chain_id, Transfer.symbol == symbol, *to)
    return _any(connection, and_(transfer_is_open, of_pair, Transfer.kind == kind.value, through))


def _any(connection: Connection, condition: ColumnElement[bool]) -> bool:
    return bool(connection.scalar(select(exists().where(condition))))
