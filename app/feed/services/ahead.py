"""Events ahead of the clock: they have no effect until their time (docs/interface/events.md#ahead)."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct, field
from sqlalchemy import Connection, Row, delete, insert, select
from sqlalchemy.exc import SQLAlchemyError

from app.db.database import Database
from app.db.engine import writing
from app.feed import models as log
from app.feed.lines import MAX_AHEAD
from app.feed.projection import chains, pools
from app.feed.projection.shared import find_progress
from app.feed.projection.signatures import project_all_signatures
from app.feed.projection.transfers import project_again
from app.feed.queries.chains import chains_of_transfers
from app.feed.queries.log import (
    due_positions,
    events_at,
    first_ahead,
    log_times,
    positions_ahead,
    received_later,
)
from app.feed.queries.pools import Part
from app.network.queries import load_network_facts
from app.observability.outages import FAILURES
from app.transfers.models import EventAhead
from app.transfers.rules.events.event_types import (
    ChainEvent,
    ChainReorged,
    Event,
    FeeUpdated,
    LiquidityAdded,
    LiquidityWithdrawn,
    TransferEvent,
    ValidatorsUpdated,
    WithdrawDone,
)
from app.values.identifiers import ChainId, RouteKey

CHUNK = 500

_log = logging.getLogger(__name__)


def settle(connection: Connection, now: datetime) -> None:
    """Let due events count, and events that are ahead of the clock not. The caller is the only writer.

    Events turn out to be ahead where this server's clock was far ahead and was corrected: they are at the end
    of the log. Nothing is done where it was ahead by no more than reporters' clocks may be.
    """
    newest, is_any_due = log_times(connection, now)
    if newest is not None and newest > now + MAX_AHEAD:
        _put_ahead(connection, now)
    positions = due_positions(connection, now) if is_any_due else ()
    for start in range(0, len(positions), CHUNK):
        chunk = positions[start : start + CHUNK]

        def let_count(chunk: Sequence[int] = chunk) -> None:
            connection.execute(delete(EventAhead).where(EventAhead.seq.in_(chunk)))

        project_around(connection, events_at(connection, chunk), let_count, now)


def settle_what_is_due(database: Database) -> None:
    """Let due events count before an answer, as no write may have done it since they are due.

    The check is one read, which is cached for a moment for all answers. No answer fails because of this:
    where the database fails, the answer's own read reports it.
    """
    try:
        first, _ = database.cached.run_read(first_ahead, lambda: database.public.run_read(first_ahead))
        if first is not None and first <= database.clock():
            with writing(database.feed) as connection:
                settle(connection, database.clock())
    except SQLAlchemyError as error:
        FAILURES.report(_log, logging.WARNING, "events that are due could not be applied", error=error)


def _put_ahead(connection: Connection, now: datetime) -> None:
    known = positions_ahead(connection)
    new = [row for row in received_later(connection, now) if row.seq not in known]
    for start in range(0, len(new), CHUNK):
        chunk = new[start : start + CHUNK]

        def leave_out(chunk: Sequence[Row[*tuple[Any, ...]]] = chunk) -> None:
            connection.execute(insert(EventAhead), [{"seq": row.seq, "at": row.at} for row in chunk])

        events = events_at(connection, [row.seq for row in chunk])
        project_around(connection, events, leave_out, now)


def project_around(
    connection: Connection, events: Iterable[Event], change: Callable[[], None], now: datetime
) -> None:
    """Make a change by which some events begin or cease to count, and project again what depends on them."""
    affected = _Affected()
    for event in events:
        affected.note(event)
    parts = affected.parts()
    before = pools.sums_of_parts(connection, parts)
    change()
    pools.move_liquidity(connection, before, pools.sums_of_parts(connection, parts), now)
    for chain_id, part in parts.items():
        chains.project_withdraws(connection, chain_id, part, now)
    _project_again(connection, affected, now)


class _Affected(Struct):
    """What has to be projected again because some events began or ceased to count.

    :param liquidity: ids of events of liquidity and withdraws by their chain.
    :param orphaned: by chain the lowest block that a reorg among the events reaches.
    """

    transfers: set[bytes] = field(default_factory=set)
    liquidity: dict[ChainId, set[str]] = field(default_factory=lambda: defaultdict(set))
    validators: set[ChainId] = field(default_factory=set)
    chains: set[ChainId] = field(default_factory=set)
    routes: set[RouteKey] = field(default_factory=set)
    orphaned: dict[ChainId, int] = field(default_factory=dict)

    def note(self, event: Event) -> None:
        if isinstance(event, TransferEvent):
            self.transfers.add(event.transfer_id)
        elif isinstance(event, FeeUpdated):
            self.routes.add(event.route_key)
        elif isinstance(event, ChainReorged):
            self.chains.add(event.chain_id)
            lowest = self.orphaned.get(event.chain_id, event.from_block)
            self.orphaned[event.chain_id] = min(lowest, event.from_block)
        elif isinstance(event, ChainEvent):
            self.chains.add(event.chain_id)
            if isinstance(event, LiquidityAdded | LiquidityWithdrawn | WithdrawDone):
                self.liquidity[event.chain_id].add(event.id)
            elif isinstance(event, ValidatorsUpdated):
                self.validators.add(event.chain_id)

    def parts(self) -> dict[ChainId, Part]:
        """Of the chains' liquidity events, which may have begun or ceased to count."""
        return {
            chain_id: Part(self.orphaned.get(chain_id), self.liquidity.get(chain_id, ()))
            for chain_id in sorted(self.orphaned.keys() | self.liquidity.keys())
        }


def _project_again(connection: Connection, affected: _Affected, now: datetime) -> None:
    """All but liquidity."""
    for chain_id in sorted(affected.validators):
        chains.project_validators(connection, chain_id, now)
    if affected.routes:
        pools.project_fees_again(connection, affected.routes)
    for chain_id, from_block in sorted(affected.orphaned.items()):
        chains.project_from_block(connection, chain_id, from_block, now)
    transfers = sorted(affected.transfers)
    for start in range(0, len(transfers), CHUNK):
        # One event, with a block or without, may have been the only one of a transfer on a chain.
        of_chunk = log.TransferBlock.transfer_id.in_(transfers[start : start + CHUNK])
        affected.chains |= set(connection.scalars(select(log.TransferBlock.chain_id).where(of_chunk)))
        affected.chains |= chains_of_transfers(connection, transfers[start : start + CHUNK])
        connection.execute(delete(log.TransferBlock).where(of_chunk))
        project_all_signatures(connection, transfers[start : start + CHUNK])
    project_again(connection, transfers, load_network_facts(connection), now)
    for chain_id in sorted(affected.chains):
        find_progress(connection, chain_id)
