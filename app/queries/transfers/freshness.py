"""How far has each chain been read, and what was accepted last?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, bindparam, case, func, select

from app.domain.finality import ChainDepth
from app.domain.keys import BlockNumber, ChainId
from app.models.events import ChainProgress, Event
from app.models.network import Chain
from app.models.watching.watches import ChainWatch

_NEWEST = (
    select(
        ChainProgress.chain_id,
        ChainProgress.highest_block,
        ChainProgress.newest_at,
        func.count().over().label("reporting"),
    )
    .order_by(
        case((ChainProgress.chain_id.in_(bindparam("first", expanding=True)), 0), else_=1),
        ChainProgress.newest_at.desc(),
        ChainProgress.chain_id,
    )
    .limit(bindparam("most"))
)

_OF_CHAIN = select(ChainProgress.__table__).where(ChainProgress.chain_id == bindparam("chain_id"))


def newest_events(
    connection: Connection, first: Iterable[ChainId], most: int
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Chains that have reported, their highest block, the time of their newest accepted event, and how many
    such chains there are.

    :param first: these come before all others, which anybody who may report can make up; then the freshest.
    :param most: how many to return.
    """
    return connection.execute(_NEWEST, {"first": list(first), "most": most}).all()


def newest_of_chain(connection: Connection, chain_id: ChainId) -> Row[*tuple[Any, ...]] | None:
    """As :func:`newest_events`, of one chain; None where it has reported nothing."""
    return connection.execute(_OF_CHAIN, {"chain_id": chain_id}).one_or_none()


def chain_progress(connection: Connection) -> Sequence[Row[*tuple[Any, ...]]]:
    """How far each chain has been read, and when its newest event happened."""
    return connection.execute(select(ChainProgress.__table__)).all()


_NONE_YET = BlockNumber(-1)
_FINAL = case((ChainWatch.chain_id.is_not(None), func.coalesce(ChainWatch.final, _NONE_YET)))
_DEPTHS = (
    select(ChainProgress.chain_id, ChainProgress.highest_block, _FINAL)
    .join(Chain, Chain.chain_id == ChainProgress.chain_id)
    .join(ChainWatch, ChainWatch.chain_id == ChainProgress.chain_id, isouter=True)
)


def chain_depths(connection: Connection) -> Mapping[ChainId, ChainDepth]:
    """How far each configured chain has been read, and of those that a watcher reads the newest final block.

    Others, which anybody who may report can make up, are not read: there is no end to them.
    """
    return {
        ChainId(chain_id): ChainDepth(head, final) for chain_id, head, final in connection.execute(_DEPTHS)
    }


def last_event(connection: Connection) -> Row[*tuple[Any, ...]] | None:
    """The newest acceptance of all: its type, reporter and time of receipt."""
    newest = select(Event.type, Event.reporter, Event.received_at).order_by(Event.seq.desc()).limit(1)
    return connection.execute(newest).one_or_none()
