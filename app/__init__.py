"""The composition root: settings in, a WSGI application out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flask import Flask
from sqlalchemy import Engine

import app.tables  # noqa: F401  tables register themselves
from app import api, grpcweb
from app.accounts.proposal import TwoPersons
from app.audit.anchors import Anchors, place_of
from app.audit.keys import AuditKeys
from app.cli import COMMANDS, CommandLine
from app.cooperation import collect_seldom
from app.credentials.ingest_token import environment_token
from app.credentials.key_uses import KeyUses
from app.db.base import db, migrate
from app.db.cached_reads import HINTS_MAX_AGE_SECONDS, KeptReads
from app.db.engine import READER_OPTIONS, pool_options, prepare
from app.db.postgresql import Answers
from app.db.replica import PublicReads, Replica
from app.db.timeouts import CONSOLE, FEED, PUBLIC, REPLICA
from app.db.writes import Writes, share_writes, writes_of
from app.estimates.counts import EstimateCounts
from app.feed.queries.facts import FactsCache, share_facts
from app.feed.views import register_ingest
from app.gateway import Clock, Gateway, system_clock
from app.http.hosts import GatewayFlask
from app.http.limit_counts import LimitStore
from app.http.limits import AskLimit, RequestLimits
from app.http.request_log import RequestLog
from app.http.requests import bound_requests
from app.network.services import NetworkSnapshots
from app.observability.counters import NOTHING_COUNTED, Counters
from app.observability.private import PRIVATE
from app.observability.request_metrics import count
from app.observability.verdicts import ClockSkew, FeedAges, Readiness
from app.release import Release
from app.transfer_page.views import open_pages
from app.waiting.register import Waiting
from app.webhooks.addresses import parse_networks
from config import DOCS_SITE, MADE_AUDIT_KEY, Door, Settings, load_settings

READ_CONNECTIONS = 8
"""To the primary, and as many to a replica, in each process (docs/scaling.md)."""

REPLICA_MAX_LAG_SECONDS = 5.0
"""A replica that lags by more is not used until it has caught up."""

WRITER_CONNECTIONS = 2
"""Kept open in each process for the feed, and as many for the console and what else writes, beside those for
reads. Writers take turns, so more would mostly idle, and a server of 100 connections must do for eight
processes."""

CONSOLE_OVERFLOW = 6
"""Opened beyond them while several pages are read at once."""


def create_app(settings: Settings | None = None, clock: Clock = system_clock) -> Flask:
    """The application with the doors that ``settings.doors`` names.

    :param settings: read from the environment when left out.
    :param clock: tells the time to every use case.
    """
    settings = settings or load_settings()
    collect_seldom()
    PRIVATE.keep(settings.secrets)
    app = GatewayFlask(__name__)
    if settings.access_log != "off":
        app.request_log = RequestLog(settings.access_log)
    app.config.update(
        SETTINGS=settings,
        SECRET_KEY=settings.secret_key or None,
        SECRET_KEY_FALLBACKS=list(settings.secret_keys_old),
        SQLALCHEMY_DATABASE_URI=settings.database_url,
        # Before a transaction of many lines one round trip to make sure of the connection is nothing, and
        # a restart of the database costs no upload.
        SQLALCHEMY_ENGINE_OPTIONS={
            **pool_options(WRITER_CONNECTIONS, CONSOLE_OVERFLOW),
            "pool_pre_ping": True,
        },
        SQLALCHEMY_BINDS=_engines(settings),
    )
    bound_requests(app)
    off = settings.metrics_port is None
    counters: Counters = NOTHING_COUNTED if off else count(app)
    db.init_app(app)
    migrate.init_app(app, db)
    with app.app_context():
        reads = db.engines["reads"]
        pooled = settings.database_pooler
        answers = Answers()
        prepare(db.engine, CONSOLE, pooled=pooled, answers=answers)
        prepare(reads, PUBLIC, pooled=pooled, answers=answers)
        prepare(db.engines["feed"], FEED, pooled=pooled, answers=answers)
        share_writes(db.engines["feed"], writes_of(db.engine))
        facts = FactsCache()
        for engine in (db.engine, db.engines["feed"]):
            share_facts(engine, facts)
        public_reads = _public_reads(settings, db.engines)
        snapshots = NetworkSnapshots(db.engine, settings.config_max_age_seconds, reads=reads, clock=clock)
        limit_store = LimitStore(settings.rate_limit_storage_url)
        app.extensions["gateway"] = Gateway(
            engine=db.engine,
            reads=reads,
            feed=db.engines["feed"],
            public_reads=public_reads,
            kept_reads=KeptReads(settings.config_max_age_seconds, writes_of(db.engine)),
            kept_longer=KeptReads(HINTS_MAX_AGE_SECONDS, Writes()),
            clock=clock,
            max_reorg_blocks=settings.max_reorg_blocks,
            snapshots=snapshots,
            waiting=Waiting(public_reads, snapshots, settings.most_waiting),
            audit_keys=AuditKeys(
                settings.audit_key,
                settings.audit_keys_old,
                MADE_AUDIT_KEY,
                Anchors([place_of(url) for url in settings.audit_anchors]),
            ),
            estimate_counts=EstimateCounts(db.engine, clock, settings.estimate_counts_seconds, counters),
            key_uses=KeyUses(db.engine, clock, settings.estimate_counts_seconds),
            limit_store=limit_store,
            request_limits=RequestLimits(settings.rate_limit, limit_store),
            ask_limit=AskLimit(settings.refund_ask_limit, limit_store),
            clock_skew=ClockSkew(reads, system_clock),
            feed_ages=FeedAges(reads, settings.feed_max_age_seconds, fails=settings.feed_stale == "fail"),
            environment_tokens=tuple(map(environment_token, dict.fromkeys(settings.ingest_tokens))),
            two_persons=TwoPersons(frozenset(settings.two_persons)),
            readiness=Readiness(answers),
            release=Release(commit=settings.build_commit or None),
            webhook_networks=parse_networks(settings.webhook_allow_networks),
            counters=counters,
        )
    # A doubled slash is never answered with a redirect, which would be HTML.
    app.url_map.merge_slashes = False
    app.public_prefixes = api.limits.PUBLIC_PREFIXES
    api.register_always(app, trusted_proxies=settings.trusted_proxies)
    for door in settings.doors:
        DOORS[door](app, settings)
    if not set(PUBLIC_DOORS).isdisjoint(settings.doors):
        api.limits.register(
            app, counts_everybody=bool(settings.rate_limit), trusted_proxies=settings.trusted_proxies
        )
    beside = {"deliver": "app.webhooks.commands", "watch": "app.watcher.commands"}
    app.cli = CommandLine(app.name, COMMANDS | beside, app.cli.commands)
    return app


def _engines(settings: Settings) -> dict[str, dict[str, Any]]:
    """The engines beside the main one, each with a pool of its own, so that neither waits for the others.

    ``reads`` and ``replica`` are for single-statement reads; ``feed`` is for batches of events.
    """
    options = {**pool_options(READ_CONNECTIONS), **READER_OPTIONS}
    feed = {**pool_options(WRITER_CONNECTIONS), "pool_timeout": FEED.lock, "pool_pre_ping": True}
    binds = {
        "reads": {"url": settings.database_url, **options},
        "feed": {"url": settings.database_url, **feed},
    }
    if settings.database_replica_url:
        binds["replica"] = {"url": settings.database_replica_url, **options}
    return binds


def _public_reads(settings: Settings, engines: Mapping[str | None, Engine]) -> PublicReads:
    if "replica" not in engines:
        return PublicReads(engines[None], engines["reads"])
    prepare(engines["replica"], REPLICA, pooled=settings.database_pooler)
    replica = Replica(engines["replica"], engines["reads"], REPLICA_MAX_LAG_SECONDS)
    return PublicReads(engines[None], engines["reads"], replica)


def _open_api(app: Flask, settings: Settings) -> None:
    api.register_api(
        app,
        trusted_proxies=settings.trusted_proxies,
        compat_clients=settings.compat_clients,
        site=DOCS_SITE,
    )
    open_pages(
        app,
        trusted_proxies=settings.trusted_proxies,
        support_url=settings.support_url,
        refund_url=settings.refund_url,
        waits=settings.waiting_served,
    )


def _open_wait(app: Flask, settings: Settings) -> None:
    api.register_wait(app, trusted_proxies=settings.trusted_proxies, compat_clients=settings.compat_clients)


def _open_grpcweb(app: Flask, settings: Settings) -> None:
    grpcweb.open_door(app, trusted_proxies=settings.trusted_proxies)


def _open_console(app: Flask, settings: Settings) -> None:
    # Its packages take half a second of the processor to import, which a process without a console spares.
    from app import admin  # noqa: PLC0415

    admin.open_console(
        app,
        secret_key=settings.secret_key,
        secret_keys_old=settings.secret_keys_old,
        public_origin=settings.public_origin,
        public_url=settings.public_url,
        trusted_proxies=settings.trusted_proxies,
    )


def _open_ingest(app: Flask, _settings: Settings) -> None:
    register_ingest(app)


DOORS: dict[Door, Callable[[Flask, Settings], None]] = {
    "api": _open_api,
    "grpcweb": _open_grpcweb,
    "ingest": _open_ingest,
    "admin": _open_console,
    "wait": _open_wait,
}
"""How each door is opened; a process serves those that ``DOORS`` in its environment names."""

PUBLIC_DOORS: tuple[Door, ...] = ("api", "grpcweb")
"""Those whose requests are limited, and where keys of integrators count."""
