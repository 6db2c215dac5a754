"""The blocks that their headers do not prove, and on what conditions a chain counts as proven over them.

Some chains have a few blocks whose receipts never give the root in their header, such as those with Polygon's
state sync transactions. Such a block stops no proof of the others. It is passed over where its chain is one
whose receipts match otherwise: where those of a higher block match, or those of the last block that was
compared below it. So a chain whose receipts are never understood, or not any more, does not count as proven.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, bindparam, delete, func, or_, select

from app.db.database import Database
from app.db.engine import reading
from app.db.upserts import upsert
from app.values.identifiers import BlockNumber, ChainId
from app.watcher.models import WatchUnmatched, WatchWaiting
from app.watcher.steps import Span, Step

TRIED_AT_ONCE: Final = 20
"""Blocks. Each of them costs a request or two."""

_block = WatchUnmatched.block
_IN_SPAN: Final = delete(WatchUnmatched).where(
    WatchUnmatched.chain_id == bindparam("of"), _block.between(bindparam("first"), bindparam("last"))
)


def store_unmatched(
    connection: Connection, row: Row[*tuple[Any, ...]], step: Step, taken_back_from: BlockNumber | None
) -> dict[str, Any]:
    """Store which blocks a step could not prove. What was read again, or taken back, is forgotten.

    :param row: of the chain, before the step.
    :returns: the columns of the chain's row that change.
    """
    values: dict[str, Any] = {}
    if step.matched_to is not None and (row.matched_to is None or row.matched_to < step.matched_to):
        values["matched_to"] = step.matched_to
    if row.unmatched:
        _forget(connection, row.chain_id, step.spans, step.forget_from, taken_back_from)
    if step.unmatched:
        found = select(_block, WatchUnmatched.tries).where(_of(row.chain_id), _block.in_(step.unmatched))
        tries = {block: tries + 1 for block, tries in connection.execute(found)}
        upsert(
            connection,
            WatchUnmatched,
            [
                {"chain_id": row.chain_id, "block": block, "tries": tries.get(block, 0)}
                for block in step.unmatched
            ],
        )
    if row.unmatched or step.unmatched:
        counted = select(func.count()).select_from(WatchUnmatched).where(_of(row.chain_id))
        values["unmatched"] = connection.scalar(counted)
    return values


def _of(chain_id: ChainId) -> Any:
    return WatchUnmatched.chain_id == chain_id


def _forget(
    connection: Connection, chain_id: ChainId, spans: Sequence[Span], *taken_back: BlockNumber | None
) -> None:
    if gone := [_block >= block for block in taken_back if block is not None]:
        connection.execute(delete(WatchUnmatched).where(_of(chain_id), or_(*gone)))
    if spans:
        named = [{"of": chain_id, "first": span.first, "last": span.last} for span in spans]
        connection.execute(_IN_SPAN, named)


def not_passed(
    connection: Connection, chain_id: ChainId, start: BlockNumber, matched_to: BlockNumber | None
) -> BlockNumber | None:
    """The first block from ``start`` on that was not proven and is not passed over; None where there is none.

    Of those above the highest block whose receipts matched, the lowest is passed over: the last block that
    was compared below it is that one.
    """
    least = start if matched_to is None else max(start, matched_to)
    waiting = select(_block).where(_of(chain_id), _block >= least).order_by(_block).limit(2)
    found = connection.scalars(waiting).all()[0 if matched_to is None else 1 :]
    return found[0] if found else None


def unmatched_of_waiting(connection: Connection, chain_id: ChainId) -> frozenset[BlockNumber]:
    """Those that hold logs of facts that wait."""
    waiting = select(WatchWaiting.block).where(WatchWaiting.chain_id == chain_id)
    return frozenset(connection.scalars(select(_block).where(_of(chain_id), _block.in_(waiting))))


def unmatched_to_try(
    database: Database, chain_id: ChainId, but: Collection[BlockNumber], most: int
) -> list[BlockNumber]:
    """Some that were tried least, the newest first, and others close below them.

    :param but: those that are left out.
    :param most: blocks from the lowest to the highest.
    """
    first = select(_block).where(_of(chain_id), _block.not_in(but))
    with reading(database.engine) as connection:
        newest = connection.scalar(first.order_by(WatchUnmatched.tries, _block.desc()).limit(1))
        if newest is None:
            return []
        close = first.where(_block <= newest, _block > newest - most).order_by(_block.desc())
        return sorted(connection.scalars(close.limit(TRIED_AT_ONCE)))
