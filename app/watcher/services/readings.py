"""What is stored about the reading of a chain, and how it follows the configuration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final

from sqlalchemy import Connection, Row, delete, update

from app.db.database import Database
from app.db.engine import reading_consistently, writing
from app.network.rules.watch_terms import WatchTerms
from app.transfers.queries.logged import newest_seq
from app.transfers.rules.certainty import WATCHER
from app.transfers.rules.events.event_types import Event, TransferConfirmed, TransferSent
from app.transfers.rules.events.keys import EventKey
from app.values.identifiers import BlockNumber, ChainId, TransferId
from app.watcher.models import WatchSpan
from app.watcher.queries import (
    reported_events,
    reports_of_others,
    reports_under,
    spans_proven_before,
    stored_headers,
    unproven_spans,
    waiting_facts,
    watch_row,
)
from app.watcher.rules.blocks import BlockId
from app.watcher.rules.steps import UNKNOWN_DIGEST, ChainReadings, ReportedEvent, SpanState
from app.watcher.services.doubts import stored_doubts
from app.watcher.services.lease import Lease, write_under
from app.watcher.services.spans import without_reorgs_to


def load(database: Database, chain_id: ChainId) -> ChainReadings:
    """All that is stored about the reading of a chain; only its id where it was never read."""
    with reading_consistently(database.engine) as connection:
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
            headers=stored_headers(connection, chain_id),
            spans=unproven_spans(connection, chain_id),
            waiting=waiting_facts(connection, chain_id),
            earlier=spans_proven_before(connection, chain_id),
            doubts=stored_doubts(connection, row),
            roots=row.matched_to is not None,
            contracts=None if contracts is None else frozenset(map(bytes.fromhex, contracts)),
            reread_to=row.reread_to,
            proven_to=row.proven_to,
            stopped=row.stopped,
            extra=without_reorgs_to(row.extra),
        )


KNOWN: Final = "known"
"""In a chain's ``extra``: up to which block all was proven once, before the chain was read from its beginning
again, and the newest position of the log then.
"""

Reported = Callable[..., Sequence[ReportedEvent]]
"""As :func:`reported`, of one gateway and chain."""


def reported(
    database: Database,
    chain_id: ChainId,
    first: BlockNumber,
    last: BlockNumber | None,
    transfer_ids: Collection[TransferId] | None = None,
    *,
    of_others: bool = False,
    under: Collection[EventKey] = (),
) -> list[ReportedEvent]:
    """The watcher's reports of these blocks. They do not change while the caller has the lease.

    :param of_others: what others reported of their logs instead.
    :param under: what was reported of logs under these keys instead, of any block.
    """
    with reading_consistently(database.engine) as connection:
        if under:
            return reports_under(connection, chain_id, under, reporter=WATCHER, of_others=of_others)
        if of_others and last is not None:
            return reports_of_others(connection, chain_id, first, last, reporter=WATCHER)
        return reported_events(connection, chain_id, first, last, reporter=WATCHER, transfer_ids=transfer_ids)


def confirmed_elsewhere(reported: Reported, false: Iterable[Event]) -> list[Event]:
    """Confirmations of other sends of the same transfers, which are orphaned with a send that is retracted.

    They have to be reported again (docs/interface/events.md#retractions).
    """
    taken = {event.key: event for event in false}
    ids = {event.transfer_id for event in taken.values() if isinstance(event, TransferSent)}
    known = reported(BlockNumber(0), None, ids) if ids else ()
    confirmed = (each.event for each in known if each.canonical and isinstance(each.event, TransferConfirmed))
    return [event for event in confirmed if event.key not in taken]


def follow_terms(database: Database, lease: Lease, terms: WatchTerms) -> bool:
    """Adapt what is stored about a chain to the contracts and the first block that are configured now.

    Where a contract is added, or the first block is an earlier one, nothing is proven any more: the backfill
    begins again, while live reading goes on where it is. What is read twice counts once.

    To be called when the lease was taken, and when the terms have changed.

    :returns: whether anything changed: then what is stored has to be loaded again.
    :raises LeaseLost: another watcher reads the chain.
    """
    with writing(database.feed) as connection:
        row = write_under(connection, lease, owner=lease.owner)
        values = _values(connection, row, terms)
        if values:
            write_under(connection, lease, **values)
    return bool(values)


def _values(connection: Connection, row: Row[*tuple[Any, ...]], terms: WatchTerms) -> dict[str, Any]:
    wanted = sorted(address.hex() for address in terms.contracts)
    stored = row.contracts
    if stored is None:
        return {"contracts": wanted}
    began = row.backfill_from if row.backfill_from is not None else row.live_from
    if began is not None and (set(wanted) - set(stored) or terms.from_block < began):
        return {"contracts": wanted} | _from_the_beginning(connection, row, terms)
    values: dict[str, Any] = {}
    if wanted != stored:
        _forget_digests(connection, row.chain_id)
        values["contracts"] = wanted
    if row.backfill_from is not None and terms.from_block > row.backfill_from:
        values["backfill_from"] = terms.from_block
        if row.backfilled_to is None or row.backfilled_to < terms.from_block:
            values["backfilled_to"] = terms.from_block - 1
    return values


def _from_the_beginning(
    connection: Connection, row: Row[*tuple[Any, ...]], terms: WatchTerms
) -> dict[str, Any]:
    connection.execute(delete(WatchSpan).where(WatchSpan.chain_id == row.chain_id))
    live_from = row.live_from if row.live_to is None else row.live_to + 1
    known = row.extra.get(KNOWN, [-1, 0])
    if row.proven_to is not None and row.proven_to >= known[0]:
        known = [row.proven_to, newest_seq(connection)]
    return {
        "backfill_from": terms.from_block,
        "backfilled_to": None,
        "live_from": live_from,
        "reread_to": None,
        "proven_to": None,
        "extra": {**row.extra, KNOWN: known},
    }


def _forget_digests(connection: Connection, chain_id: ChainId) -> None:
    """Those of ranges that are still to be compared include logs of contracts not watched now."""
    connection.execute(
        update(WatchSpan)
        .where(WatchSpan.chain_id == chain_id, WatchSpan.state == SpanState.READ.value)
        .values(digest=UNKNOWN_DIGEST, count=0)
    )
