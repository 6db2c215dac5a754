"""Health checks for load balancers, and which version answers, in every process."""

from __future__ import annotations

from functools import partial

from flask import Blueprint, Response

from app.api.answers import PRIVATE_HEADERS, body
from app.api.door import READY, READY_PATH, VERSION_PATH, VERSION_SHAPE
from app.gateway import Gateway, current_gateway
from app.observability.readiness import newest_schema, stale_feeds, what_is_wrong
from app.observability.verdicts import Verdict
from app.release import API_VERSIONS
from app.values.errors import Unavailable
from app.watcher.services.chains import watched_chains

release = Blueprint("release", __name__)


@release.get(VERSION_PATH)
def version() -> Response:
    """What runs here. Nothing is read, so it answers while the database is away."""
    running = current_gateway().release
    told = {
        "version": running.version,
        "commit": running.commit,
        "schema": newest_schema(),
        "api_versions": list(API_VERSIONS),
    }
    return Response(body(VERSION_SHAPE, told), headers=PRIVATE_HEADERS)


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
