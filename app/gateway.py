"""The dependencies of the use cases, put together by the composition root."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from flask import current_app
from sqlalchemy import Engine

from app.accounts.proposal import NOBODY_WAITS, TwoPersons
from app.audit.keys import AuditKeys
from app.credentials.ingest_token import IngestToken
from app.credentials.key_uses import KeyUses
from app.db.cached_reads import KeptReads
from app.db.replica import PublicReads
from app.db.timeouts import COMMAND, set_timeouts
from app.estimates.counts import EstimateCounts
from app.http.limit_counts import LimitStore
from app.http.limits import AskLimit, RequestLimits
from app.network.snapshot import SnapshotSource
from app.observability.counters import NOTHING_COUNTED, Counters
from app.observability.verdicts import ClockSkew, FeedAges, Readiness
from app.release import Release
from app.waiting.register import Waiting
from app.webhooks.addresses import Network

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """The time now, aware, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Gateway:
    """The dependencies of the use cases; one per application."""

    engine: Engine
    reads: Engine
    """For single-statement reads of the newest facts; see ``app.db.engine.ask``."""
    feed: Engine
    """For batches of events: its few connections are all that uploads can keep waiting."""
    public_reads: PublicReads
    """For public answers, which a replica may give."""
    kept_reads: KeptReads
    """For public answers that may be a moment old."""
    kept_longer: KeptReads
    """For hints in public answers, which may be minutes old, and which own writes do not end."""
    clock: Clock
    max_reorg_blocks: int
    snapshots: SnapshotSource
    waiting: Waiting
    """Those who wait for transfers to change."""
    audit_keys: AuditKeys
    estimate_counts: EstimateCounts
    key_uses: KeyUses
    limit_store: LimitStore
    ask_limit: AskLimit
    clock_skew: ClockSkew
    """Whether the database has the time of this machine."""
    feed_ages: FeedAges
    request_limits: RequestLimits
    readiness: Readiness
    """Whether it can serve."""
    release: Release
    """What runs here."""
    environment_tokens: tuple[IngestToken, ...] = ()
    """Reporters' tokens from the settings; the others are in the database."""
    two_persons: TwoPersons = NOBODY_WAITS
    """Which changes wait for a second operator."""
    webhook_networks: tuple[Network, ...] = ()
    """Where webhooks may go beside the public Internet."""
    counters: Counters = NOTHING_COUNTED
    """Count what happens, for those who watch over the gateway."""

    def work_as_command(self) -> None:
        """Give this process's work on the database the time that commands may take.

        To be called before the first connection is opened.
        """
        for engine in (self.engine, self.reads, self.feed):
            set_timeouts(engine, COMMAND)


def current_gateway() -> Gateway:
    """The gateway of the application that is serving."""
    gateway = current_app.extensions["gateway"]
    assert isinstance(gateway, Gateway)  # noqa: S101  narrows the type of an untyped registry
    return gateway
