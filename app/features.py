"""What the application is made of: parts of features, interfaces that ``DOORS`` names, and commands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

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
from app import api, grpcweb
from app.accounts.rules.proposal import TwoPersons
from app.audit.keys import Anchors, AuditKeys, place_of
from app.audit.services import HEAD_WRITTEN
from app.credentials import callers
from app.credentials.callers import KeyUses, RequestLimits
from app.credentials.rules.ingest_token import EnvironmentTokens, environment_token
from app.db.database import Database
from app.estimates.planned import try_routes
from app.estimates.queries import pool_use, reported_fees
from app.estimates.services import EstimateCounts
from app.feed.projection.journal import JOURNAL_WRITTEN
from app.feed.projection.transfers import STATUSES_CHANGED
from app.feed.services.ingest import Intake
from app.feed.services.reprojection import follow_network_changes, follow_refund_request
from app.feed.views import register_ingest
from app.http.application import add_part
from app.http.limits import LimitStore, RefundRequestLimit
from app.http.public import PublicInterface
from app.latency.services import times_between
from app.monitoring.readiness import ClockSkew, FeedAges, Readiness, look
from app.network.changes import NETWORK_CHANGED
from app.network.edits.tried_routes import TRIAL_ESTIMATES
from app.network.handed_in import POOL_USE, REPORTED_FEES, TRANSFER_USE
from app.network.queries import share_facts
from app.network.services import NetworkSnapshots
from app.network.snapshot import SnapshotSource
from app.observability.counters import Counters
from app.refunds.services import REQUEST_STORED
from app.release import Release
from app.transfers.handed_in import CHAIN_DEPTHS, CHAIN_PROOFS, ROUTE_TIMES
from app.transfers.queries import usage
from app.transfers.services.status import StatusRows
from app.values.times import system_clock
from app.waiting.cached_rows import CachedRows
from app.waiting.register import Waiting
from app.watcher.queries import chain_depths, chain_proofs
from app.watcher.services.doubts import doubted_blocks
from app.webhooks.rules.addresses import AllowedNetworks, parse_networks
from app.webhooks.services.outbox import publish_changes, publish_head
from config import DOCS_SITE, MADE_AUDIT_KEY, Door, Settings


def add_features(app: Flask, settings: Settings, database: Database, counters: Counters) -> None:
    """Add the parts of all features to the application."""
    snapshots = NetworkSnapshots(
        database.engine,
        settings.config_max_age_seconds,
        reads=database.reads,
        clock=database.clock,
        in_background=True,
        answers=database.answers,
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
    add_part(app, Intake, Intake(settings.max_reorg_blocks, counters, in_doubt=doubted_blocks))
    rows = CachedRows(is_one_server=database.public.is_one_server)
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
    """Give transactions the network in memory, and what features above them then do, or know of a plan."""
    for engine in database.engines:
        share_facts(engine, snapshots)
    for engine in (database.engine, database.feed):
        HEAD_WRITTEN.hand_in(engine, publish_head)
        NETWORK_CHANGED.hand_in(engine, follow_network_changes)
        REQUEST_STORED.hand_in(engine, follow_refund_request)
        STATUSES_CHANGED.hand_in(engine, publish_changes)
    TRIAL_ESTIMATES.hand_in(database.engine, try_routes)
    for engine in database.engines:
        CHAIN_DEPTHS.hand_in(engine, chain_depths)
        CHAIN_PROOFS.hand_in(engine, chain_proofs)
        POOL_USE.hand_in(engine, pool_use)
        REPORTED_FEES.hand_in(engine, reported_fees)
        ROUTE_TIMES.hand_in(engine, times_between)
        TRANSFER_USE.hand_in(engine, lambda _connection: usage)


def open_interfaces(app: Flask, settings: Settings) -> None:
    """Serve the interfaces of the settings, and what every process serves."""
    # A doubled slash is never answered with a redirect, which would be HTML.
    app.url_map.merge_slashes = False
    add_part(app, PublicInterface, PublicInterface(settings.trusted_proxies, settings.compat_clients))
    api.register_always(app, trusted_proxies=settings.trusted_proxies)
    for interface in settings.doors:
        INTERFACES[interface](app, settings)
    if not set(PUBLIC).isdisjoint(settings.doors):
        callers.register(app, counts_everybody=bool(settings.rate_limit))


def _open_api(app: Flask, settings: Settings) -> None:
    # Importing what translates them takes 30 ms of the processor, which a process without pages saves.
    from app.transfer_page.views import open_pages  # noqa: PLC0415

    api.register_api(app, site=DOCS_SITE)
    if settings.sandbox_controls:
        api.register_sandbox(app)
    open_pages(
        app,
        trusted_proxies=settings.trusted_proxies,
        support_url=settings.support_url,
        refund_url=settings.refund_url,
        waits=settings.waiting_served,
    )


def _open_wait(app: Flask, _settings: Settings) -> None:
    api.register_wait(app)


def _open_grpcweb(app: Flask, _settings: Settings) -> None:
    grpcweb.open_interface(app)


def _open_console(app: Flask, settings: Settings) -> None:
    # Importing its packages takes half a second of the processor, which a process without a console saves.
    from app.console.pages import open_console  # noqa: PLC0415
    from app.transfer_page.languages import open_languages  # noqa: PLC0415

    open_languages(app)
    open_console(
        app,
        secret_key=settings.secret_key,
        secret_keys_old=settings.secret_keys_old,
        public_origin=settings.public_origin,
        public_url=settings.public_url,
        trusted_proxies=settings.trusted_proxies,
    )


def _open_ingest(app: Flask, _settings: Settings) -> None:
    register_ingest(app)


INTERFACES: Final[dict[Door, Callable[[Flask, Settings], None]]] = {
    "api": _open_api,
    "grpcweb": _open_grpcweb,
    "ingest": _open_ingest,
    "admin": _open_console,
    "wait": _open_wait,
}

PUBLIC: Final[tuple[Door, ...]] = ("api", "grpcweb")
"""The interfaces whose requests are limited, and where keys of integrators count."""
