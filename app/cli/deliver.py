"""``flask --app wsgi deliver``: sends webhooks until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import time

import click
from flask import current_app
from flask.cli import with_appcontext

from app.audit.keys import AuditKeys
from app.cli.terminal import OneLineCommand, Refusal, check_database, say, stop_signals, tell_stopped
from app.db.connections import check_connections
from app.db.database import Database
from app.http.application import current
from app.network.snapshot import SnapshotSource
from app.observability.heartbeat import Heartbeat
from app.observability.logs import log_to_stderr
from app.webhooks.post import Poster, Resolver
from app.webhooks.rules.addresses import AllowedNetworks
from app.webhooks.sender import Sender

_log = logging.getLogger("app.sender")


@click.command("deliver", cls=OneLineCommand)
@click.option("--once", is_flag=True, help="Send what is due now, then exit.")
@with_appcontext
def deliver(once: bool) -> None:
    """Send webhooks, until SIGTERM or SIGINT.

    You can run several: each delivery is sent by only one of them. Exits with 0 after a signal, with 1 if
    it cannot start.
    """
    database = current(Database)
    snapshots = current(SnapshotSource)
    audit_keys = current(AuditKeys)
    allowed = current(AllowedNetworks)
    check_database(database)
    settings = current_app.config["SETTINGS"]
    log_to_stderr(settings.log_format, settings.log_level)
    check_connections(database)
    sent = asyncio.run(_send(database, snapshots, audit_keys, allowed, once))
    if once:
        say(f"attempts to send: {sent}")
        _log.info("ended")
    else:
        tell_stopped(_log)


async def _send(
    database: Database,
    snapshots: SnapshotSource,
    audit_keys: AuditKeys,
    allowed: AllowedNetworks,
    once: bool,
) -> int:
    """Send; returns the number of attempts that have ended."""
    resolver = Resolver()
    try:
        poster = Poster(resolver, allowed)
    except OSError as error:
        raise Refusal(
            f"SSL_CERT_FILE: must be a file of certificates in PEM: {error.strerror or error}"
        ) from None
    sender = Sender(database, snapshots, audit_keys, poster)
    loop = asyncio.get_running_loop()
    for number in stop_signals():
        loop.add_signal_handler(number, sender.stop)
    _log.info("sending webhooks of %s", database.address)
    try:
        await (sender.run_once() if once else sender.run(Heartbeat(time.monotonic).beat))
    finally:
        await poster.close()
        resolver.close()
    return sender.sent
