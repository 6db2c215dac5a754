"""Where public answers are read: from a replica that is fresh enough, else from the primary."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Concatenate, Final, ParamSpec, TypeVar

from msgspec import Struct
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.db.engine import reading, reading_consistently, run_read
from app.db.servers import OneServer
from app.db.timeouts import within
from app.db.writes import is_unavailable

# The flush position, not the insert position: a commit is flushed, and only flushed bytes reach replicas.
_FLUSHED: Final = text("SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn")
# A promoted replica still has its last position here, but is no longer in recovery.
_REPLAYED: Final = text("SELECT pg_last_wal_replay_lsn() - '0/0'::pg_lsn WHERE pg_is_in_recovery()")


def flushed_position(connection: Connection) -> int:
    """The byte of the log up to which the primary has flushed its commits."""
    return int(connection.scalar(_FLUSHED) or 0)


def replayed_position(connection: Connection) -> int | None:
    """The byte of the log up to which the replica has replayed it; None where it is no replica."""
    position = connection.scalar(_REPLAYED)
    return None if position is None else int(position)


CHECKS_IN_MAX_LAG: Final = 4
"""How many checks there are within the allowed lag ..."""

MAX_INTERVAL_SECONDS: Final = 1.0
"""... and the longest time between two checks, so that a recovered replica is soon used again."""

PRIMARY_SECONDS: Final = 3.0
"""How long a check waits for the primary. With the time until the check, less than the allowed lag."""

MAX_SILENCE_SECONDS: Final = 60.0
"""How long a replica is used that was fresh when the primary became silent: until another server has taken
over (docs/failover.md), with time to spare."""

FIRST_PENALTY_SECONDS: Final = 1.0
MAX_PENALTY_SECONDS: Final = 30.0
"""After a failed read the replica is not used for the first time. It is doubled, up to the second, each time
that a read fails again within the longest."""

_NEVER: Final = float("-inf")

_log = logging.getLogger(__name__)


class _Mark(Struct, frozen=True):
    """How far the primary's log had come (bytes) at a moment (monotonic seconds)."""

    position: int
    at: float


class Replica:
    """A streaming replica as one process sees it; shared by its threads.

    The lag is not measured by comparing clocks. A thread notes the position of the primary's log and the
    time. Once the replica has replayed that position, it shows all that the primary had at that time. So an
    idle primary causes no lag (with ``pg_last_xact_replay_timestamp`` it would), a replica that was cut off
    does not count as fresh (though it has replayed all it received), and no request waits for one that does
    not answer.
    """

    def __init__(
        self,
        engine: Engine,
        primary: Engine,
        max_lag_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
        server: OneServer | None = None,
    ) -> None:
        """
        :param engine: of the replica, made with ``READER_OPTIONS``.
        :param primary: for single-statement reads.
        :param server: which the engine's connections lead to, where its URL names several replicas.
        """
        self.engine = engine
        self._primary = primary
        self._max_lag = max_lag_seconds
        self._interval = min(MAX_INTERVAL_SECONDS, max_lag_seconds / CHECKS_IN_MAX_LAG)
        self._monotonic = monotonic
        self._server = server or OneServer()
        self._marks: deque[_Mark] = deque()
        self._shows_until = _NEVER
        """It shows all that the primary had at this moment."""
        self._trusted_from = _NEVER
        self._penalty = 0.0
        self._complaint: str | None = "it was not checked yet"
        self.lag_bytes: int | None = None
        """Bytes of the primary's log that it had not replayed at the last check; None where that is not
        known."""
        self._silent_since: float | None = None
        """When a check of the primary failed for the first time; None while the primary answers."""
        self._lock = threading.Lock()
        self._watched_in: int | None = None
        self._closed = threading.Event()

    def is_usable(self) -> bool:
        """Whether it can be used now. Reads only memory; the first call in a process returns False."""
        if self._watched_in != os.getpid():
            self._watch()
        now = self._monotonic()
        return self._is_fresh(now) and now >= self._trusted_from

    def _is_fresh(self, now: float) -> bool:
        """Whether it shows what the primary had seconds ago, or had when it became silent."""
        silent = self._silent_since
        if silent is not None and now - silent <= MAX_SILENCE_SECONDS:
            now = silent
        return now - self._shows_until <= self._max_lag

    def failed(self, error: Exception) -> None:
        """Do not use it for a while, as a read from it failed."""
        now = self._monotonic()
        with self._lock:
            if now < self._trusted_from:
                return  # another thread's read failed at the same time
            again = now - self._trusted_from < MAX_PENALTY_SECONDS
            self._penalty = min(2 * self._penalty, MAX_PENALTY_SECONDS) if again else FIRST_PENALTY_SECONDS
            self._trusted_from = now + self._penalty
        cause = _first_line(error)
        _log.warning("a read from the replica failed, it is not used for %g s: %s", self._penalty, cause)

    def check(self) -> None:
        """Measure how fresh it is. Its own thread calls this repeatedly."""
        self._mark_primary()
        self.lag_bytes = None
        try:
            with reading(self.engine) as connection:
                replayed = replayed_position(connection)
        except SQLAlchemyError as error:
            self._set_state(_NEVER, f"it does not respond ({_first_line(error)})")
            return
        if replayed is None:
            # While the primary is silent, one that was promoted takes its place, and is better than none.
            shows = _NEVER if self._silent_since is None else self._shows_until
            self._set_state(shows, "DATABASE_REPLICA_URL is not a replica, or was promoted")
            self._server.leave()
            return
        if self._marks and self._silent_since is None:
            self.lag_bytes = max(0, self._marks[-1].position - replayed)
        shows = self._shows_until
        while self._marks and self._marks[0].position <= replayed:
            shows = self._marks.popleft().at
        self._shows_until = shows
        late = not self._is_fresh(self._monotonic())
        self._set_state(shows, f"it lags by more than {self._max_lag:g} s" if late else None)
        if late and self._silent_since is None:
            self._server.leave()

    def close(self) -> None:
        """End its thread. Only tests have more than one application in a process."""
        self._closed.set()

    def _mark_primary(self) -> None:
        now = self._monotonic()
        while self._marks and now - self._marks[0].at > self._max_lag:
            self._marks.popleft()  # reaching it would not be enough any more
        try:
            with within(PRIMARY_SECONDS):
                self._marks.append(_Mark(run_read(self._primary, flushed_position), now))
        except SQLAlchemyError as error:
            if self._silent_since is None:
                _log.warning("the position of the primary cannot be read: %s", _first_line(error))
                self._silent_since = now
            # New connections find out whether another server has become the primary.
            self._primary.dispose()
        else:
            self._silent_since = None

    def _set_state(self, shows_until: float, complaint: str | None) -> None:
        self._shows_until = shows_until
        if complaint != self._complaint:
            if complaint is None:
                _log.info("the replica is up to date: public reads use it")
            else:
                _log.warning("the replica is not used: %s", complaint)
        self._complaint = complaint

    def _watch(self) -> None:
        """Start the thread that checks, once for each process, as threads do not survive a fork."""
        with self._lock:
            if self._watched_in == os.getpid():
                return
            self._watched_in = os.getpid()
            threading.Thread(target=self._check_for_ever, name="replica", daemon=True).start()

    def _check_for_ever(self) -> None:
        while True:
            try:
                self.check()
            except Exception:
                # The next check may succeed; without checks the replica would never be used again.
                _log.exception("the replica could not be checked")
            if self._closed.wait(self._interval):
                return


def _first_line(error: Exception) -> str:
    return str(getattr(error, "orig", None) or error).strip().partition("\n")[0]


P = ParamSpec("P")
T = TypeVar("T")


class PublicReads:
    """Reads of public answers. One that fails on the replica is repeated on the primary at once.

    Only for what may be some seconds old: not for the owner of a token, a reporter's cursor or the
    configuration (docs/decisions/0007-reads-from-a-replica.md).
    """

    def __init__(
        self,
        engine: Engine,
        reads: Engine,
        replica: Replica | None = None,
    ) -> None:
        """
        :param engine: the primary, for transactions of several statements.
        :param reads: the primary, for single-statement reads.
        """
        self._engine = engine
        self._reads = reads
        self.replica = replica

    def run_read(
        self, question: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The result of ``question(connection, …)``; see ``app.db.engine.run_read``."""
        replica = self.replica
        if replica is not None and replica.is_usable():
            try:
                with reading(replica.engine) as connection:
                    return question(connection, *args, **kwargs)
            except SQLAlchemyError as error:
                _note(replica, error)
        return run_read(self._reads, question, *args, **kwargs)

    def run_reads(
        self, question: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """As :meth:`run_read`, for several statements that must see the same snapshot of the database."""
        replica = self.replica
        if replica is not None and replica.is_usable():
            try:
                with reading_consistently(replica.engine) as connection:
                    return question(connection, *args, **kwargs)
            except SQLAlchemyError as error:
                _note(replica, error)
        with reading_consistently(self._engine) as connection:
            return question(connection, *args, **kwargs)


def _note(replica: Replica, error: SQLAlchemyError) -> None:
    """Stop using a replica that is in trouble. A fault of the query will show on the primary.

    That no connection was free may be because the request had no time left to wait for one.
    """
    if is_unavailable(error) and not isinstance(error, PoolTimeout):
        replica.failed(error)
