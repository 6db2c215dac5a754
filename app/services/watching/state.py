"""What is kept of the reading of a chain, for the one that goes on with it."""

from __future__ import annotations

from app.db.engine import reading_consistently
from app.domain.keys import ChainId
from app.domain.watching.blocks import BlockId
from app.domain.watching.steps import ChainReadings
from app.queries.watching import kept_headers, unproven_spans, waiting_facts, watch_row
from app.runtime.gateway import Gateway


def load(gateway: Gateway, chain_id: ChainId) -> ChainReadings:
    """All that is kept of the reading of a chain; nothing but its id where nobody has read it yet."""
    with reading_consistently(gateway.engine) as connection:
        row = watch_row(connection, chain_id)
        if row is None:
            return ChainReadings(chain_id=chain_id)
        known = row.live_to is not None and row.live_to_hash is not None
        contracts = row.contracts
        return ChainReadings(
            chain_id=chain_id,
            live_from=row.live_from,
            live_to=BlockId(row.live_to, row.live_to_hash) if known else None,
            backfill_from=row.backfill_from,
            backfilled_to=row.backfilled_to,
            headers=kept_headers(connection, chain_id),
            spans=unproven_spans(connection, chain_id),
            waiting=waiting_facts(connection, chain_id),
            contracts=None if contracts is None else frozenset(map(bytes.fromhex, contracts)),
            reread_to=row.reread_to,
            proven_to=row.proven_to,
            stopped=row.stopped,
            extra=row.extra,
        )
