"""Who holds which lock of a table for how long, and who waits for one: looked at every 50 ms."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import psycopg

EVERY_SECONDS: Final = 0.05

_TABLES: Final = """
    SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.relkind = 'r' AND c.relname <> 'alembic_version'
"""

_LOCKS: Final = """
    SELECT l.pid, c.relname, l.mode, l.granted, extract(epoch FROM clock_timestamp() - l.waitstart)::float
    FROM pg_locks l LEFT JOIN pg_class c ON c.oid = l.relation
    WHERE l.granted AND l.relation = ANY(%(tables)s) AND l.mode = ANY(%(modes)s)
        OR NOT l.granted AND l.locktype IN ('relation', 'transactionid', 'tuple')
"""

STOPPING: Final = ["ShareLock", "ShareRowExclusiveLock", "ExclusiveLock", "AccessExclusiveLock"]
"""Modes that stop those who write a table, or also those who read it."""


@dataclass
class Locks:
    """The longest of each, in seconds, as far as 50 ms can tell."""

    held: float = 0.0
    held_on: str = ""
    queued: float = 0.0
    _since: dict[tuple[int, str, str], float] = field(default_factory=dict)

    def look(self, connection: psycopg.Connection[tuple[object, ...]], tables: list[int]) -> None:
        """Take what is locked now into account."""
        now, there = time.monotonic(), dict[tuple[int, str, str], float]()
        rows = connection.execute(_LOCKS, {"tables": tables, "modes": STOPPING}).fetchall()
        for pid, table, mode, granted, waited in rows:
            if not granted:
                self.queued = max(self.queued, float(str(waited or 0)))
                continue
            key = (int(str(pid)), str(table), str(mode))
            there[key] = self._since.get(key, now)
            if now - there[key] + EVERY_SECONDS > self.held:
                self.held, self.held_on = now - there[key] + EVERY_SECONDS, f"{mode} on {table}"
        self._since = there


@contextmanager
def watching_locks(conninfo: str) -> Iterator[Locks]:
    """Look until the block ends, at the tables that are there now: nobody waits for those that are new."""
    locks, ended = Locks(), threading.Event()
    with psycopg.connect(conninfo, autocommit=True) as connection:
        tables = [oid for (oid,) in connection.execute(_TABLES)]

        def look() -> None:
            while not ended.wait(EVERY_SECONDS):
                locks.look(connection, tables)

        thread = threading.Thread(target=look)
        thread.start()
        try:
            yield locks
        finally:
            ended.set()
            thread.join()


@contextmanager
def writing_meanwhile(conninfo: str, ids: list[bytes]) -> Iterator[list[float]]:
    """Write a transfer ten times a second, as a feed does; yields how long each took, in seconds."""
    took, ended = list[float](), threading.Event()
    with psycopg.connect(conninfo, autocommit=True) as connection:

        def write() -> None:
            number = 0
            while not ended.wait(0.1):
                began = time.monotonic()
                connection.execute(
                    "UPDATE transfers SET status = status WHERE transfer_id = %s", [ids[number % len(ids)]]
                )
                took.append(time.monotonic() - began)
                number += 1

        thread = threading.Thread(target=write)
        thread.start()
        try:
            yield took
        finally:
            ended.set()
            thread.join()
