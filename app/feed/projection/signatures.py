"""Signatures outside the projected log: quarantined while no current validator made them, or not needed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from sqlalchemy import Connection, delete, insert

from app.feed.projection.journal import Place, Step
from app.feed.queries.log import latest_acceptances
from app.feed.queries.pruned import load_positions
from app.feed.queries.transfers import AsideRow, count_aside, load_aside
from app.feed.services.log import append
from app.network.rules.validation_facts import NetworkFacts
from app.refunds.models import SignatureAside, SignatureNotNeeded
from app.transfers.rules.events.counting import Logged
from app.transfers.rules.events.event_types import RefundSigned
from app.transfers.rules.events.fields import id_in_one_form
from app.transfers.rules.events.merging import agree
from app.transfers.rules.history import TransferHistory
from app.transfers.rules.refund_signatures import MAX_ASIDE, not_needed, signature_refusal, without
from app.transfers.rules.validation import LogEntry


def quarantine(
    connection: Connection, refused: Iterable[tuple[RefundSigned, str]], received_at: datetime
) -> None:
    """Store refused signatures that may become valid, at most ``MAX_ASIDE`` of a transfer.

    :param refused: each with its reporter.
    """
    of_transfer: dict[bytes, dict[tuple[str, bytes], tuple[RefundSigned, str]]] = defaultdict(dict)
    for event, reporter in refused:
        of_transfer[event.transfer_id][event.id, event.signature] = event, reporter
    if not of_transfer:
        return
    for row in load_aside(connection, list(of_transfer)):
        of_transfer[row.transfer_id].pop((row.event_id, row.signature), None)
    counts = count_aside(connection, list(of_transfer))
    rows = [
        {
            "transfer_id": transfer_id,
            "event_id": event.id,
            "signature": event.signature,
            "at": event.at,
            "received_at": received_at,
            "reporter": reporter,
        }
        for transfer_id, new in of_transfer.items()
        for event, reporter in list(new.values())[: max(0, MAX_ASIDE - counts.get(transfer_id, 0))]
    ]
    if rows:
        connection.execute(insert(SignatureAside), rows)


def with_signatures_aside(
    connection: Connection, transfers: Sequence[Sequence[Step]], facts: NetworkFacts
) -> list[Sequence[Step]]:
    """The steps of transfers, and one more for each quarantined signature that is valid by now.

    Those signatures are added to the log. The caller is the only writer.
    """
    # A signature cannot be validated before its request is known, and most transfers have none.
    requested = [steps[-1].history.transfer_id for steps in transfers if steps[-1].history.has_request]
    aside: dict[bytes, list[AsideRow]] = defaultdict(list)
    for row in load_aside(connection, requested) if requested else ():
        aside[row.transfer_id].append(row)
    return [
        [*steps, *_take_aside(connection, rows, steps[-1].history, facts)]
        if (rows := aside.get(steps[-1].history.transfer_id))
        else steps
        for steps in transfers
    ]


def _take_aside(
    connection: Connection, rows: Iterable[AsideRow], history: TransferHistory, facts: NetworkFacts
) -> Iterator[Step]:
    for row in rows:
        event = RefundSigned(
            id=id_in_one_form(row.event_id), at=row.at, transfer_id=row.transfer_id, signature=row.signature
        )
        known = [each for each in history.log if each.event.id == event.id and each.chains is None]
        valid = {each.seq for each in history.valid()}
        if any(each.seq in valid or not agree(each.event, event) for each in known):
            _delete_aside(connection, row)
        elif signature_refusal(event, history, facts, may_wait=bool(known)) is None:
            seq = load_positions(connection).last_seq + 1
            latest = latest_acceptances(connection, [event.key]).get(event.key)
            occurrence = 0 if latest is None else latest.occurrence + 1
            entry = LogEntry(seq, occurrence, event, reporter=row.reporter)
            append(connection, [entry], row.received_at)
            _delete_aside(connection, row)
            history = history.with_log([*history.log, Logged(seq, event)])
            yield Step(Place(seq), history)


def without_needless(
    connection: Connection, histories: Iterable[TransferHistory], facts: NetworkFacts
) -> list[TransferHistory]:
    """The histories without the signatures that are not needed. Those are stored as not needed."""
    found = list(histories)
    left_out = {history.transfer_id: not_needed(history, facts) for history in found}
    rows = [
        {"seq": seq, "transfer_id": transfer_id}
        for transfer_id, positions in left_out.items()
        for seq in sorted(positions)
    ]
    if rows:
        connection.execute(insert(SignatureNotNeeded), rows)
    return [without(history, left_out[history.transfer_id]) for history in found]


def _delete_aside(connection: Connection, row: AsideRow) -> None:
    table = SignatureAside
    connection.execute(
        delete(table).where(
            table.transfer_id == row.transfer_id,
            table.event_id == row.event_id,
            table.signature == row.signature,
        )
    )


def project_all_signatures(connection: Connection, transfer_ids: Iterable[bytes]) -> None:
    """Leave no signature out of the next projection of these transfers: others may no longer be canonical."""
    connection.execute(
        delete(SignatureNotNeeded).where(SignatureNotNeeded.transfer_id.in_(list(transfer_ids)))
    )
