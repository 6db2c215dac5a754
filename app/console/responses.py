"""Headers of every response of the console, and its error pages."""

from __future__ import annotations

import logging
from typing import Final

from flask import Response, current_app, request
from flask_wtf.csrf import CSRFError
from werkzeug.exceptions import HTTPException

from app.accounts.services.proposals import SecondPersonNeeded
from app.accounts.services.throttle import MustWait
from app.audit.services import RecordUnreadable
from app.console.formats import sentence
from app.db.writes import is_unavailable
from app.http.errors import RETRY_SECONDS
from app.http.headers import IMMUTABLE
from app.observability.logs import failed_request
from app.observability.outages import FAILURES
from app.values.errors import GatewayError, Unavailable

_log = logging.getLogger(__name__)

CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""No inline code and nothing from other hosts: not even an unescaped text could run a script."""

_HEADERS: Final = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}

_WORDS: Final = {
    400: ("The request could not be read", "Go back, reload the page and try again."),
    403: ("Your role does not allow this", "Ask an administrator if you need access to this page."),
    404: (
        "Page not found",
        "The address may be wrong, or the page was removed. Search finds transfers, chains and tokens.",
    ),
    405: ("This address cannot be used this way", "Go back and use the buttons of the page."),
    409: ("This conflicts with the current state", "Go back, reload the page and try again."),
    413: ("The form is too large", "Nothing was changed. Go back and send it in smaller parts."),
    414: ("The address is too long", "Go back and shorten what you searched for."),
    415: ("This is not a form of the console", "Go back and use the buttons of the page."),
    429: ("Too many requests", "Nothing was changed. Wait a minute, then try again."),
    503: ("The database is not available", "Nothing was changed. Try again in a few seconds."),
}
_FAILED: Final = (
    "Something went wrong",
    "The gateway's log has the details. Check whether your change was saved before you repeat it.",
)


def protect(response: Response) -> Response:
    """Set the headers. Styles and scripts are cached, as their addresses are versioned. Pages are not."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    cached = request.endpoint == "console.static" and "v" in request.args
    response.headers["Cache-Control"] = IMMUTABLE if cached else "no-store"
    return response


def answer_error(error: Exception) -> Response:
    """A page that says what happened and what to do. The gateway's own errors show their own message."""
    status, (title, advice) = _explain(error)
    if status >= 500:
        level = logging.ERROR if status == 500 else logging.WARNING
        FAILURES.report(_log, level, "%s %s answered %d", request.method, request.path, status, error=error)
    # Not by render_template: it would look up who is signed in, which may be what failed.
    page = current_app.jinja_env.get_template("console/error.html")
    text = page.render(
        status=status, title=title, advice=advice, retry=_again(status), request_id=failed_request(status)
    )
    response = Response(text, status)
    if isinstance(error, MustWait):
        response.headers["Retry-After"] = str(error.seconds)
    if status == 503:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return protect(response)


def _again(status: int) -> str | None:
    """The address to try again, where that may help and the request only read a page."""
    if request.method != "GET" or status not in (429, 500, 503):
        return None
    return request.full_path.rstrip("?")


def _explain(error: Exception) -> tuple[int, tuple[str, str]]:
    if isinstance(error, CSRFError):
        return 400, ("This form has expired", "Go back, reload the page and send the form again.")
    if isinstance(error, MustWait):
        return 429, (str(error), "What you sent was not checked.")
    if isinstance(error, Unavailable) or is_unavailable(error):
        return 503, _WORDS[503]
    if isinstance(error, SecondPersonNeeded):
        return 409, (
            "This change needs a second approval",
            "Nothing was changed. Propose it on its own page.",
        )
    if isinstance(error, RecordUnreadable):
        return 500, (sentence(str(error)), "Verify the audit log: it says up to which record it holds.")
    if isinstance(error, GatewayError):
        return 400, (sentence(error.msg), "Go back and correct it. Nothing was changed.")
    if isinstance(error, HTTPException):
        code = error.code or 500
        return code, _WORDS.get(code, _WORDS[400] if 400 <= code < 500 else _FAILED)
    return 500, _FAILED
