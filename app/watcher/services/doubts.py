"""The blocks of a chain that are in doubt: read, and not agreed or proven in every part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any, Final

import msgspec
from sqlalchemy import Connection, Row, bindparam, delete, false, func, or_, select

from app.db.types import is_one_of
from app.db.upserts import upsert
from app.values.identifiers import BlockNumber, ChainId
from app.watcher.models import WatchDoubt
from app.watcher.rules.evidence import Entry, Word
from app.watcher.rules.steps import Doubt, Span, Step

_block = WatchDoubt.block
_IN_SPAN: Final = delete(WatchDoubt).where(
    WatchDoubt.chain_id == bindparam("of"), _block.between(bindparam("first"), bindparam("last"))
)
_CHUNK: Final = 500
_IS_OPEN: Final = or_(WatchDoubt.agreed.is_(None), WatchDoubt.agreed == false())
_IS_DISPUTED: Final = WatchDoubt.disputed.is_(True)


class _Written(msgspec.Struct):
    """The words of a row."""

    words: dict[str, Word]
    logs: list[tuple[Entry, int, int]]
    reported: frozenset[Entry]
    final: frozenset[Entry] = frozenset()


def store_doubts(
    connection: Connection, row: Row[*tuple[Any, ...]], step: Step, taken_back_from: BlockNumber | None
) -> dict[str, Any]:
    """Store the doubts of a step. Those of blocks that were read again, resolved or replaced are removed.

    :param row: of the chain, before the step.
    :returns: the columns of the chain's row that change.
    """
    values: dict[str, Any] = {}
    if step.matched_to is not None and (row.matched_to is None or row.matched_to < step.matched_to):
        values["matched_to"] = step.matched_to
    of_chain = WatchDoubt.chain_id == row.chain_id
    _forget(connection, row.chain_id, step.spans, step.forget_from, taken_back_from)
    for start in range(0, len(step.resolved), _CHUNK):
        some = _block.in_(step.resolved[start : start + _CHUNK])
        connection.execute(delete(WatchDoubt).where(of_chain, some))
    upsert(connection, WatchDoubt, [_row(row.chain_id, doubt) for doubt in step.doubts])
    if row.unmatched or step.doubts:
        counted = select(func.count()).select_from(WatchDoubt).where(of_chain, _IS_OPEN)
        values["unmatched"] = connection.scalar(counted)
    return values


def doubted_blocks(connection: Connection, chain_id: ChainId, blocks: Set[BlockNumber]) -> Set[BlockNumber]:
    """The blocks among these of which something is not agreed or proven."""
    of_blocks = is_one_of(connection, _block, blocks)
    return set(connection.scalars(select(_block).where(WatchDoubt.chain_id == chain_id, of_blocks, _IS_OPEN)))


def _forget(
    connection: Connection, chain_id: ChainId, spans: Sequence[Span], *taken_back: BlockNumber | None
) -> None:
    if gone := [_block >= block for block in taken_back if block is not None]:
        connection.execute(delete(WatchDoubt).where(WatchDoubt.chain_id == chain_id, or_(*gone)))
    if spans:
        named = [{"of": chain_id, "first": span.first, "last": span.last} for span in spans]
        connection.execute(_IN_SPAN, named)


def _row(chain_id: ChainId, doubt: Doubt) -> dict[str, Any]:
    words = {voice: msgspec.structs.replace(word, receipts=None) for voice, word in doubt.words.items()}
    logs = [(entry, *place) for entry, place in doubt.logs.items()]
    return {
        "chain_id": chain_id,
        "block": doubt.block,
        "tries": doubt.tries,
        "hash": doubt.hash,
        "words": msgspec.to_builtins(_Written(words, logs, doubt.reported, doubt.final)),
        "since": doubt.since,
        "agreed": doubt.agreed,
        "disputed": doubt.disputed,
        "final": not doubt.is_open,
    }


def stored_doubts(connection: Connection, row: Row[*tuple[Any, ...]]) -> Mapping[BlockNumber, Doubt]:
    """The doubts of a chain, ascending. ``row`` is that of the chain."""
    found = select(WatchDoubt.__table__).where(WatchDoubt.chain_id == row.chain_id).order_by(_block)
    return {
        BlockNumber(each.block): _earlier(each, row) if each.words is None else _doubt(each)
        for each in connection.execute(found)
    }


def _earlier(each: Row[*tuple[Any, ...]], row: Row[*tuple[Any, ...]]) -> Doubt:
    """What a release before the rule of evidence stored of a block."""
    return Doubt(block=each.block, since=row.read_at)


def disputed_counts(connection: Connection) -> Mapping[ChainId, int]:
    """The number of disputed blocks by chain; a chain without any is left out."""
    counted = select(WatchDoubt.chain_id, func.count()).where(_IS_DISPUTED).group_by(WatchDoubt.chain_id)
    return {ChainId(chain_id): number for chain_id, number in connection.execute(counted)}


def newest_disputed(connection: Connection, chain_id: ChainId, limit: int) -> Sequence[Doubt]:
    """The highest disputed blocks of a chain, the highest first."""
    found = (
        select(WatchDoubt.__table__)
        .where(WatchDoubt.chain_id == chain_id, _IS_DISPUTED)
        .order_by(_block.desc())
        .limit(limit)
    )
    return [_doubt(each) for each in connection.execute(found)]


def _doubt(each: Row[*tuple[Any, ...]]) -> Doubt:
    written = msgspec.convert(each.words, _Written)
    return Doubt(
        block=each.block,
        hash=each.hash,
        words=written.words,
        logs={entry: (index, place) for entry, index, place in written.logs},
        reported=written.reported,
        since=each.since,
        tries=each.tries,
        agreed=bool(each.agreed),
        disputed=bool(each.disputed),
        final=written.final,
        is_open=not each.final,
    )
