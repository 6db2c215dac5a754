"""What an answer says about chains: names, explorers, delays, and which chain a pegged token is from."""

from __future__ import annotations

from typing import Protocol

from sqlalchemy import select

from app.models.engine import reading
from app.models.network import Chain, PeggedPair
from app.services.gateway import Gateway


class ChainView(Protocol):
    """The part of a chain's configuration that answers show."""

    @property
    def name(self) -> str:
        """Name for people."""

    @property
    def explore_url(self) -> str:
        """Block explorer, maybe with a ``/`` at its end; maybe empty."""

    @property
    def block_delay(self) -> int:
        """Blocks that a transfer waits on this source."""


def chain_view(gateway: Gateway, chain_id: int | None) -> ChainView | None:
    """The chain, None where it is not configured here."""
    if chain_id is None or chain_id >= 1 << 32:
        return None
    with reading(gateway.engine) as connection:
        return connection.execute(
            select(Chain.name, Chain.explore_url, Chain.block_delay).where(Chain.chain_id == chain_id)
        ).one_or_none()


def is_original_chain(gateway: Gateway, symbol: str, chain_id: int, pegged_chain_id: int) -> bool:
    """Whether the token on ``pegged_chain_id`` stands for tokens locked on ``chain_id``."""
    with reading(gateway.engine) as connection:
        pair = connection.execute(
            select(PeggedPair.id).where(
                PeggedPair.symbol == symbol,
                PeggedPair.org_chain_id == chain_id,
                PeggedPair.pegged_chain_id == pegged_chain_id,
            )
        ).one_or_none()
    return pair is not None
