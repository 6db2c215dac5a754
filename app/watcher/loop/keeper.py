"""Keeps the leases of one process: a slow node must not cost a lease, a stuck thread must."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Lock
from typing import Final

from app.outages import FAILURES
from app.runtime.gateway import Gateway
from app.services.watching.lease import Lease, LeaseLost, keep

LEASE_SECONDS: Final = 8.0
"""A standby looks every second: it takes over within ten."""

KEEP_SECONDS: Final = 2.5
STUCK_SECONDS: Final = 300.0
"""Without a sign of life a chain's thread is given up, and a standby may have its lease."""

_log = logging.getLogger(__name__)


class Keeper:
    """The leases that are held, and when their threads were last seen at work.

    :param monotonic: seconds that only grow.
    """

    def __init__(self, gateway: Gateway, monotonic: Callable[[], float]) -> None:
        self._gateway = gateway
        self._monotonic = monotonic
        self._seen: dict[Lease, float] = {}
        self._lock = Lock()

    def hold(self, lease: Lease) -> None:
        """Keep a lease from now on."""
        with self._lock:
            self._seen[lease] = self._monotonic()

    def alive(self, lease: Lease) -> None:
        """The thread that reads under a lease is at work."""
        with self._lock:
            if lease in self._seen:
                self._seen[lease] = self._monotonic()

    def drop(self, lease: Lease) -> None:
        """Keep a lease no longer."""
        with self._lock:
            self._seen.pop(lease, None)

    def run(self, stop: Event) -> None:
        """Keep the leases until the process ends; the body of a thread."""
        while not stop.wait(KEEP_SECONDS):
            self.keep_all()

    def keep_all(self) -> None:
        """Renew every lease whose thread was at work lately."""
        with self._lock:
            held = dict(self._seen)
        for lease, seen in held.items():
            if self._monotonic() - seen > STUCK_SECONDS:
                _log.error("chain %d: the reader does not respond, the lease is released", lease.chain_id)
                self.drop(lease)
                continue
            try:
                keep(self._gateway, lease, LEASE_SECONDS)
            except LeaseLost:
                self.drop(lease)
            except Exception as error:  # the database is away: the lease may be lost, which the epoch tells
                FAILURES.report(
                    _log, logging.WARNING, "chain %d: the lease cannot be renewed", lease.chain_id,
                    error=error, traced=False,
                )  # fmt: skip
