"""Divides the log into parts: by transfer and by chain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Connection, func, select

from app.feed.models import PrunedChain
from app.transfers.models import ChainProgress, Event
from app.values.identifiers import ChainId, TransferId

_OF_CHAINS: Final = (Event.chain_id, PrunedChain.chain_id)


def next_transfers(connection: Connection, after: TransferId | None, most: int) -> list[TransferId]:
    """The next ids of transfers that the log has, ascending."""
    found = Event.transfer_id
    query = select(found).where(found.is_not(None)).distinct().order_by(found).limit(most)
    if after is not None:
        query = query.where(found > after)
    return [TransferId(each) for each in connection.scalars(query) if each is not None]


def every_chain(connection: Connection) -> list[ChainId]:
    """The chains that an event is about."""
    return _chains(connection, _OF_CHAINS)


def every_chain_read(connection: Connection) -> list[ChainId]:
    """The chains that were read: those of :func:`every_chain`, and the chains of events about transfers."""
    return _chains(connection, (*_OF_CHAINS, ChainProgress.chain_id))


def _chains(connection: Connection, columns: Sequence[Any]) -> list[ChainId]:
    return sorted({chain_id for column in columns for chain_id in _chains_in(connection, column)})


def _chains_in(connection: Connection, column: Any) -> Iterator[ChainId]:
    """Each once, by an index: there are few of them in many rows."""
    query = select(func.min(column))
    found = connection.scalar(query)
    while found is not None:
        yield ChainId(found)
        found = connection.scalar(query.where(column > found))
