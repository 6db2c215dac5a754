"""What one process serves: ``DOORS`` of its environment names the interfaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flask import Flask

from app import api, grpcweb
from app.credentials import callers
from app.feed.views import register_ingest
from app.http.application import add_part
from app.http.public import PublicInterface
from config import DOCS_SITE, Door, Settings


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
    from app import admin  # noqa: PLC0415
    from app.transfer_page.languages import open_languages  # noqa: PLC0415

    open_languages(app)
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


INTERFACES: Final[dict[Door, Callable[[Flask, Settings], None]]] = {
    "api": _open_api,
    "grpcweb": _open_grpcweb,
    "ingest": _open_ingest,
    "admin": _open_console,
    "wait": _open_wait,
}

PUBLIC: Final[tuple[Door, ...]] = ("api", "grpcweb")
"""The interfaces whose requests are limited, and where keys of integrators count."""
