"""Projects the whole log again, into the second schema, by the code that projects what is reported."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from msgspec import Struct
from sqlalchemy import Table, insert, select, update

from app.db.database import Database
from app.db.models import Base, projected_models, table_of
from app.db.second_schema import Room, SecondSchema, room_for, second_schema
from app.db.upserts import upsert
from app.estimates.models import PoolCounter
from app.feed.projection import chains, pools
from app.feed.projection.anomalies import validate_pools
from app.feed.projection.shared import find_progress
from app.feed.projection.transfers import project_again, project_silently
from app.feed.queries.pools import routes_with_fees
from app.feed.queries.pruned import pruned_pools
from app.feed.queries.verifying import every_chain, every_chain_read, next_transfers
from app.feed.services.retract import rebuild_retracted
from app.latency.models import LatencyWindow
from app.network.models import Pool
from app.network.queries import load_network_facts
from app.refunds.models import SignatureAside
from app.transfers.models import Anomaly
from app.transfers.queries.logged import newest_seq
from app.transfers.rules.anomalies import AnomalyKind
from app.values.identifiers import ChainId, PoolKey, TransferId

TRANSFERS: Final = 500  # projected at a time

_ALSO_WRITTEN: Final[Sequence[type[Base]]] = (LatencyWindow, SignatureAside)
"""Tables that projections write, and that do not follow from the log alone."""


class ProjectedAgain(Struct, frozen=True):
    """What follows from the log, as of one moment, and what was stored then.

    :param transfers: how many the log has.
    :param seq: the position of its last entry.
    """

    schema: SecondSchema
    transfers: int
    seq: int


def room_needed(database: Database) -> Room:
    """The disk space that projecting the log again needs.

    :raises NoSecondSchema: the log cannot be projected again here.
    """
    return room_for(database.engine, _tables())


@contextmanager
def projected_again(
    database: Database, progress: Callable[[int], None] = lambda _transfers: None
) -> Iterator[ProjectedAgain]:
    """Project the log again. Feed and answers go on, and nothing of it stays.

    :param progress: called after each chunk of transfers with their number.
    :raises NoSecondSchema: it cannot be done now.
    """
    with second_schema(database.engine, _tables()) as schema:
        connection, now = schema.connection, database.clock()
        project_silently(connection)
        _begin_sums(schema)
        rebuild_retracted(connection)
        for chain_id in every_chain(connection):
            chains.project_validators(connection, chain_id, now)
            chains.project_withdraws(connection, chain_id, None, now)
            pools.recount_liquidity(connection, chain_id, now)
        pools.project_fees_again(connection, routes_with_fees(connection))
        count = _project_transfers(schema, now, progress)
        for chain_id in every_chain_read(connection):
            find_progress(connection, chain_id)
        _validate_pools(schema, now)
        yield ProjectedAgain(schema, count, newest_seq(connection))


def _tables() -> list[Table]:
    return [*map(table_of, projected_models()), *map(table_of, _ALSO_WRITTEN)]


def _begin_sums(schema: SecondSchema) -> None:
    """Begin sums with what pruned transfers moved, and count latencies of the time of the stored counts."""
    rows = [
        {"chain_id": chain_id, "symbol": symbol, "sent": sent, "relayed": relayed, "added": 0, "withdrawn": 0}
        for (chain_id, symbol), (sent, relayed) in pruned_pools(schema.connection).items()
    ]
    upsert(schema.connection, PoolCounter, rows)
    window = schema.stored(table_of(LatencyWindow))
    schema.connection.execute(insert(LatencyWindow).from_select(window.c.keys(), select(window)))


def _project_transfers(schema: SecondSchema, now: datetime, progress: Callable[[int], None]) -> int:
    facts, count = load_network_facts(schema.connection), 0
    last: TransferId | None = None
    while ids := next_transfers(schema.connection, last, TRANSFERS):
        project_again(schema.connection, ids, facts, now)
        last = ids[-1]
        count += len(ids)
        progress(len(ids))
    return count


def _validate_pools(schema: SecondSchema, now: datetime) -> None:
    """Find which pools are under zero. No event has the time for it, so the stored one is taken."""
    configured = schema.connection.execute(select(Pool.chain_id, Pool.symbol)).all()
    validate_pools(schema.connection, [PoolKey(ChainId(row[0]), row[1]) for row in configured], now)
    stored = schema.stored(table_of(Anomaly))
    of_pools = stored.c.kind == AnomalyKind.POOL_UNDER_ZERO.value
    for row in schema.connection.execute(select(stored).where(of_pools)).all():
        of_row = Anomaly.subject == row.subject, Anomaly.kind == row.kind
        times = {"first_at": row.first_at, "last_at": row.last_at}
        schema.connection.execute(update(Anomaly).where(*of_row).values(times))
