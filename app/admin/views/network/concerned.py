"""The recent transfers that an edit is about, for its preview."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from app.admin.pages.components import TransferLine, transfer_line
from app.db.engine import reading
from app.queries.transfers.lists import transfers_by_id
from app.runtime.gateway import current_gateway
from app.services.network.edits.results import Effect


def concerned_transfers(effects: Iterable[Effect]) -> Mapping[bytes, TransferLine]:
    """What a page says of the transfers that the effects name, by their ids."""
    wanted = [transfer_id for effect in effects for transfer_id in effect.transfer_ids]
    if not wanted:
        return {}
    terms = current_gateway().snapshots.current().terms
    with reading(current_gateway().reads) as connection:
        rows = transfers_by_id(connection, wanted)
    return {row.transfer_id: transfer_line(terms, row) for row in rows}
