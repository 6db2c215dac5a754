"""What are the chains called, and how many decimals have the tokens?"""

from __future__ import annotations

from sqlalchemy import Connection, select

from app.domain.keys import ChainId
from app.models.network import Chain, Token


def chain_names(connection: Connection) -> dict[ChainId, str]:
    """The name of every configured chain by its id, in the order of the names."""
    rows = connection.execute(select(Chain.chain_id, Chain.name).order_by(Chain.name))
    return {ChainId(row.chain_id): row.name for row in rows}


def token_decimals(connection: Connection) -> dict[tuple[int, str], int]:
    """The decimals of every configured token by chain id and symbol."""
    rows = connection.execute(select(Token.chain_id, Token.symbol, Token.decimal))
    return {(row.chain_id, row.symbol): row.decimal for row in rows}
