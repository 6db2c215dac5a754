"""Flask as this application uses it: its parts, checks of the Host header, bounded bodies, and what is logged
of each request.

The parts are found by their type: each is made once, and a use case takes those that it uses. The limit of a
body holds before anything is read or parsed, on every interface.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import IO, Any, Final, TypeVar
from urllib.parse import urlsplit

from flask import Flask, Request, Response, current_app
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import BadHost, ClientDisconnected, RequestEntityTooLarge
from werkzeug.formparser import FormDataParser
from werkzeug.utils import cached_property
from werkzeug.wsgi import get_input_stream

from app.db.timeouts import within
from app.http.headers import IGNORED, REQUEST_ID, ignored_names
from app.http.mounted import Mounted
from app.http.public import MAX_QUESTION_BYTES
from app.http.request_log import RequestLog
from app.observability.logs import SERVED, Served, request_of
from app.values.amounts import is_ascii_digits

Part = TypeVar("Part")

_PARTS: Final = "parts"


def add_part(app: Flask, kind: type[Part], part: Part) -> None:
    """Add a part to the application."""
    app.extensions.setdefault(_PARTS, {})[kind] = part


def part_of(app: Flask, kind: type[Part]) -> Part:
    """The part of that type."""
    part: Part = app.extensions[_PARTS][kind]
    return part


def current(kind: type[Part]) -> Part:
    """The part of that type, of the serving application."""
    return part_of(current_app, kind)


PUBLIC_SECONDS: Final = 5.0
"""How long a public request waits for the database in all, for all its reads."""


class GatewayFlask(Flask):
    """Flask, but a Host header that cannot be part of an address is refused before one is built with it."""

    request_log: RequestLog | None = None
    """Where requests are logged, if they are."""

    count: Callable[[Served, Response], None] | None = None
    """What counts each answer, if they are counted."""

    public_prefixes: tuple[str, ...] = ()
    """Prefixes of paths that are answered soon, even while the database does not answer."""

    mounted: Mounted = Mounted()
    """The path below which it is reached."""

    def wsgi_app(self, environ: dict[str, Any], start_response: Any) -> Any:
        """Serve a request. Its id is available to all log entries meanwhile."""
        self.mounted.place(environ)
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
            if names := ignored_names():
                response.headers.add(IGNORED, names)
            served.settle()  # the endpoint is forgotten before the end of an answer that comes later
            if self.count is not None:
                self.count(served, response)
            if self.request_log is not None:
                self.request_log.answered(served, response)
        return response

    def create_url_adapter(self, request: Request | None) -> Any:
        """
        :raises BadHost: the Host header is no host. It is answered with 400 like an error of the routing.
        """
        header = "" if request is None else request.environ.get("HTTP_HOST", "")
        if "[" in header or "]" in header or not header.isascii():
            try:
                urlsplit(f"//{header}/")
            except ValueError:
                raise BadHost from None
        return super().create_url_adapter(request)


MAX_PARTS: Final = 100
"""Fields of a form, unless an interface sets another limit."""

_FEW_DIGITS: Final = 4
"""Of a Content-Length: such a body is within every limit, and one read takes it."""


class BrokenBody(OSError):
    """The body cannot be read to its end: it breaks off, its chunks are malformed, or it comes too slowly."""


class _Body(io.RawIOBase):
    """The body from the server. Each server raises its own errors; here they are one."""

    def __init__(self, source: IO[bytes]) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._source.read(len(buffer))
        except Exception as error:
            raise BrokenBody(str(error)) from error
        buffer[: len(data)] = data
        return len(data)


class _FormParser(FormDataParser):
    """Counts the fields of any form before it parses them; the library does so only for multipart."""

    def parse(
        self, stream: IO[bytes], mimetype: str, content_length: int | None, options: Any = None
    ) -> tuple[IO[bytes], MultiDict[str, str], MultiDict[str, Any]]:
        if mimetype == "application/x-www-form-urlencoded":
            body = stream.read()
            stream.read(1)  # where the limit ended the body, one more read raises
            if self.max_form_parts is not None and body.count(b"&") >= self.max_form_parts:
                raise RequestEntityTooLarge
            stream = io.BytesIO(body)
        return super().parse(stream, mimetype, content_length, options)


def has_small_body(environ: dict[str, Any]) -> bool:
    """Whether a request declares a length of its body that is within every limit."""
    length = environ.get("CONTENT_LENGTH", "")
    is_small = is_ascii_digits(length) and len(length) <= _FEW_DIGITS
    return is_small and "HTTP_TRANSFER_ENCODING" not in environ


class BoundedRequest(Request):
    """A request of this application. An interface that accepts more than the default sets it for each
    request.
    """

    form_data_parser_class = _FormParser

    @cached_property
    def stream(self) -> IO[bytes]:
        """The body, at most ``max_content_length`` bytes of it.

        Reading raises ``ClientDisconnected``, a bad request, where the body is broken.
        """
        self.environ["wsgi.input"] = _Body(self.environ["wsgi.input"])
        return get_input_stream(self.environ, max_content_length=self.max_content_length)

    def get_data(self, *args: Any, **kwargs: Any) -> Any:
        """As werkzeug does. A small body is read at once, without three streams."""
        if has_small_body(self.environ) and not (args or kwargs) and "stream" not in self.__dict__:
            self.stream = io.BytesIO(self._read_whole())
        return super().get_data(*args, **kwargs)

    def _read_whole(self) -> bytes:
        """
        :raises ClientDisconnected: the body is broken.
        """
        length = int(self.environ["CONTENT_LENGTH"])
        try:
            data: bytes = self.environ["wsgi.input"].read(length)
        except Exception as error:
            raise ClientDisconnected from error
        if len(data) < length:
            raise ClientDisconnected
        return data

    @property
    def is_json(self) -> bool:
        """Always False: no library may read JSON where a form is expected. The public interface reads JSON
        itself, strictly.
        """
        return False


def bound_requests(app: Flask) -> None:
    """Make all requests of an application bounded ones.

    Without a larger limit of an interface they are as small as a public request.
    """
    app.request_class = BoundedRequest
    app.config.update(
        # One byte more than allowed: otherwise a body cut off at the limit would look complete.
        MAX_CONTENT_LENGTH=MAX_QUESTION_BYTES + 1,
        MAX_FORM_MEMORY_SIZE=MAX_QUESTION_BYTES,
        MAX_FORM_PARTS=MAX_PARTS,
    )
