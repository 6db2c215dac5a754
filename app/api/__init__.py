"""The HTTP/JSON door: the public operations, their shapes, and the OpenAPI document."""

from __future__ import annotations

from pathlib import Path

from flask import Flask

from app.api import errors, health, limits, views
from app.api.docs import views as docs
from app.api.door import LEGACY_PREFIX, PREFIX, WAIT_PATH, open_door
from app.http import transport
from app.network.views import configs
from app.refunds.views import evidence
from app.waiting.views import wait
from app.webhooks.views import webhooks

__all__ = [
    "limits",
    "register_always",
    "register_api",
    "register_wait",
]


def register_always(app: Flask, *, trusted_proxies: int) -> None:
    """What every process serves, whatever doors it opens: health, version, errors as JSON, hints of https."""
    errors.register(app)
    transport.register(app, trusted_proxies=trusted_proxies)
    app.register_blueprint(health.health)
    app.register_blueprint(health.release)


def register_api(app: Flask, *, trusted_proxies: int, compat_clients: bool, site: Path) -> None:
    """The public operations under /v2 and /v1 (docs/interface.md#legacy-v1), and their documentation.

    :param site: the folder of the built documentation.
    """
    open_door(app, trusted_proxies=trusted_proxies, compat_clients=compat_clients)
    for prefix, name in ((PREFIX, "v2"), (LEGACY_PREFIX, "v1")):
        app.register_blueprint(views.operations, url_prefix=prefix, name=name)
        app.register_blueprint(configs, url_prefix=prefix, name=f"{name}_configs")
        app.register_blueprint(evidence, url_prefix=prefix, name=f"{name}_evidence")
        app.register_blueprint(webhooks, url_prefix=prefix, name=f"{name}_webhooks")
    docs.register(app, site)


def register_wait(app: Flask, *, trusted_proxies: int, compat_clients: bool) -> None:
    """Waiting for transfers under /v2: a door that processes of their own may serve."""
    door = open_door(app, trusted_proxies=trusted_proxies, compat_clients=compat_clients)
    door.answers[PREFIX + WAIT_PATH] = door.status_answer
    app.register_blueprint(wait, url_prefix=PREFIX)
