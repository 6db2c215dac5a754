"""The composition root: settings in, a WSGI application out."""

from __future__ import annotations

from flask import Flask

from app.cli.commands import COMMANDS, CommandLine
from app.cooperation import collect_seldom
from app.db.database import engine_settings, open_database
from app.db.models import Migrations, db
from app.features import add_features, open_interfaces
from app.http.application import GatewayFlask, bound_requests
from app.http.mounted import Mounted
from app.http.public import PUBLIC_PREFIXES
from app.http.request_log import RequestLog
from app.monitoring.request_metrics import count
from app.observability.counters import NOTHING_COUNTED, Counters
from app.observability.private import PRIVATE
from app.values.times import Clock, system_clock
from config import Settings, load_settings


def create_app(settings: Settings | None = None, clock: Clock = system_clock) -> Flask:
    """The application with the interfaces that ``settings.doors`` names.

    :param settings: read from the environment when left out.
    :param clock: gives the time to every use case.
    """
    settings = settings or load_settings()
    collect_seldom()
    PRIVATE.add(settings.secrets)
    app = GatewayFlask(__name__)
    if settings.access_log != "off":
        app.request_log = RequestLog(settings.access_log)
    app.config.update(
        SETTINGS=settings,
        SECRET_KEY=settings.secret_key or None,
        SECRET_KEY_FALLBACKS=list(settings.secret_keys_old),
        **engine_settings(settings.database_url, settings.database_replica_url),
    )
    app.public_prefixes = PUBLIC_PREFIXES
    app.mounted = Mounted(settings.script_name, settings.trusted_proxies)
    bound_requests(app)
    counters: Counters = NOTHING_COUNTED if settings.metrics_port is None else count(app)
    db.init_app(app)
    app.extensions["migrate"] = Migrations()
    with app.app_context():
        database = open_database(
            db.engines,
            clock,
            pooled=settings.database_pooler,
            cached_seconds=settings.config_max_age_seconds,
        )
        add_features(app, settings, database, counters)
    open_interfaces(app, settings)
    app.cli = CommandLine(app.name, COMMANDS, app.cli.commands)
    return app
