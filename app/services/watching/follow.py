"""What was read follows what is configured: other contracts, or an earlier start, are read from anew."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, delete, update

from app.db.engine import writing
from app.domain.keys import ChainId
from app.domain.watching.spans import UNKNOWN_DIGEST
from app.domain.watching.steps import SpanState
from app.domain.watching.terms import WatchTerms
from app.models.watching import WatchSpan
from app.runtime.gateway import Gateway
from app.services.watching.lease import Lease, write_under


def follow_terms(gateway: Gateway, lease: Lease, terms: WatchTerms) -> bool:
    """Let what is kept of a chain be about the contracts and the first block that are configured now.

    Where a contract is added, or the first block is an earlier one, nothing is proven any more: the backfill
    begins again, while live reading goes on where it is. What is read twice counts once.

    To be called when the lease was taken, and when the terms have changed.

    :returns: whether anything changed: then what is kept has to be loaded again.
    :raises LeaseLost: somebody else reads the chain.
    """
    with writing(gateway.feed) as connection:
        row = write_under(connection, lease, owner=lease.owner)
        values = _values(connection, row, terms)
        if values:
            write_under(connection, lease, **values)
    return bool(values)


def _values(connection: Connection, row: Row[*tuple[Any, ...]], terms: WatchTerms) -> dict[str, Any]:
    wanted = sorted(address.hex() for address in terms.contracts)
    kept = row.contracts
    if kept is None:
        return {"contracts": wanted}
    began = row.backfill_from if row.backfill_from is not None else row.live_from
    if began is not None and (set(wanted) - set(kept) or terms.from_block < began):
        return {"contracts": wanted} | _from_the_beginning(connection, row, terms)
    values: dict[str, Any] = {}
    if wanted != kept:
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
    return {
        "backfill_from": terms.from_block,
        "backfilled_to": None,
        "live_from": live_from,
        "reread_to": None,
        "proven_to": None,
    }


def _forget_digests(connection: Connection, chain_id: ChainId) -> None:
    """Ranges that are still to be compared had logs of contracts that nobody asks for any more."""
    connection.execute(
        update(WatchSpan)
        .where(WatchSpan.chain_id == chain_id, WatchSpan.state == SpanState.READ.value)
        .values(digest=UNKNOWN_DIGEST, count=0)
    )
