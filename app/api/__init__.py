"""The JSON interface: gathers the features' public operations, documents them, and answers health checks."""

from __future__ import annotations

from pathlib import Path

from flask import Blueprint, Flask

from app.api import health
from app.api.docs import views as docs
from app.db.database import Database
from app.estimates import views as estimates
from app.feed.services.ahead import settle_what_is_due
from app.http import errors, transport
from app.http.interface import LEGACY_PREFIX, PREFIX, Answers, PublicInterface, add_answers
from app.http.requests import apply_request_policy
from app.latency import views as latency
from app.network import views as configs
from app.parts import current, part_of
from app.refunds import views as refunds
from app.transfers import views as transfers
from app.waiting import views as waiting
from app.webhooks import views as webhooks

operations = Blueprint("v2", __name__)
operations.before_request(apply_request_policy)
operations.before_request(lambda: settle_what_is_due(current(Database)))
for feature in (transfers, estimates, latency):
    feature.add_operations(operations)


def public_answers(compat_clients: bool) -> Answers:
    """The shape of each public path's answer, without the paths' prefix."""
    return {
        **transfers.answers(compat_clients),
        **estimates.ANSWERS,
        **latency.ANSWERS,
        **refunds.ANSWERS,
        **webhooks.ANSWERS,
        **configs.ANSWERS,
    }


def register_always(app: Flask, *, trusted_proxies: int) -> None:
    """What every process serves, whatever its interfaces: health, version, errors as JSON, hints of https."""
    errors.register(app)
    transport.register(app, trusted_proxies=trusted_proxies)
    add_answers(app, health.ANSWERS)
    app.register_blueprint(health.health)
    app.register_blueprint(health.release)


def register_api(app: Flask, *, site: Path) -> None:
    """The public operations under /v2 and /v1 (docs/interface.md#legacy-v1), and their documentation.

    :param site: the folder of the built documentation.
    """
    answers = public_answers(part_of(app, PublicInterface).compat_clients)
    for prefix, name in ((PREFIX, "v2"), (LEGACY_PREFIX, "v1")):
        add_answers(app, answers, prefix=prefix)
        app.register_blueprint(operations, url_prefix=prefix, name=name)
        app.register_blueprint(configs.configs, url_prefix=prefix, name=f"{name}_configs")
        app.register_blueprint(refunds.evidence, url_prefix=prefix, name=f"{name}_evidence")
        app.register_blueprint(webhooks.webhooks, url_prefix=prefix, name=f"{name}_webhooks")
    docs.register(app, site)


def register_wait(app: Flask) -> None:
    """Waiting for transfers under /v2: an interface that processes of their own may serve."""
    compat_clients = part_of(app, PublicInterface).compat_clients
    add_answers(app, waiting.answers(compat_clients), prefix=PREFIX)
    app.register_blueprint(waiting.wait, url_prefix=PREFIX)
