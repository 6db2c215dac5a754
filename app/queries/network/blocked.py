"""Which accounts and networks are given no estimates?"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import Connection, select

from app.models.blocked import BlockedAddress, BlockedNetwork


def load_blocked_addresses(connection: Connection) -> Iterator[tuple[str, datetime | None]]:
    """Each blocked account and when its block ends, None for never."""
    yield from connection.execute(select(BlockedAddress.address, BlockedAddress.expires_at))


def load_blocked_networks(connection: Connection) -> Iterator[tuple[str, datetime | None]]:
    """Each blocked network in CIDR notation and when its block ends, None for never."""
    yield from connection.execute(select(BlockedNetwork.cidr, BlockedNetwork.expires_at))
