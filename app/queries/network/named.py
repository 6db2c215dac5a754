"""Which chains and tokens are there, by what people call them?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from app.domain.keys import ChainId
from app.models.network import Chain, Token


class NamedChain(NamedTuple):
    """A chain; ``contract_addr`` is empty where there is none."""

    chain_id: ChainId
    name: str
    contract_addr: str


class NamedToken(NamedTuple):
    """A token's form on one chain; ``row_id`` is the number of its row."""

    row_id: int
    chain_id: ChainId
    symbol: str
    name: str
    address: str


def named_chains(connection: Connection) -> Sequence[NamedChain]:
    """Every chain, in the order of the names."""
    rows = connection.execute(select(Chain.chain_id, Chain.name, Chain.contract_addr).order_by(Chain.name))
    return [NamedChain(ChainId(row.chain_id), row.name, row.contract_addr) for row in rows]


def named_tokens(connection: Connection) -> Sequence[NamedToken]:
    """Every token on every chain."""
    columns = (Token.id, Token.chain_id, Token.symbol, Token.name, Token.address)
    rows = connection.execute(select(*columns).order_by(Token.symbol, Token.chain_id))
    return [NamedToken(row.id, ChainId(row.chain_id), row.symbol, row.name, row.address) for row in rows]
