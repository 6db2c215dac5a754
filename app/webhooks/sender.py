"""Takes due deliveries, sends them, and stores their outcomes, until it is stopped.

A receiver that hangs occupies its attempts until they time out. So a place (``host:port``) gets few attempts
until it has answered, and all places that have not answered get at most half of them. The rest is free for
the others.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Final

from app.audit.keys import AuditKeys
from app.db.database import Database
from app.db.writes import is_unavailable
from app.network.snapshot import SnapshotSource
from app.observability.outages import FAILURES
from app.webhooks.post import Poster, Unsent
from app.webhooks.rules.subscription import headers
from app.webhooks.services.delivering import Due, Outcome, bring_back, clean_up, take
from app.webhooks.services.outbox import Alerts

ALL: Final = 400
"""Attempts at one time. Each needs a file descriptor, and the usual limit of a process is 1024."""

OF_UNPROVEN: Final = ALL // 2
AT_PROVEN: Final = 16
AT_UNPROVEN: Final = 2

REMEMBERED: Final = 10_000
"""Places that have answered; the least recently used is dropped."""


class Places:
    """Counts the attempts under way. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._under_way: Counter[str] = Counter()
        self._counted_as_unproven: Counter[str] = Counter()
        self._proven: OrderedDict[str, None] = OrderedDict()

    def free(self, place: str) -> int:
        """How many more attempts may go there now."""
        with self._lock:
            in_all = ALL - self._under_way.total()
            if place in self._proven:
                return max(0, min(AT_PROVEN - self._under_way[place], in_all))
            of_unproven = OF_UNPROVEN - self._counted_as_unproven.total()
            return max(0, min(AT_UNPROVEN - self._under_way[place], in_all, of_unproven))

    def fill(self, place: str, number: int) -> None:
        """Note that so many begin."""
        if number == 0:
            return
        with self._lock:
            self._under_way[place] += number
            if place not in self._proven:
                self._counted_as_unproven[place] += number

    def leave(self, place: str, *, answered: bool) -> None:
        """Note that an attempt has ended, and whether the receiver answered in good time."""
        with self._lock:
            _lower(self._under_way, place)
            _lower(self._counted_as_unproven, place)
            if answered:
                self._proven[place] = None
                self._proven.move_to_end(place)
                if len(self._proven) > REMEMBERED:
                    self._proven.popitem(last=False)
            else:
                self._proven.pop(place, None)


def _lower(counter: Counter[str], place: str) -> None:
    if counter[place] > 1:
        counter[place] -= 1
    else:
        del counter[place]


POLL_SECONDS: Final = 0.2
"""How soon a new delivery is noticed."""

OUTAGE_SECONDS: Final = 2.0
"""How long to wait where the database does not answer."""

GATHER_SECONDS: Final = 0.02
"""How long to wait after an attempt has ended, so that others that end now are stored together."""

CHORE_SECONDS: Final = 30.0

STUCK_SECONDS: Final = 600.0
"""A chore that takes longer hangs."""

GOOD_SECONDS: Final = 5.0
"""A receiver that answers later counts as one that hangs when attempts are given out."""

_log = logging.getLogger("app.sender")


class Sender:
    """Sends in one process.

    :param monotonic: seconds that never go back.
    """

    def __init__(
        self,
        database: Database,
        snapshots: SnapshotSource,
        audit_keys: AuditKeys,
        poster: Poster,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._snapshots = snapshots
        self._audit_keys = audit_keys
        self._poster = poster
        self._monotonic = monotonic
        self._places = Places()
        self._alerts = Alerts()
        self._under_way: set[asyncio.Task[None]] = set()
        self._ended: list[Outcome] = []
        self._news = asyncio.Event()
        self._stopping = False
        self._chore_began = monotonic()
        self.sent = 0
        """Attempts with an outcome so far."""

    def stop(self) -> None:
        """Take nothing more, and end when the attempts under way have ended."""
        self._stopping = True
        self._news.set()

    async def run(self, beat: Callable[[], None] = lambda: None) -> None:
        """Send until :meth:`stop`, then wait for the attempts under way.

        :param beat: called again and again while nothing hangs.
        """
        chores = asyncio.create_task(self._chores())
        while not self._stopping:
            await self._round()
            if self._monotonic() - self._chore_began <= STUCK_SECONDS:
                beat()
            await self._pause(POLL_SECONDS)
        chores.cancel()
        await self._finish()

    async def run_once(self) -> None:
        """Send what is due now, and end when all of it is sent, or after :meth:`stop`."""
        while not self._stopping:
            taken = await self._round()
            if not taken and not self._under_way and not self._ended:
                return
            await self._pause(POLL_SECONDS)
        await self._finish()

    async def _round(self) -> int:
        """Take due deliveries once; returns how many."""
        self._news.clear()
        try:
            await self._bring_back()
            taken = await asyncio.to_thread(take, self._database, self._audit_keys, self._places)
            for due in taken:
                task = asyncio.create_task(self._attempt(due))
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)
        except Exception as error:
            if not is_unavailable(error):
                raise
            FAILURES.report(_log, logging.WARNING, "the database does not answer: trying again", error=error)
            await asyncio.sleep(OUTAGE_SECONDS)
            return 0
        return len(taken)

    async def _attempt(self, due: Due) -> None:
        begun, at = self._monotonic(), self._database.clock()
        status, error, retry_after, hung = None, due.fault, None, False
        if not error:
            try:
                signed = headers(due.message_id, int(at.timestamp()), due.body, due.secrets)
                answer = await self._poster.post(due.url, due.body, signed, at)
                status, retry_after = answer.status, answer.retry_after
                error = "" if 200 <= status < 300 else f"HTTP {status}"
            except Unsent as unsent:
                error, hung = str(unsent), unsent.hung
            except Exception as fault:
                # A library may raise anything because of a receiver; its place has to be freed.
                error, kind = "the sender failed: its log says more", type(fault).__name__
                text = "an attempt for the webhook %d failed: %s"  # its message may contain the URL
                FAILURES.report(
                    _log, logging.ERROR, text, due.subscription_id, kind, error=fault, traced=False
                )
        seconds = self._monotonic() - begun
        self._places.leave(due.place, answered=not hung and seconds < GOOD_SECONDS)
        self._ended.append(
            Outcome(due, self._database.clock(), round(seconds * 1000), status, error, retry_after)
        )
        self._news.set()

    async def _bring_back(self) -> None:
        """Store the outcomes so far. Where that fails they are stored later."""
        outcomes = list(self._ended)
        if outcomes:
            await asyncio.to_thread(bring_back, self._database, outcomes)
            del self._ended[: len(outcomes)]
            self.sent += len(outcomes)

    def _send_alerts(self) -> None:
        self._alerts.publish(self._database, self._snapshots, self._audit_keys)

    def _clean_up(self) -> None:
        clean_up(self._database)

    async def _chores(self) -> None:
        """Publish alerts and clean up. A failure here does not stop the sending."""
        while True:
            for chore in (self._send_alerts, self._clean_up):
                self._chore_began = self._monotonic()
                try:
                    await asyncio.to_thread(chore)
                except Exception as error:
                    level = logging.WARNING if is_unavailable(error) else logging.ERROR
                    FAILURES.report(_log, level, "%s failed", chore.__name__.lstrip("_"), error=error)
            await asyncio.sleep(CHORE_SECONDS)

    async def _pause(self, seconds: float) -> None:
        """Wait for ``seconds``, or until an attempt has ended and there may be room for another."""
        try:
            await asyncio.wait_for(self._news.wait(), seconds)
        except TimeoutError:
            return
        await asyncio.sleep(GATHER_SECONDS)

    async def _finish(self) -> None:
        if self._under_way:
            await asyncio.wait(set(self._under_way))
        try:
            await self._bring_back()
        except Exception as error:
            if not is_unavailable(error):
                raise
            text = "the outcomes of %d deliveries could not be stored: these are sent again"
            _log.warning(text, len(self._ended))
