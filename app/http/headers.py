"""All headers of answers that are not HTTP's own, and answers that no cache stores."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

import orjson
from flask import Response

from app.observability.logs import SERVED, Served
from app.observability.private import PRIVATE
from app.values.identifiers import TransferId

REASON: Final = "X-Gateway-Reason"
"""The header of a refusal that names its cause (docs/interface.md#reasons)."""

JSON: Final = ("Content-Type", "application/json")
NO_STORE: Final = ("Cache-Control", "no-store")
NO_SNIFF: Final = ("X-Content-Type-Options", "nosniff")
NO_FRAMES: Final = ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")

AS_IT_IS: Final = (NO_SNIFF, NO_FRAMES)
"""A browser must use the declared type, load nothing for the answer, and show it in no other page."""

PRIVATE_HEADERS: Final = (JSON, NO_STORE, *AS_IT_IS)
"""Headers of an answer that pages of other origins may not read."""


def private_answer(document: Any) -> Response:
    """A document as a successful answer that pages of other origins may not read."""
    return Response(orjson.dumps(document), 200, PRIVATE_HEADERS)


TERMINAL: Final = "X-Transfer-Terminal"
FINAL_BY: Final = "X-Transfer-Final-By"
NEXT_ACTOR: Final = "X-Transfer-Next-Actor"
NEXT_POLL: Final = "X-Transfer-Next-Poll-Seconds"
AS_OF: Final = "X-Transfer-As-Of"

PROGRESS_HEADERS: Final = (TERMINAL, FINAL_BY, NEXT_ACTOR, NEXT_POLL, AS_OF)

MEANT: Final = "X-Transfer-Id"
"""The transfer of a transaction whose hash was sent as an id (docs/interface.md#transaction-as-id)."""


def meant_header(meant: TransferId | None) -> list[tuple[str, str]]:
    """The header that names the intended transfer, where another id was sent."""
    return [] if meant is None else [(MEANT, f"0x{meant.hex()}")]


REQUEST_ID: Final = "X-Request-Id"

_GIVEN: Final = "HTTP_X_REQUEST_ID"
_HARMLESS: Final = re.compile(r"[A-Za-z0-9_-]{8,64}", re.ASCII)
"""Such an id ends no header, changes no terminal, and contains no address."""

_PREFIX_BYTES: Final = 6


class _Made:
    """Ids that no other process makes: a random prefix for each process, then a number."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Choose another prefix, as a forked process has to."""
        self._prefix = f"{secrets.token_hex(_PREFIX_BYTES)}-"
        self._numbers = count(1)

    def next(self) -> str:
        """The next id."""
        return f"{self._prefix}{next(self._numbers):x}"


_MADE: Final = _Made()
os.register_at_fork(after_in_child=_MADE.renew)


def request_of(environ: dict[str, Any]) -> Served:
    """The request with its id, from its WSGI environment."""
    given = environ.get(_GIVEN)
    if given is None or not _HARMLESS.fullmatch(given) or PRIVATE.looks_secret(given):
        return Served(_MADE.next(), environ)
    if PRIVATE.is_free(given):
        return Served(given, environ)
    # A secret of ours. The log gets another id, and the answer returns the given one: otherwise a caller
    # could find out by it whether a guessed password is right.
    return Served(_MADE.next(), environ, public_id=given)


@contextmanager
def answering_unread() -> Iterator[None]:
    """For the refusal of an unreadable request: its log entry and its answer have the same id."""
    token = SERVED.set(Served(_MADE.next(), {}))
    try:
        yield
    finally:
        SERVED.reset(token)


def failed_request(status: int) -> str | None:
    """The id that an error page shows, where the log has details."""
    served = SERVED.get()
    return served.public_id if served and status >= 500 else None


def id_of_unread() -> str:
    """The id of the request that is being refused."""
    served = SERVED.get()
    return served.public_id if served else _MADE.next()
