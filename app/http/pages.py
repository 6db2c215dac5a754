"""Shared by all parts that answer with pages: static files, addresses, and which part shows an error."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from flask import Flask, Response, current_app, request
from werkzeug.exceptions import BadHost, HTTPException

TRANSFER_PAGES: Final = "/transfer/"
"""The prefix of the pages of transfers, for the users who wait. The transfer's id follows."""

IMMUTABLE: Final = "public, max-age=31536000, immutable"
"""``Cache-Control`` of a file whose address has its digest."""


_PAGES: Final = "error_pages"


@cache
def digest(file: Path) -> str:
    """A few digits that change with the content of the file, which is read once.

    Caches can store an address with them for ever.
    """
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def answer_errors_by_pages(app: Flask, prefix: str, page_of: Callable[[Exception], Response]) -> None:
    """Answer the errors of one part of the application with pages (:func:`page_of_error`)."""
    app.extensions.setdefault(_PAGES, {})[prefix] = page_of


def page_of_error(error: Exception) -> Response | HTTPException | None:
    """The page for an error in the parts that answer with pages; None elsewhere.

    Without a valid host no page can be built, as it has links.
    """
    for prefix, page_of in current_app.extensions.get(_PAGES, {}).items():
        if request.path.startswith(prefix) and not isinstance(error, BadHost):
            if isinstance(error, HTTPException) and (error.code is None or error.code < 400):
                return error  # a redirect of the routing
            page: Response = page_of(error)
            return page
    return None
