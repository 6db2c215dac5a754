"""Flask as this application uses it: checks of the Host header, its views, and what is recorded of each
request from its first moment to its answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from flask import Flask, Request, Response
from werkzeug.exceptions import BadHost
from werkzeug.sansio.utils import get_host

from app.deadlines import within
from app.http.headers import REQUEST_ID, request_of
from app.http.request_log import RequestLog
from app.observability.logs import SERVED, Served

PUBLIC_SECONDS: Final = 5.0
"""How long a public request waits for the database in all, for all its reads."""


class GatewayFlask(Flask):
    """Flask, but a Host header that cannot be part of an address is refused before one is built with it.

    All views and hooks are plain functions.
    """

    request_log: RequestLog | None = None
    """Where requests are logged, if they are."""

    count: Callable[[Served, Response], None] | None = None
    """What counts each answer, if they are counted."""

    public_prefixes: tuple[str, ...] = ()
    """Prefixes of paths that are answered soon, even while the database does not answer."""

    def wsgi_app(self, environ: dict[str, Any], start_response: Any) -> Any:
        """Serve a request. Its id is available to all log entries meanwhile."""
        served = request_of(environ)
        token = SERVED.set(served)
        try:
            if environ.get("PATH_INFO", "").startswith(self.public_prefixes):
                with within(PUBLIC_SECONDS):
                    return super().wsgi_app(environ, start_response)
            return super().wsgi_app(environ, start_response)
        finally:
            SERVED.reset(token)

    def finalize_request(self, rv: Any, from_error_handler: bool = False) -> Response:
        """The answer, complete but for the request's id, which every answer has: all answers pass through
        here.
        """
        response = super().finalize_request(rv, from_error_handler)
        served = SERVED.get()
        if served is not None:
            response.headers.add(REQUEST_ID, served.public_id)
            served.settle()  # the endpoint is forgotten before the end of an answer that comes later
            if self.count is not None:
                self.count(served, response)
            if self.request_log is not None:
                self.request_log.answered(served, response)
        return response

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """The function itself. Flask checks four times a request whether it is a coroutine."""
        return func

    def create_url_adapter(self, request: Request | None) -> Any:
        """The adapter that finds the route of a request.

        :raises BadHost: the header is no host. It is answered with 400 like an error of the routing.
        """
        if request is None:
            return super().create_url_adapter(None)
        environ = request.environ
        scheme, host = environ["wsgi.url_scheme"], environ.get("HTTP_HOST")
        if host is None or "HTTP_UPGRADE" in environ:
            return super().create_url_adapter(request)
        # The same as in Flask, which reads the host twice for each request. There are few hosts.
        request.host = _known_host(scheme, host)
        return self.url_map.bind(
            request.host,
            script_name=_decoded(environ.get("SCRIPT_NAME")),
            subdomain="",
            url_scheme=scheme,
            default_method=environ["REQUEST_METHOD"],
            path_info=_decoded(environ.get("PATH_INFO")),
            query_args=_decoded(environ.get("QUERY_STRING")),
        )


@lru_cache(maxsize=256)
def _known_host(scheme: str, header: str) -> str:
    """The host of a request, empty where its characters are not valid.

    :raises BadHost: the header is no host.
    """
    if "[" in header or "]" in header or not header.isascii():
        try:
            urlsplit(f"//{header}/")
        except ValueError:
            raise BadHost from None
    return get_host(scheme, header)


def _decoded(text: str | None) -> str | None:
    """A text of the WSGI environment, whose characters are bytes; servers may leave out empty ones."""
    return text if text is None or text.isascii() else text.encode("latin-1").decode(errors="replace")
