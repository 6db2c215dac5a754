"""Which chains are stopped, and why?"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, select

from app.models.network import Chain


class StoppedRow(NamedTuple):
    """A stopped chain, with the reason for operators."""

    chain_id: int
    name: str
    reason: str
    at: datetime | None


def stopped_chains(connection: Connection) -> list[StoppedRow]:
    """The stopped chains in the order of their arrival."""
    columns = Chain.chain_id, Chain.name, Chain.disabled_reason, Chain.disabled_at
    query = select(*columns).where(Chain.disabled).order_by(Chain.id)
    return [StoppedRow(*row) for row in connection.execute(query)]
