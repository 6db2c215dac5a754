"""Composes the application of its features' parts and the interfaces that ``DOORS`` names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flask import Flask

from app import api, grpcweb
from app.accounts import parts as accounts
from app.audit import parts as audit
from app.credentials import callers
from app.credentials import parts as credentials
from app.db.database import Database
from app.estimates import parts as estimates
from app.feed import parts as feed
from app.feed.views import register_ingest
from app.http.application import add_part
from app.http.limits import LimitStore, RefundRequestLimit
from app.http.public import PublicInterface
from app.latency import parts as latency
from app.monitoring import parts as monitoring
from app.network import parts as network
from app.observability.counters import Counters
from app.release import Release
from app.transfers import parts as transfers
from app.waiting import parts as waiting
from app.watcher import parts as watcher
from app.webhooks import parts as webhooks
from config import DOCS_SITE, MADE_AUDIT_KEY, Door, Settings


def add_features(app: Flask, settings: Settings, database: Database, counters: Counters) -> None:
    """Add the parts of all features to the application, and hand functions of higher ones to lower ones."""
    limit_store = LimitStore(settings.rate_limit_storage_url)
    add_part(app, Database, database)
    add_part(app, LimitStore, limit_store)
    add_part(app, RefundRequestLimit, RefundRequestLimit(settings.refund_request_limit, limit_store))
    add_part(app, Release, Release(commit=settings.build_commit or None))
    audit.add(
        app,
        key=settings.audit_key,
        keys_old=settings.audit_keys_old,
        key_file=MADE_AUDIT_KEY,
        anchors=settings.audit_anchors,
    )
    accounts.add(app, two_persons=settings.two_persons)
    snapshots = network.add(app, database, max_age_seconds=settings.config_max_age_seconds)
    transfers.add(database)
    credentials.add(
        app,
        database,
        ingest_tokens=settings.ingest_tokens,
        counted_every=settings.estimate_counts_seconds,
        rate_limit=settings.rate_limit,
        limit_store=limit_store,
    )
    estimates.add(app, database, counters, counted_every=settings.estimate_counts_seconds)
    latency.add(database)
    feed.add(app, database, counters, max_reorg_blocks=settings.max_reorg_blocks)
    watcher.add(database)
    waiting.add(app, database, most_waiting=settings.most_waiting)
    webhooks.add(app, database, allowed_networks=settings.webhook_allow_networks)
    monitoring.add(
        app,
        database,
        snapshots,
        feed_max_age_seconds=settings.feed_max_age_seconds,
        fails_when_stale=settings.feed_stale == "fail",
    )


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
