"""Why transfers are answered otherwise than their stored rows, where their logs show it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace
from sqlalchemy import Connection

from app.feed.verifying.mismatches import Difference
from app.transfers.queries.logged import transfers_log
from app.transfers.rules.events.codec import decode_event, encode_event
from app.transfers.rules.events.event_fields import id_in_one_form
from app.transfers.rules.events.events import TransferSent, TransferSubmitted
from app.transfers.rules.reported import TransferHistory
from app.values.identifiers import TransferId


def with_reasons(
    connection: Connection, found: Sequence[Difference], histories: Mapping[bytes, TransferHistory]
) -> list[Difference]:
    """The differences of rows of transfers, each with its reason."""
    return [
        replace(each, reason="; ".join(_reasons(connection, histories[each.key["transfer_id"]])))
        for each in found
    ]


def _is_respelled(connection: Connection, transfer_id: TransferId) -> bool:
    """Whether any event of the transfer is stored otherwise than it is read."""
    return any(
        id_in_one_form(row.event_id) != row.event_id
        or encode_event(decode_event(row.event_id, row.type, row.body)) != row.body
        for row in transfers_log(connection, transfer_id)
    )


def _reasons(connection: Connection, history: TransferHistory) -> Iterator[str]:
    """What the transfer's log has that earlier releases read in another way."""
    if _is_respelled(connection, history.transfer_id):
        yield "its reports spell one account, number or id in several ways"
    if any(each.chains is not None and isinstance(each.event, TransferSubmitted) for each in history.log):
        yield "a token that is limited to chains announced it, which decides nothing beside other reports"
    if history.contradicting():
        yield "a send contradicts the transfer id"
    if history.misplaced(history.origin()):
        yield "reports of one fact together say that it was read on another chain"
    limits: dict[str, set[frozenset[int] | None]] = defaultdict(set)
    for each in history.log:
        if isinstance(each.event, TransferSent):
            limits[each.event.id].add(each.chains)
    if any(len(each) > 1 for each in limits.values()):
        yield "tokens with and without limits reported one send"
