"""Which transfers were written by code that did not know all of their columns?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import ColumnElement, Connection, select

from app.domain.codes import FINISHED_STATUSES
from app.models.transfers import Transfer

IS_UNLISTED: Final = Transfer.began_at.is_(None) & Transfer.src_chain_id.is_not(None)
"""In no list: without the time since which it is listed, although its chains are known."""

IS_UNSETTLED: Final = Transfer.status.in_(sorted(FINISHED_STATUSES)) & Transfer.settled_block.is_(None)
"""At its end, and without the block that this rests on, which may be unknown."""


def next_transfers(
    connection: Connection, after: bytes, rows: int, missing: ColumnElement[bool]
) -> Sequence[tuple[bytes, bool]]:
    """The transfers after an id, in the order of ids, each with whether something is missing of it."""
    wanted = select(Transfer.transfer_id, missing).order_by(Transfer.transfer_id).limit(rows)
    found = connection.execute(wanted.where(Transfer.transfer_id > after) if after else wanted)
    return [(transfer_id, bool(is_missing)) for transfer_id, is_missing in found]
