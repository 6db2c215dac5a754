"""What one process serves: the interfaces that ``DOORS`` of its environment names, and its commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module  # noqa: TID251  see CommandLine
from typing import Final

import click
from flask import Flask
from flask.cli import AppGroup

from app import api, grpcweb
from app.credentials import callers
from app.feed.views import register_ingest
from app.http.application import add_part
from app.http.public import PublicInterface
from config import DOCS_SITE, Door, Settings

COMMANDS: Final = {
    "api-keys": "app.credentials.commands",
    "audit": "app.audit.commands",
    "backfill": "app.feed.commands",
    "backup": "app.db.commands",
    "db": "flask_migrate.cli",
    "events": "app.feed.commands",
    "evidence": "app.refunds.commands",
    "ingest-tokens": "app.credentials.commands",
    "network": "app.network.commands",
    "operators": "app.accounts.commands",
    "sandbox": "app.sandbox.commands",
    "version": "app.db.commands",
}
"""The module of each command, which defines it under its name."""


class CommandLine(AppGroup):
    """The application's commands. A serving process saves the time to import them.

    Listed by their modules' names, as in click's documentation, rather than imported in a function for each.
    """

    def __init__(self, name: str, modules: Mapping[str, str], known: Mapping[str, click.Command]) -> None:
        """
        :param modules: of commands that are imported when they are called, or listed with their help.
        :param known: commands that are already imported.
        """
        super().__init__(name, commands=dict(known))
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *self._modules})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self._modules and cmd_name not in self.commands:
            module = import_module(self._modules[cmd_name])
            self.add_command(getattr(module, cmd_name.replace("-", "_")), cmd_name)
        return super().get_command(ctx, cmd_name)


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
