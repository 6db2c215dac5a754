"""Which chains are stopped, and why?"""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import Connection, select

from app.models.network import Chain


class StoppedRow(NamedTuple):
    """A stopped chain, with the reason for operators."""

    chain_id: int
    name: str
    reason: str


def stopped_chains(connection: Connection) -> list[StoppedRow]:
    """The stopped chains in the order of their arrival."""
    query = select(Chain.chain_id, Chain.name, Chain.disabled_reason).where(Chain.disabled).order_by(Chain.id)
    return [StoppedRow(*row) for row in connection.execute(query)]
