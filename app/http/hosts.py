"""Flask as this application uses it: what it may trust of the Host header, and what its views are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from flask import Flask, Request
from werkzeug.exceptions import BadHost


class GatewayFlask(Flask):
    """Flask, but a Host header that can be part of no address is refused before one is built with it.

    All views and hooks are plain functions.
    """

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """The function itself. Flask looks four times a request whether it is a coroutine."""
        return func

    def create_url_adapter(self, request: Request | None) -> Any:
        """What finds the route of a request.

        :raises BadHost: the header is no host. It is answered with 400 like an error of the routing.
        """
        host = "" if request is None else request.environ.get("HTTP_HOST", "")
        if "[" in host or "]" in host or not host.isascii():
            try:
                urlsplit(f"//{host}/")
            except ValueError:
                raise BadHost from None
        return super().create_url_adapter(request)
