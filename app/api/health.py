"""Health checks for load balancers: is the process up, and can it serve?"""

from __future__ import annotations

from functools import partial

from flask import Blueprint, Response

from app.api.answers import PRIVATE_HEADERS, body
from app.api.door import READY, READY_PATH
from app.domain.errors import Unavailable
from app.runtime.gateway import Gateway, current_gateway
from app.runtime.readiness import stale_feeds, what_is_wrong
from app.runtime.ready.verdicts import Verdict
from app.services.watching.chains import watched_chains

health = Blueprint("health", __name__)


@health.get("/healthz")
def up() -> Response:
    """The process answers."""
    return _healthy()


@health.get(READY_PATH)
def ready() -> Response:
    """The database is reachable and migrated, and the configuration is fresh.

    How far chains are read is told, and is no reason to send requests elsewhere: others answer the same.
    """
    verdict = _verdict(current_gateway())
    if verdict.complaint:
        raise Unavailable(verdict.complaint)
    return Response(body(READY, verdict.answer), headers=PRIVATE_HEADERS)


def is_ready(gateway: Gateway) -> bool:
    """Whether it can serve."""
    return _verdict(gateway).complaint is None


def _verdict(gateway: Gateway) -> Verdict:
    return gateway.readiness.verdict(partial(_look, gateway))


def _look(gateway: Gateway) -> Verdict:
    if complaint := what_is_wrong(gateway):
        return Verdict(complaint)
    return Verdict(answer={"watching": watched_chains(gateway), "stale_feeds": stale_feeds(gateway)})


def _healthy() -> Response:
    return Response(b'{"err":null}', headers=PRIVATE_HEADERS)
