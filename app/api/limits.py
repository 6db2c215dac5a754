"""The rate limit of each caller (``RATE_LIMIT``). Where none is set, there is no limiter."""

from __future__ import annotations

from math import ceil
from time import time
from typing import Final

from flask import Flask, current_app, g, request
from flask_limiter import Limiter, RequestLimit

from app.domain.caller import counted_network
from app.http.pages import TRANSFER_PAGES
from app.http.public import caller

LIMITED_PREFIXES: Final = ("/v2/", "/v1/", "/sgn.gateway.v1.Web/", "//sgn.gateway.v1.Web/", TRANSFER_PAGES)
"""Requests that are counted: the public doors, but no health checks, no console and no feed."""


def register(app: Flask, *, limit: str, storage_url: str, trusted_proxies: int) -> None:
    """Count the requests of each caller over all public operations together.

    :param limit: such as ``20/second`` or ``100/minute;1000/hour``; checked where settings are read.
    :param storage_url: ``memory://`` counts in each process; a shared store counts for all processes.
        While that store cannot be reached, each process counts for itself.
    """
    app.config["RATE_LIMIT_TRUSTED_PROXIES"] = trusted_proxies
    Limiter(
        _caller_key,
        app=app,
        application_limits=[limit],
        application_limits_exempt_when=_is_not_counted,
        storage_uri=storage_url,
        strategy="fixed-window",
        in_memory_fallback=[limit],
        on_breach=_note_retry_after,
    )


def _caller_key() -> str:
    """The caller's address; of IPv6 its /64, from which one subscriber can take any address."""
    address = caller(current_app.config["RATE_LIMIT_TRUSTED_PROXIES"])
    return str(address) if address is None else counted_network(address)


def _is_not_counted() -> bool:
    return request.method == "OPTIONS" or not request.path.startswith(LIMITED_PREFIXES)


def _note_retry_after(limit: RequestLimit) -> None:
    g.retry_after = max(1, ceil(limit.window.reset_time - time()))
