"""What the watcher has reported of some blocks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from app.db.engine import reading_consistently
from app.domain.keys import BlockNumber, ChainId, TransferId
from app.domain.transfer.events import Event, TransferConfirmed, TransferSent
from app.queries.watching import ReportedEvent, reported_events
from app.runtime.gateway import Gateway
from app.services.watching.advance import REPORTER

__all__ = ["Reported", "ReportedEvent", "confirmed_elsewhere", "reported"]

Reported = Callable[..., Sequence[ReportedEvent]]
"""As :func:`reported`, of one gateway and chain."""


def reported(
    gateway: Gateway,
    chain_id: ChainId,
    first: BlockNumber,
    last: BlockNumber | None,
    transfer_ids: Collection[TransferId] | None = None,
) -> list[ReportedEvent]:
    """What the watcher reported of these blocks. It stays so as long as the caller has the chain's lease."""
    with reading_consistently(gateway.engine) as connection:
        return reported_events(
            connection, chain_id, first, last, reporter=REPORTER, transfer_ids=transfer_ids
        )


def confirmed_elsewhere(reported: Reported, false: Iterable[Event]) -> list[Event]:
    """Confirmations of other sends of the same transfers, which fall with a send that is taken back.

    They are to be reported again (docs/interface.md#retractions).
    """
    taken = {event.key: event for event in false}
    ids = {event.transfer_id for event in taken.values() if isinstance(event, TransferSent)}
    known = reported(BlockNumber(0), None, ids) if ids else ()
    confirmed = (each.event for each in known if each.stands and isinstance(each.event, TransferConfirmed))
    return [event for event in confirmed if event.key not in taken]
