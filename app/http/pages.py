"""What doors share that answer people with pages: static files, addresses, and whose page an error is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Final

from flask import Response, request
from werkzeug.exceptions import BadHost, HTTPException

TRANSFER_PAGES: Final = "/transfer/"
"""Where the page of each transfer is, by its id, for the person who waits."""

KEPT_FOR_EVER: Final = "public, max-age=31536000, immutable"
"""``Cache-Control`` of a file that was asked for by its digest."""


@cache
def digest(file: Path) -> str:
    """A few digits that change with the content of the file, which is read once.

    An address with them can be kept by caches for ever.
    """
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def divide_errors(
    prefix: str, own: Callable[[Exception], Response], others: Callable[[Exception], Any]
) -> Callable[[Exception], Any]:
    """The application's error handler where one door answers with pages: ``own`` under its prefix, else
    ``others``."""

    def answer(error: Exception) -> Any:
        if not request.path.startswith(prefix) or isinstance(error, BadHost):
            return others(error)  # without a host no page can be built: it has links
        if isinstance(error, HTTPException) and (error.code is None or error.code < 400):
            return error  # a redirect of the routing
        return own(error)

    return answer
