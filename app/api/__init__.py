"""The JSON interface: its routes and their documentation are made from the table of operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from flask import Blueprint, Flask

from app.api.docs import views as docs
from app.api.operations import OPERATIONS
from app.db.database import Database
from app.feed.services.ahead import settle_what_is_due
from app.http import errors
from app.http.application import current, part_of
from app.http.headers import require_https
from app.http.public import LEGACY_PREFIX, PREFIX, SANDBOX_PREFIX, Answers, PublicInterface, add_answers
from app.http.requests import SANDBOX, apply_request_policy, shape_of

_BEFORE: Final[Mapping[str, tuple[Callable[[], Any], ...]]] = {
    "": (apply_request_policy, lambda: settle_what_is_due(current(Database))),
    "configs": (apply_request_policy,),
    "evidence": (apply_request_policy,),
    "webhooks": (apply_request_policy,),
    "wait": (apply_request_policy,),
    SANDBOX: (apply_request_policy,),
    "health": (),
    "release": (),
}
"""What runs before the operations of a group."""


def public_answers(compat_clients: bool, group: str | None = None) -> Answers:
    """The shape of each path's answer, without the paths' prefix; of one group, or of all in production."""
    return {
        path: shape_of(each.answer, compat_clients)
        for each in OPERATIONS
        if each.group in (_BEFORE.keys() - {SANDBOX} if group is None else (group,))
        for path in each.paths
    }


def register_always(app: Flask, *, trusted_proxies: int) -> None:
    """Serve what every process has: health, version, errors as JSON, https headers."""
    errors.register(app)
    require_https(app, trusted_proxies=trusted_proxies)
    for group in ("health", "release"):
        _register(app, group, group)


def register_api(app: Flask, *, site: Path) -> None:
    """Serve the public operations under /v2 and /v1 (docs/interface/answers.md#legacy-v1), and the
    documentation built in the folder ``site``.
    """
    for prefix, name in ((PREFIX, "v2"), (LEGACY_PREFIX, "v1")):
        _register(app, "", name, prefix)
        for group in ("configs", "evidence", "webhooks"):
            _register(app, group, f"{name}_{group}", prefix)
    docs.register(app, site)


def register_sandbox(app: Flask) -> None:
    """Serve the operation that moves made-up transfers (docs/sandbox.md#controls)."""
    _register(app, SANDBOX, SANDBOX, SANDBOX_PREFIX)


def register_wait(app: Flask) -> None:
    """Serve the operations that wait, under /v2. Separate processes may serve them."""
    _register(app, "wait", "wait", PREFIX)


def _register(app: Flask, group: str, name: str, prefix: str = "") -> None:
    compat_clients = part_of(app, PublicInterface).compat_clients
    blueprint = Blueprint(name, __name__)
    for before in _BEFORE[group]:
        blueprint.before_request(before)
    views: dict[str, Any] = {}
    for each in OPERATIONS:
        if each.group == group:
            endpoint = each.endpoint_name
            view = views.setdefault(endpoint, each.view_for(compat_clients))  # an estimate has two methods
            for path in each.paths:
                blueprint.add_url_rule(path, endpoint, view, methods=[each.method])
    add_answers(app, public_answers(compat_clients, group), prefix=prefix)
    app.register_blueprint(blueprint, url_prefix=prefix or None)
