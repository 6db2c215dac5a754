"""The parts of each feature for as long as the application runs, made from the settings, and all tables."""

from __future__ import annotations

from functools import partial

from flask import Flask

import app.accounts.models
import app.audit.models
import app.credentials.models
import app.db.models
import app.estimates.models
import app.feed.models
import app.latency.models
import app.network.models
import app.refunds.models
import app.transfers.models
import app.watcher.models
import app.webhooks.models  # noqa: F401  each registers its tables
from app.accounts.proposal import TwoPersons
from app.audit.keys import Anchors, AuditKeys, place_of
from app.audit.services import HEAD_WRITTEN
from app.credentials.callers import KeyUses, RequestLimits
from app.credentials.ingest_token import EnvironmentTokens, environment_token
from app.db.database import Database
from app.estimates.services import EstimateCounts
from app.feed.projection.journal import JOURNAL_WRITTEN
from app.feed.projection.transfers import STATUSES_CHANGED
from app.feed.services.ingest import Intake
from app.feed.services.reprojection import follow_network_changes, follow_refund_request
from app.http.application import add_part
from app.http.limits import LimitStore, RefundRequestLimit
from app.monitoring.readiness import ClockSkew, FeedAges, Readiness, look
from app.network.changes import NETWORK_CHANGED
from app.network.queries import share_facts
from app.network.services import NetworkSnapshots
from app.network.snapshot import SnapshotSource
from app.observability.counters import Counters
from app.refunds.services import REQUEST_STORED
from app.release import Release
from app.transfers.services.status import StatusRows
from app.values.times import system_clock
from app.waiting.cached_rows import CachedRows
from app.waiting.register import Waiting
from app.webhooks.addresses import AllowedNetworks, parse_networks
from app.webhooks.services.outbox import publish_changes, publish_head
from config import MADE_AUDIT_KEY, Settings


def add_features(app: Flask, settings: Settings, database: Database, counters: Counters) -> None:
    """Add the parts of all features to the application."""
    snapshots = NetworkSnapshots(
        database.engine, settings.config_max_age_seconds, reads=database.reads, clock=database.clock
    )
    _share(database, snapshots)
    counted_every = settings.estimate_counts_seconds
    limit_store = LimitStore(settings.rate_limit_storage_url)
    anchors = Anchors([place_of(url) for url in settings.audit_anchors])
    add_part(app, Database, database)
    add_part(app, SnapshotSource, snapshots)
    add_part(app, AuditKeys, AuditKeys(settings.audit_key, settings.audit_keys_old, MADE_AUDIT_KEY, anchors))
    add_part(app, TwoPersons, TwoPersons(frozenset(settings.two_persons)))
    add_part(
        app,
        EnvironmentTokens,
        EnvironmentTokens(map(environment_token, dict.fromkeys(settings.ingest_tokens))),
    )
    add_part(app, KeyUses, KeyUses(database.engine, database.clock, counted_every))
    add_part(app, EstimateCounts, EstimateCounts(database.engine, database.clock, counted_every, counters))
    add_part(app, Intake, Intake(settings.max_reorg_blocks, counters))
    rows = CachedRows()
    for engine in (database.engine, database.feed):
        JOURNAL_WRITTEN.hand_in(engine, rows.drop_at_end)
    add_part(app, StatusRows, rows)
    add_part(app, Waiting, Waiting(database.public, settings.most_waiting, rows))
    add_part(app, AllowedNetworks, parse_networks(settings.webhook_allow_networks))
    add_part(app, LimitStore, limit_store)
    add_part(app, RequestLimits, RequestLimits(settings.rate_limit, limit_store))
    add_part(app, RefundRequestLimit, RefundRequestLimit(settings.refund_request_limit, limit_store))
    clock_skew = ClockSkew(database.reads, system_clock)
    feed_ages = FeedAges(database.reads, settings.feed_max_age_seconds, fails=settings.feed_stale == "fail")
    look_now = partial(look, database, snapshots, clock_skew, feed_ages)
    add_part(app, Readiness, Readiness(database.answers, look_now))
    add_part(app, Release, Release(commit=settings.build_commit or None))


def _share(database: Database, snapshots: NetworkSnapshots) -> None:
    """Give transactions the network in memory, and writers what features above them then do."""
    for engine in database.engines:
        share_facts(engine, snapshots)
    for engine in (database.engine, database.feed):
        HEAD_WRITTEN.hand_in(engine, publish_head)
        NETWORK_CHANGED.hand_in(engine, follow_network_changes)
        REQUEST_STORED.hand_in(engine, follow_refund_request)
        STATUSES_CHANGED.hand_in(engine, publish_changes)
