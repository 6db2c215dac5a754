"""What did the statuses of transfers ever follow from?"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec.structs import replace
from sqlalchemy import Connection, Row, func, select

from app.cooperation import in_turns
from app.db.types import is_one_of
from app.feed.queries.retractions import retractions_naming
from app.refunds.models import SignatureNotNeeded, UserRefundRequest
from app.refunds.queries import chains_named_by, paid_ids_of
from app.transfers.codec import decode_event
from app.transfers.events import RefundPrepared, TransferEvent, ValidatorsUpdated
from app.transfers.models import Event
from app.transfers.queries.logged import IS_REORG
from app.transfers.reorganisations import Logged, Reorg, Retraction
from app.transfers.status_changes import Position
from app.transfers.status_history import KeyedReorg, Past, UserRequest
from app.transfers.subjects import EventKey, subject_of_transfer
from app.values.identifiers import BlockNumber, ChainId, TransferId

MOST_ENTRIES: Final = 300
"""Entries of a transfer's log that are read whole. Of a longer one the signatures that are not needed are
left out: nobody but a validator who signs a request again and again makes it longer."""

MOST_ONE_BY_ONE: Final = 20
"""Transfers for each of which reorgs are looked up by a statement of its own, which finds no others'."""

_COLUMNS: Final = (
    Event.seq, Event.event_id, Event.subject, Event.type, Event.body, Event.received_at, Event.limited_to
)  # fmt: skip


def load_pasts(
    connection: Connection, transfer_ids: Collection[TransferId], most: int | None = None
) -> list[Past] | None:
    """The whole past of each transfer; without any log for one that is not known, or not any more.

    :param most: entries of all of them together; None for any number. None is returned where there are more.
    """
    wanted = sorted(transfer_ids)
    logs = _logs(connection, wanted, most)
    if logs is None:
        return None
    others = _Others(connection, [log for log, _ in logs.values()], most)
    asks = _asks(connection, logs)
    paid = paid_ids_of(connection, {transfer_id: log for transfer_id, (log, _) in logs.items()})
    pasts = []
    for transfer_id in wanted:
        past = Past(transfer_id, ())
        if transfer_id in logs:
            log, learned = logs[transfer_id]
            ask = asks.get(transfer_id)
            if ask is not None and ask.position is not None:
                learned[ask.position] = ask.at
            past = Past(transfer_id, log, ask=ask, paid_ids=paid.get(transfer_id, {}), learned=learned)
            past = others.added_to(past)
        pasts.append(past)
        if others.too_many:
            return None
    return _with_retractions(connection, pasts)


def _with_retractions(connection: Connection, pasts: Sequence[Past]) -> list[Past]:
    """The pasts with what operators retracted of them, and of what reorganised or rotated them."""
    known = [past for past in pasts if past.log]
    subjects = {subject_of_transfer(past.transfer_id) for past in known}
    keys = {each.key for past in known for each in past.reorgs}
    keys |= {each.event.key for past in known for each in past.rotations}
    retractions = retractions_naming(connection, sorted(keys), sorted(subjects)) if known else []
    if not retractions:
        return list(pasts)
    learned = _learned(connection, retractions)
    named = {key.subject for each in retractions for key in each.targets}
    return [
        replace(past, retractions=retractions, learned={**past.learned, **learned})
        if not named.isdisjoint(_subjects_of(past))
        else past
        for past in pasts
    ]


def _subjects_of(past: Past) -> set[str]:
    """What retractions name that reach a transfer's past."""
    others = (*(each.key for each in past.reorgs), *(each.event.key for each in past.rotations))
    return {subject_of_transfer(past.transfer_id), *(key.subject for key in others)}


class _Others:
    """What entries about no transfer did to transfers: reorgs, retractions, rotations of validators."""

    def __init__(
        self, connection: Connection, logs: Sequence[Sequence[Logged[Any]]], most: int | None
    ) -> None:
        """
        :param logs: of the transfers.
        :param most: entries of all the transfers' pasts together; None for any number.
        """
        self._connection = connection
        self._most = most
        self._read = sum(map(len, logs))
        self._rotations: dict[frozenset[int], list[tuple[Row[*tuple[Any, ...]], Any]]] = {}
        self._reorgs: Sequence[Row[*tuple[Any, ...]]] | None = None
        if len(logs) > MOST_ONE_BY_ONE:
            logged = [each for log in logs for each in log]
            chains = chains_named_by(each.event for each in logged)
            limit = None if most is None else most + 1
            self._reorgs = _reorgs(connection, chains, logged, limit)
            self._read += len(self._reorgs)

    @property
    def too_many(self) -> bool:
        """Whether there is more than was to be read."""
        return self._most is not None and self._read > self._most

    def added_to(self, past: Past) -> Past:
        """The past of a transfer's own entries, with what others did to it."""
        log, learned = past.log, dict(past.learned)
        reorgs: list[KeyedReorg] = []
        rotations: list[Logged[ValidatorsUpdated]] = []
        if chains := chains_named_by(each.event for each in log):
            if any(isinstance(each.event, RefundPrepared) for each in log):
                rows = self._rotations_of(frozenset(chains))
                rotations = [Logged(row.seq, event) for row, event in rows]
                learned |= {Position(row.seq): row.received_at for row, _ in rows}
            reorg_rows = self._reaching(chains, [*log, *rotations])
            reorgs = [_keyed(row) for row in reorg_rows]
            learned |= {Position(row.seq): row.received_at for row in reorg_rows}
        self._read += len(reorgs) + len(rotations)
        return replace(past, reorgs=reorgs, rotations=rotations, learned=learned)

    def _rotations_of(self, chains: frozenset[int]) -> list[tuple[Row[*tuple[Any, ...]], Any]]:
        if chains not in self._rotations:
            rows = self._connection.execute(
                select(*_COLUMNS)
                .where(Event.chain_id.in_(chains), Event.type == ValidatorsUpdated.type)
                .order_by(Event.seq)
            )
            self._rotations[chains] = [(row, _event(row)) for row in rows.all()]
        return self._rotations[chains]

    def _reaching(
        self, chains: Collection[int], logged: Sequence[Logged[Any]]
    ) -> Sequence[Row[*tuple[Any, ...]]]:
        # A rotation may be older than all that was read at once.
        if self._reorgs is None or any(isinstance(each.event, ValidatorsUpdated) for each in logged):
            return _reorgs(self._connection, chains, logged)
        if (reach := _reach(logged)) is None:
            return ()
        first, highest = reach
        later = self._reorgs[bisect_right(self._reorgs, first, key=lambda row: row.seq) :]
        return [row for row in later if row.block <= highest and row.chain_id in chains]


def _reach(logged: Iterable[Logged[Any]]) -> tuple[int, int] | None:
    """Reorgs from after which entry on, and up to which block, may reach one of these; None: none may."""
    placed = [(each.seq, each.event.block) for each in logged if hasattr(each.event, "block")]
    blocks = [block for _, block in placed if block is not None]
    return (min(seq for seq, _ in placed), max(blocks)) if blocks else None


def _reorgs(
    connection: Connection, chains: Collection[int], logged: Iterable[Logged[Any]], limit: int | None = None
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Those that may reach one of these entries, whether or not they stand."""
    if (reach := _reach(logged)) is None:
        return ()
    first, highest = reach
    return connection.execute(
        select(Event.seq, Event.event_id, Event.subject, Event.chain_id, Event.block, Event.received_at)
        .where(IS_REORG, Event.chain_id.in_(chains), Event.block <= highest, Event.seq > first)
        .order_by(Event.seq)
        .limit(limit)
    ).all()


def _keyed(row: Row[*tuple[Any, ...]]) -> KeyedReorg:
    reorg = Reorg(row.seq, ChainId(row.chain_id), BlockNumber(row.block))
    return KeyedReorg(EventKey(row.subject, row.event_id), reorg)


def _event(row: Row[*tuple[Any, ...]]) -> Any:
    return decode_event(row.event_id, row.type, row.body)


_Log = tuple[list[Logged[TransferEvent]], dict[Position, datetime]]
"""The acceptances of a transfer, and when the gateway learned of each."""


def _logs(
    connection: Connection, transfer_ids: Collection[TransferId], most: int | None
) -> dict[TransferId, _Log] | None:
    """The logs of those of the transfers that have one; None where they are longer than ``most`` together."""
    of_these = is_one_of(connection, Event.transfer_id, transfer_ids)
    counted = (
        select(Event.transfer_id, func.count().label("length")).where(of_these).group_by(Event.transfer_id)
    )
    lengths = {row.transfer_id: row.length for row in connection.execute(counted)}
    long = [transfer_id for transfer_id, length in lengths.items() if length > MOST_ENTRIES]
    short = [transfer_id for transfer_id, length in lengths.items() if length <= MOST_ENTRIES]
    query = select(Event.transfer_id, *_COLUMNS).order_by(Event.seq)
    rows: list[Row[*tuple[Any, ...]]] = []
    for ids, is_long in ((short, False), (long, True)):
        of_ids = query.where(is_one_of(connection, Event.transfer_id, ids))
        if is_long:
            of_ids = of_ids.outerjoin(SignatureNotNeeded, SignatureNotNeeded.seq == Event.seq)
            of_ids = of_ids.where(SignatureNotNeeded.seq.is_(None))
        if most is not None:
            of_ids = of_ids.limit(most + 1)
        rows += connection.execute(of_ids).all() if ids else ()
        if most is not None and len(rows) > most:
            return None
    logs: dict[TransferId, _Log] = defaultdict(lambda: ([], {}))
    for row in in_turns(rows):
        log, learned = logs[row.transfer_id]
        log.append(Logged(row.seq, _event(row), row.limited_to))
        learned[Position(row.seq)] = row.received_at
    return logs


def _learned(connection: Connection, retractions: Iterable[Retraction]) -> dict[Position, datetime]:
    wanted = [each.seq for each in retractions]
    rows = connection.execute(
        select(Event.seq, Event.received_at).where(is_one_of(connection, Event.seq, wanted))
    )
    return {Position(row.seq): row.received_at for row in rows}


def _asks(connection: Connection, transfer_ids: Collection[TransferId]) -> dict[TransferId, UserRequest]:
    rows = connection.execute(
        select(
            UserRefundRequest.transfer_id,
            UserRefundRequest.seq,
            UserRefundRequest.at,
            UserRefundRequest.log_seq,
        ).where(is_one_of(connection, UserRefundRequest.transfer_id, transfer_ids))
    )
    return {
        row.transfer_id: UserRequest(row.at, None if row.log_seq is None else Position(row.log_seq, row.seq))
        for row in rows
    }
