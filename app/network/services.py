"""Loads the configuration into memory, again when a version has changed, and answers getTransferConfigs."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Engine

from app.db.engine import reading, reading_consistently
from app.db.timeouts import Answers, Waiting, within
from app.network.configs import build_configs
from app.network.queries import (
    PartVersion,
    load_blocked_addresses,
    load_blocked_networks,
    load_opening_sets,
    load_rows,
    load_versions,
)
from app.network.rules.blocking import BlockedAddresses, BlockedNetworks
from app.network.rules.terms import build_terms, in_force
from app.network.rules.validation_facts import NetworkFacts, build_facts
from app.network.rules.watch_terms import build_watch_terms
from app.network.sections import SECTIONS, Part
from app.network.snapshot import ConfigIndex, NetworkSnapshot, SnapshotSource, TransferConfigs
from app.observability.outages import FAILURES
from app.values.codes import Reason
from app.values.errors import GatewayError, Unavailable
from app.values.identifiers import ChainId
from app.values.times import Clock, system_clock

MAX_STALE_SECONDS: Final = 60.0
"""How old a served view may be while it cannot be renewed. After that, requests are refused. In that time
another server takes over from a primary that is gone (docs/failover.md)."""

VERSIONS_SECONDS: Final = 1.0
"""How long the versions of a cached view are waited for. The rest of a request's time is for its answer."""

RETRY_SECONDS: Final = 1.0
"""The least time between the end of a failed renewal and the next, to spare a database in trouble."""

TIMEOUT_SECONDS: Final = 2.0
"""How long a request waits for a renewal by another thread before it goes on without."""

AHEAD_SECONDS: Final = 0.5
"""How long before a view is too old a thread begins to renew it; half of the allowed age, if that is less."""

IDLE_SECONDS: Final = 10.0
"""So long after the last request the thread goes on. The first one after that reads for itself."""

_OF_FACTS: Final = (Part.CORE, Part.VALIDATORS)
"""The parts by which events are validated."""

_CORE: Final = tuple(section for section in SECTIONS if section.part is Part.CORE)

_log = logging.getLogger(__name__)


def _of_core(rows: Mapping[str, Sequence[dict[str, Any]]]) -> dict[str, Any]:
    configs, facts = build_configs(rows), build_facts(rows)
    ends = (row["expires_at"] for row in rows["route_blocks"] if row["expires_at"] is not None)
    return {
        "terms": build_terms(rows),
        "configs": configs,
        "config_index": ConfigIndex(configs.answer),
        "facts": facts,
        "watch_terms": build_watch_terms(rows, facts),
        "next_end": min(ends, default=None),
    }


_NOTHING: Final = NetworkSnapshot(
    # No part ever has these versions, so that everything is loaded.
    versions={part.value: PartVersion(-1, datetime.min.replace(tzinfo=UTC)) for part in Part},
    blocked_addresses=BlockedAddresses(()),
    blocked_networks=BlockedNetworks(()),
    opening_sets={},
    **_of_core({section.name: [] for section in _CORE}),
)


class _CachedSnapshot(Struct, frozen=True):
    """A snapshot and when (monotonic seconds) it was last known to be the newest."""

    snapshot: NetworkSnapshot
    good_at: float


class NetworkSnapshots:
    """One for each process, shared by its threads.

    A thread renews the view before it is too old: else all requests would wait, again and again, for a
    database that does not answer. A request renews the view itself only where that thread has not run for a
    while, and waits for it only while the database answers.
    """

    def __init__(
        self,
        engine: Engine,
        max_age_seconds: float,
        monotonic: Callable[[], float] = time.monotonic,
        *,
        reads: Engine | None = None,
        clock: Clock = system_clock,
        in_background: bool = False,
        answers: Answers | None = None,
    ) -> None:
        """
        :param engine: loads what has changed, in one transaction.
        :param max_age_seconds: 0 lets each request read, and nothing is renewed in the background.
        :param clock: says which route blocks have ended.
        :param reads: reads the versions. It has its own connections: those of the console can all be held by
            sign-in attempts, and public answers would wait for them.
        :param in_background: whether a thread renews the view while it is used.
        :param answers: of the database that is read; without them a long renewal counts as silence.
        """
        self._engine = engine
        self._reads = reads or engine
        self._max_age = max_age_seconds
        self._monotonic = monotonic
        self._clock = clock
        self._ahead = min(AHEAD_SECONDS, max_age_seconds / 2) if in_background else 0.0
        self._answers = answers or Answers()
        self._lock = threading.Lock()
        self._cached: _CachedSnapshot | None = None
        self._begun_at: float | None = None
        """When the renewal under way began; None while there is none."""
        self._failed_at: float | None = None
        """When the last renewal ended, if it failed."""
        self._starting = threading.Lock()
        self._renewed_in: int | None = None
        """The process in which the thread runs."""
        self._used_at = 0.0

    @property
    def good_at(self) -> float | None:
        cached = self._cached
        return None if cached is None else cached.good_at

    def current(self) -> NetworkSnapshot:
        """The configuration as it was at most ``max_age_seconds`` ago.

        While the database does not answer it is the last known one, at most ``MAX_STALE_SECONDS`` old.

        :raises Unavailable: there is none, or it is older than that.
        """
        if self._ahead:
            self._used_at = self._monotonic()
            if self._renewed_in != os.getpid():
                self._start()
        return self._within(self._max_age)

    def newest(self) -> NetworkSnapshot:
        return self._within(0)

    def facts_of(self, versions: Mapping[str, PartVersion]) -> NetworkFacts | None:
        held = self._cached.snapshot if self._cached else _NOTHING
        if Part.CORE not in versions or any(held.versions.get(p) != versions.get(p) for p in _OF_FACTS):
            return None
        return replace(held.facts, validators=held.opening_sets)

    def renew(self) -> None:
        self._renewed(self._monotonic(), 0)

    def _within(self, max_age: float) -> NetworkSnapshot:
        now = self._monotonic()
        cached = self._cached
        if not _is_at_most(max_age, cached, now) and not (cached and max_age and self._is_silent(now)):
            cached = self._renewed(now, max_age)
        if cached is None or not _is_at_most(MAX_STALE_SECONDS, cached, now):
            raise Unavailable("the gateway cannot read its configuration: try again in a few seconds")
        return cached.snapshot

    def _is_silent(self, now: float) -> bool:
        """As the thread has found."""
        if not self._ahead:
            return False
        begun_at, failed_at, seconds = self._begun_at, self._failed_at, self._ahead / 2
        if begun_at is not None and now - begun_at >= seconds and not self._answers.came_within(seconds):
            return True
        # The next renewal is under way for long enough before this is over, also where it begins late.
        return failed_at is not None and now - failed_at < RETRY_SECONDS + VERSIONS_SECONDS

    def _start(self) -> None:
        """Once for each process, as threads do not survive a fork."""
        with self._starting:
            if self._renewed_in == os.getpid():
                return
            if self._renewed_in is not None:
                self._lock, self._begun_at = threading.Lock(), None  # the parent's thread may have held it
            self._renewed_in = os.getpid()
            threading.Thread(target=self._renew_while_used, name="network", daemon=True).start()

    def _renew_while_used(self) -> None:
        while self._monotonic() - self._used_at < IDLE_SECONDS:
            self._renewed(self._monotonic(), 0)
            time.sleep(max(self._ahead / 2, self._due_at() - self._monotonic()))
        self._renewed_in = None

    def _due_at(self) -> float:
        if self._failed_at is not None:
            return self._failed_at + RETRY_SECONDS
        return (self.good_at or 0.0) + self._max_age - self._ahead

    def _renewed(self, now: float, max_age: float) -> _CachedSnapshot | None:
        """The cached configuration after an attempt to renew it."""
        lock = self._lock
        with Waiting(TIMEOUT_SECONDS) as seconds:
            if not lock.acquire(timeout=seconds or 0):
                return self._cached
        try:
            # Another thread may have renewed it, or failed to, while this one waited.
            fresh = _is_at_most(max_age, self._cached, now)
            failing = self._failed_at is not None and self._monotonic() - self._failed_at < RETRY_SECONDS
            if not fresh and not failing:
                self._renew()
        finally:
            lock.release()
        return self._cached

    def _renew(self) -> None:
        begun_at = self._begun_at = self._monotonic()
        before = self._cached.snapshot if self._cached else _NOTHING
        try:
            self._cached = _CachedSnapshot(
                load_snapshot(self._engine, self._clock(), before, self._reads), begun_at
            )
            self._failed_at = None
        except Exception as error:
            # Whatever the error, the old view is served for a while. The error is logged.
            self._failed_at = self._monotonic()
            text = "the network configuration could not be read"
            FAILURES.report(_log, logging.ERROR, text, error=error)
        finally:
            self._begun_at = None


def _is_at_most(seconds: float, cached: _CachedSnapshot | None, now: float) -> bool:
    return cached is not None and now - cached.good_at <= seconds


def load_snapshot(
    engine: Engine, now: datetime, before: NetworkSnapshot = _NOTHING, reads: Engine | None = None
) -> NetworkSnapshot:
    """The newest configuration; the parts that have not changed since ``before`` are the same objects.

    When a route block ends, nothing is written: the core is built again without it. It is also built again
    when the clock is behind the time of that: it was ahead then, and the block has not ended yet.
    """
    ended = before.next_end is not None and before.next_end <= now
    other_time = ended or now < before.core_at
    seconds = nullcontext() if before is _NOTHING else within(VERSIONS_SECONDS)
    with seconds, reading(reads or engine) as connection:
        if load_versions(connection) == before.versions and not other_time:
            return before
    with reading_consistently(engine) as connection:
        versions = load_versions(connection)

        def same(part: Part) -> bool:
            return before.versions.get(part) == versions.get(part)

        changed: dict[str, Any] = {"versions": versions}
        if other_time or not same(Part.CORE):
            rows = {section.name: load_rows(connection, section.model) for section in _CORE}
            changed |= {**_of_core(in_force(rows, now)), "core_at": now}
        if not same(Part.BLOCKED_ADDRESSES):
            changed["blocked_addresses"] = BlockedAddresses(load_blocked_addresses(connection))
        if not same(Part.BLOCKED_NETWORKS):
            changed["blocked_networks"] = BlockedNetworks(load_blocked_networks(connection))
        if not same(Part.VALIDATORS):
            changed["opening_sets"] = load_opening_sets(connection)
        return replace(before, **changed)


def transfer_configs(snapshots: SnapshotSource) -> TransferConfigs:
    """The answer of getTransferConfigs and getTransferConfigsForAll, made when the network last changed.

    :raises Unavailable: the configuration is too old to be trusted.
    """
    return snapshots.current().configs


def token_info(snapshots: SnapshotSource, chain_id: int, symbol: str) -> Mapping[str, Any]:
    """The entry of a chain's token in the transfer configs.

    :raises GatewayError: the chain or its token is not known.
    :raises Unavailable: the configuration is too old to be trusted.
    """
    snapshot = snapshots.current()
    chain = snapshot.terms.chain_infos.get(ChainId(chain_id))
    if chain is None:
        msg = f"Chain {chain_id} is unknown: choose one of the chains in /v2/getTransferConfigs"
        raise GatewayError(msg, reason=Reason.CHAIN_UNKNOWN)
    listed: list[dict[str, Any]] = snapshot.configs.answer["chain_token"][str(chain_id)]["token"]
    by_symbol = {each["token"]["symbol"]: each for each in listed}
    if symbol in by_symbol:
        return by_symbol[symbol]
    meant = next((known for known in by_symbol if known.casefold() == symbol.casefold()), None)
    hint = (
        "choose one of its tokens in /v2/getTransferConfigs"
        if meant is None
        else f"letter case matters, send token_symbol={meant}"
    )
    msg = f"This token is not on {chain.name}: {hint}"
    raise GatewayError(msg, reason=Reason.TOKEN_NOT_ON_SRC)
