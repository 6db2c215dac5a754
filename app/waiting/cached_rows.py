"""Rows of transfers in the memory of one process, for as long as the journal has no change of them.

What this promises, and why it holds, is in docs/decisions/0031-cached-facts.md.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from msgspec import Struct
from sqlalchemy import Connection, Engine

from app.db.database import Database
from app.db.engine import at_end
from app.transfers.queries.status import TransferRow
from app.transfers.services.status import taken_in_at
from app.values.identifiers import TransferId
from app.waiting.queries import Changed, Heads, PlacedRow, placed_rows

MAX_AGE_SECONDS: Final = 0.2
"""Rows are used for so long after the newest look at the journal began. Later ones are read."""

ROW_SECONDS: Final = 60.0
"""A row is read again when it is so old, so that no mistake is for good."""

LONGEST_GAP_SECONDS: Final = 1.0
"""Of two looks at the journal that are further apart, the second starts anew: the database may be another."""

ENOUGH: Final = 16
"""Requests in a second that make it worth while to look at the journal: that takes as many reads."""

IDLE_SECONDS: Final = 30.0
"""The journal is followed for so long after there were so many requests."""

MOST: Final = 16_384
"""The memory for rows, in kibibytes. A row without evidence counts as one."""

_STRING_BYTES: Final = 56
"""Of each string, in addition to its characters."""


def _nothing() -> None:
    pass


class _Look(Struct, frozen=True):
    """What the newest look saw, and when it began: seconds of the monotonic clock."""

    begun: float
    engine: Engine
    heads: Heads


class _Cached(NamedTuple):
    """A row, and when its read began: seconds of the monotonic clock."""

    row: TransferRow
    read_at: float


class CachedRows:
    """One for each process, shared by its threads or greenlets. ``Waiting`` looks at the journal for it."""

    def __init__(
        self,
        monotonic: Callable[[], float] = time.monotonic,
        is_one_server: Callable[[], bool] = lambda: True,
    ) -> None:
        """
        :param is_one_server: whether each URL of the database leads to one server only. Otherwise no rows are
            cached: the journal would be read from one, and rows from another.
        """
        self._monotonic = monotonic
        self._is_one_server = is_one_server
        self.follow: Callable[[], None] = _nothing
        """Makes somebody look at the journal, until :meth:`is_wanted` is over. Set by who looks."""
        self._lock = threading.Lock()
        self._rows: OrderedDict[TransferId, _Cached] = OrderedDict()
        self._reading: dict[TransferId, object] = {}
        """A token of the newest read of a transfer that is under way. It is gone where the row may be older
        than a change, or than another answer."""
        self._size = 0
        self._look: _Look | None = None
        self._counted_from = self._busy_at = float("-inf")
        self._asked = 0

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def size(self) -> int:
        """About how many kibibytes the rows take."""
        return self._size

    def row(self, database: Database, transfer_id: TransferId) -> tuple[TransferRow | None, datetime | None]:
        """See ``StatusRows.row``."""
        look = self._usable()
        if look is not None and (row := self._found(transfer_id, look)) is not None:
            return row, look.heads.taken_in_at
        rows, as_of = self._read(database, (transfer_id,), look)
        return rows.get(transfer_id), as_of

    def rows(
        self, database: Database, transfer_ids: Sequence[TransferId]
    ) -> tuple[Mapping[TransferId, TransferRow], datetime | None]:
        """See ``StatusRows.rows``."""
        look, found = self._usable(), dict[TransferId, TransferRow]()
        if look is not None:
            found = {each: row for each in transfer_ids if (row := self._found(each, look)) is not None}
            if len(found) == len(transfer_ids):
                return found, look.heads.taken_in_at
        rows, as_of = self._read(database, [each for each in transfer_ids if each not in found], look)
        return {**found, **rows}, as_of

    def drop(self, transfer_ids: Collection[TransferId] | None) -> None:
        """Forget these, as somebody got a newer answer of them; all rows where None."""
        with self._lock:
            if transfer_ids is None:
                self._start_anew()
            else:
                self._drop(transfer_ids)

    def drop_at_end(self, connection: Connection, transfer_ids: Collection[TransferId] | None) -> None:
        """Forget what a transaction of this process changes, before its caller says that it was committed.

        :param transfer_ids: what it writes into the journal; None where it changes others, too.
        """
        at_end(connection, lambda: self.drop(transfer_ids))

    def _usable(self) -> _Look | None:
        """The newest look, where the rows may be used."""
        if not self._is_one_server():
            return None
        now, look = self._monotonic(), self._look
        if now - self._counted_from > 1:
            self._counted_from, self._asked = now, 0
        self._asked += 1
        if self._asked >= ENOUGH:
            self._busy_at = now
            if look is None:
                self.follow()
        return None if look is None or now - look.begun > MAX_AGE_SECONDS else look

    def _found(self, transfer_id: TransferId, look: _Look) -> TransferRow | None:
        cached = self._rows.get(transfer_id)
        if cached is None or look.begun - cached.read_at > ROW_SECONDS:
            return None
        try:
            self._rows.move_to_end(transfer_id)
        except KeyError:  # it was dropped in this moment
            return None
        return cached.row

    def _read(
        self, database: Database, transfer_ids: Sequence[TransferId], usable: _Look | None
    ) -> tuple[Mapping[TransferId, TransferRow], datetime | None]:
        """Read rows, and store those that no change, and no other read, can have overtaken meanwhile.

        A row is stored only if its own statement found the journal as far as the newest look did. Behind a
        pooler nothing else says that its server is not behind that of the look.
        """
        token, begun = object(), self._monotonic()
        with self._lock:
            for each in transfer_ids:
                self._reading[each] = token
        rows: Mapping[TransferId, PlacedRow] = {}
        engine: Engine | None = None
        try:
            as_of = taken_in_at(database) if usable is None else usable.heads.taken_in_at
            rows, engine = database.public.run_read(_rows_and_engine, transfer_ids)
        finally:
            with self._lock:
                look = self._look
                stored = rows if look is not None and look.engine is engine else {}
                for each in transfer_ids:
                    is_only = self._reading.get(each) is token
                    # Whoever reads it now may have read an older row than this answer.
                    self._drop((each,))
                    placed = stored.get(each)
                    if is_only and look and placed and placed.changes >= look.heads.changes:
                        self._store(each, _Cached(placed.row, begun))
        return {each: placed.row for each, placed in rows.items()}, as_of

    def _store(self, transfer_id: TransferId, cached: _Cached) -> None:
        self._rows[transfer_id] = cached
        self._size += _size(cached.row)
        while self._size > MOST:
            _, oldest = self._rows.popitem(last=False)
            self._size -= _size(oldest.row)

    def _drop(self, transfer_ids: Collection[TransferId]) -> None:
        for each in transfer_ids:
            self._reading.pop(each, None)
            if (cached := self._rows.pop(each, None)) is not None:
                self._size -= _size(cached.row)

    def is_wanted(self) -> bool:
        """Whether there were enough requests a moment ago."""
        return self._monotonic() - self._busy_at <= IDLE_SECONDS

    def begin_look(self) -> float:
        """The time, to be taken before the journal is read."""
        return self._monotonic()

    def end_look(self, begun: float, engine: Engine, heads: Heads, changed: Changed | None) -> None:
        """Take what the look saw.

        :param begun: of :meth:`begin_look`.
        :param engine: where it was read.
        :param changed: since the look before; None where there was none.
        """
        with self._lock:
            before = self._look
            self._look = _Look(begun, engine, heads)
            if changed is not None:
                self._drop(changed.transfers)
            if (
                before is None
                or changed is None
                or changed.unnamed
                or before.engine is not engine
                or heads.changes < before.heads.changes
                or begun - before.begun > LONGEST_GAP_SECONDS
            ):
                self._start_anew()

    def end_following(self) -> None:
        """Use no rows, as nobody looks at the journal any more, or it cannot be read, or lacks changes."""
        with self._lock:
            self._look = None
            self._start_anew()

    def _start_anew(self) -> None:
        self._rows.clear()
        self._reading.clear()
        self._size = 0


def _rows_and_engine(
    connection: Connection, transfer_ids: Sequence[TransferId]
) -> tuple[Mapping[TransferId, PlacedRow], Engine]:
    """The rows, and where they were read: a read may go to the replica, and the next to the primary."""
    return placed_rows(connection, transfer_ids), connection.engine


def _size(row: TransferRow) -> int:
    """About how many kibibytes a row takes."""
    if row.wd_onchain is None:
        return 1
    texts = (*row.sorted_sigs, *row.signers, *row.powers)
    return 1 + (len(row.wd_onchain) + sum(_STRING_BYTES + len(text) for text in texts)) // 1024
