"""Copies the rows that differ from those that were projected again. The caller is the only writer.

What was reported meanwhile may have changed a row, or what it should be. Such a row is left as it is, and
compared again in the next round.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Table, delete, insert, select, update

from app.db.models import ProjectedSum, table_of
from app.feed.models import JournalRow
from app.feed.projection.journal import catch_up
from app.feed.projection.latencies import recount
from app.feed.projection.shared import find_progress
from app.feed.projection.transfers import STATUSES_CHANGED, publish_nothing
from app.feed.queries.pruned import pruned_transfers, transfers_after
from app.feed.queries.transfers import load_states
from app.feed.verifying.comparing import Difference, Values, compared
from app.latency.models import LatencyCount
from app.transfers.models import ChainProgress, Transfer


def repair(
    connection: Connection,
    model: type[Any],
    found: Sequence[Difference],
    now: datetime,
    *,
    seq: int,
) -> list[Difference]:
    """Repair rows of one table. Returns those that were repaired.

    :param seq: how far the log reached when they were compared.
    """
    publish_nothing(connection, now)
    if model is ChainProgress:  # it changes with nearly every event, and is found from the log at once
        for each in found:
            find_progress(connection, each.key["chain_id"])
        return list(found)
    if model is LatencyCount:  # so are these: the window that they count moves on with the clock
        recount(connection, now)
        return list(found)
    ids = {transfer_id for each in found if (transfer_id := _of_transfer(each)) is not None}
    changed = transfers_after(connection, seq) | pruned_transfers(connection, ids)
    before = load_states(connection, ids)
    repaired = [
        each
        for each in found
        if _of_transfer(each) not in changed and (model is JournalRow or _copy(connection, model, each))
    ]
    if model in (Transfer, JournalRow):
        changes = catch_up(connection, before, load_states(connection, ids), now)
        STATUSES_CHANGED(connection, changes, now)
    return repaired


def _of_transfer(each: Difference) -> Any:
    rows = (each.key, each.stored or {}, each.expected or {})
    return next((row["transfer_id"] for row in rows if row.get("transfer_id") is not None), None)


def _copy(connection: Connection, model: type[Any], each: Difference) -> bool:
    """Write a row as it should be. False where it is not as it was found."""
    table = table_of(model)
    of_row = [table.c[name] == value for name, value in each.key.items()]
    query = select(*compared(model, table, connection)).where(*of_row)
    row = connection.execute(query).mappings().one_or_none()
    stored = None if row is None else dict(row)
    expected: Values | None = each.expected
    if issubclass(model, ProjectedSum):
        # Reports change the rows and what follows from the log alike, so what is missing stays the same.
        expected = _increased(table, stored, each)
    elif stored != each.stored:
        return False
    if expected is None:
        connection.execute(delete(table).where(*of_row))
    elif stored is None:
        connection.execute(insert(table).values(expected))
    else:
        connection.execute(update(table).where(*of_row).values(expected))
    return True


def _increased(table: Table, stored: Values | None, each: Difference) -> Values | None:
    """A row of sums with what it lacks; None where that leaves nothing."""
    names = [column.name for column in table.columns if not column.primary_key]
    sums = {name: (stored or {}).get(name, 0) + each.more(name) for name in names}
    return {**each.key, **sums} if any(sums.values()) else None
