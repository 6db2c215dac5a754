"""Whether the gateway is up and can serve: asked of the application, answered soon whatever it waits for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from werkzeug.test import create_environ, run_wsgi_app

from app.api.unread import refusal
from app.metrics.kept import Kept
from serving.side.listeners import Answer

EVERY_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 2.0
"""How long somebody who asks waits for what is being found out. Probes often give up after a few seconds."""

OLDEST_SECONDS: Final = 5.0
"""Older than this an answer says nothing about now."""

HUNG: Final = (
    f"the gateway cannot tell within {PATIENCE_SECONDS:g} s whether it can serve: its database hangs"
)

STOPPING: Final = "this gateway is being stopped"

_FRAMING: Final = frozenset({"content-length", "connection"})


class Health:
    """What ``/healthz`` and ``/readyz`` answer: the application's own answers."""

    def __init__(self, application: Any, stopping: Callable[[], bool]) -> None:
        """
        :param application: WSGI.
        :param stopping: whether its workers only finish what they have begun, and take nothing new.
        """
        self._application = application
        self._stopping = stopping
        self._ready = Kept("readiness", lambda: self._ask("/readyz"), EVERY_SECONDS)

    def up(self) -> Answer:
        """This process answers. Nothing else is asked."""
        return self._ask("/healthz")

    def ready(self) -> Answer:
        """Whether it can serve, as found out within the last seconds; 503 where that takes too long."""
        if self._stopping():
            return _refused(STOPPING)
        self._ready.refresh()
        found = self._ready.current(time.monotonic() + PATIENCE_SECONDS, OLDEST_SECONDS)
        return _refused(HUNG) if found is None else found.value

    def is_ready(self) -> bool:
        """Whether it can serve."""
        return self.ready().status == 200

    def _ask(self, path: str) -> Answer:
        pieces, status, headers = run_wsgi_app(self._application, create_environ(path))
        kept = {name: value for name, value in headers.items() if name.lower() not in _FRAMING}
        return Answer(int(status[:3]), b"".join(pieces), kept)


def _refused(why: str) -> Answer:
    headers, body = refusal(503, why)
    return Answer(503, body, dict(headers))
