"""The interface of reporters: lines in, how far each reporter came, refunds that users request."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from typing import IO, Final

from flask import Blueprint, Flask, Response, request

from app.credentials.rules.ingest_token import EnvironmentTokens, IngestToken
from app.credentials.services.presented import authenticate
from app.db.database import Database
from app.feed.lines import MAX_LINE_BYTES, lines_of
from app.feed.services.ingest import Intake, cursor, report
from app.http.application import current
from app.http.headers import private_answer
from app.refunds.services import user_requests
from app.values.amounts import is_ascii_digits
from app.values.codes import Reason
from app.values.errors import BadRequest, TooLarge, Unauthorized, UnsupportedFormat


def bearer() -> IngestToken:
    """The valid token presented as ``Authorization: Bearer TOKEN``.

    :raises Unauthorized: there is no such header, or its token is not valid.
    """
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip(" "):
        raise Unauthorized("a token is required: send Authorization: Bearer TOKEN")
    return authenticate(
        current(Database), current(EnvironmentTokens), token.strip(" ").encode("latin-1")
    )  # the bytes that were sent


MEDIA_TYPE: Final = "application/x-ndjson"

MAX_BYTES: Final = 64 * 1024 * 1024
"""Of a body, decompressed and as sent (gzip can be longer): ``MAX_LINES`` lines of 600 bytes, more than most
events need.
"""

MAX_LINES: Final = 100_000  # of one body: about a minute's work, as long as proxies wait
SILENCE_SECONDS: Final = 30  # until the next byte: a dead connection would stay open for ever

_CHUNK: Final = 64 * 1024
_GZIP: Final = 16 + zlib.MAX_WBITS
_AGAIN: Final = "earlier lines may have been accepted, and may be sent again"


def lines_of_request() -> Iterator[bytes]:
    """The lines of the body of the current request, read as they are needed.

    :raises UnsupportedFormat: at once, for another type or encoding.
    :raises TooLarge: while reading, at the first byte or line beyond the limits.
    :raises BadRequest: while reading, where the body ends early or is not what its encoding says.
    """
    if request.mimetype != MEDIA_TYPE:
        raise UnsupportedFormat(f"send the body with Content-Type: {MEDIA_TYPE}")
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip"):
        raise UnsupportedFormat("send the body uncompressed or with Content-Encoding: gzip")
    if (request.content_length or 0) > MAX_BYTES:
        raise _too_many_bytes()
    request.max_content_length = MAX_BYTES + 1  # the limits here apply, whose error says what to do
    _bound_silence()
    body: io.RawIOBase = _Body(request.stream, request.content_length)
    if encoding != "identity":
        body = _Inflated(body)
    return _within_limits(lines_of(io.BufferedReader(body, _CHUNK)))


def _bound_silence() -> None:
    """Bound each wait for a piece, where gunicorn serves: the server's own bound is for the whole body."""
    socket = request.environ.get("gunicorn.socket")
    if socket is not None:
        socket.settimeout(SILENCE_SECONDS)


def _within_limits(lines: Iterator[bytes]) -> Iterator[bytes]:
    for number, line in enumerate(lines, start=1):
        if number > MAX_LINES:
            raise TooLarge(f"the body has more than {MAX_LINES} lines: send it in smaller batches; {_AGAIN}")
        if len(line) > MAX_LINE_BYTES:
            raise TooLarge(
                f"line {number} is longer than {MAX_LINE_BYTES} bytes: remove it; {_AGAIN}",
                reason=Reason.LINE_TOO_LONG,
            )
        yield line


def _too_many_bytes() -> TooLarge:
    return TooLarge(f"the body is larger than {MAX_BYTES >> 20} MiB: send it in smaller batches; {_AGAIN}")


def _broken(how: str) -> BadRequest:
    return BadRequest(f"body: {how}; {_AGAIN}")


class _Body(io.RawIOBase):
    """The body as it was sent. Some servers end an incomplete body with an error, others silently."""

    def __init__(self, stream: IO[bytes], declared: int | None) -> None:
        self._stream = stream
        self._declared = declared
        self._received = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._stream.read(len(buffer))
        except Exception as error:
            raise _broken("ended early or has broken chunks") from error
        if not data and self._declared is not None and self._received < self._declared:
            raise _broken("ended early")
        self._received += len(data)
        if self._received > MAX_BYTES:
            raise _too_many_bytes()
        buffer[: len(data)] = data
        return len(data)


class _Inflated(io.RawIOBase):
    """The decompressed body, of one gzip member or several, a bounded piece at a time."""

    def __init__(self, source: io.RawIOBase) -> None:
        self._source = source
        self._pending = b""
        self._member = zlib.decompressobj(_GZIP)
        self._inflated = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._next(len(buffer))
        self._inflated += len(data)
        if self._inflated > MAX_BYTES:
            raise _too_many_bytes()
        buffer[: len(data)] = data
        return len(data)

    def _next(self, size: int) -> bytes:
        """At most ``size`` bytes; none at the end of the last member."""
        while True:
            if not self._pending:
                self._pending = self._source.read(_CHUNK) or b""
            if self._member.eof:
                if not self._pending:
                    return b""
                self._member = zlib.decompressobj(_GZIP)
            ended = not self._pending
            data = self._inflate(size)
            if data:
                return data
            if ended and not self._member.eof:
                raise _broken("the gzip data ended early")

    def _inflate(self, size: int) -> bytes:
        try:
            data = self._member.decompress(self._pending, size)
        except zlib.error:
            raise _broken("is not gzip, although its Content-Encoding says so") from None
        self._pending = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        return data


refund_requests = Blueprint("refund_requests", __name__)

_LARGEST: Final = 2**63 - 1


@refund_requests.get("/refund-requests", provide_automatic_options=False)
def get_refund_requests() -> Response:
    token = bearer()
    page = user_requests(current(Database), token.scope, _after())
    return private_answer({"err": None} | page.as_json())


def _after() -> int:
    """The parameter ``after``; 0, the beginning, where it is left out or empty.

    :raises BadRequest: it is there twice, or is no number of 63 bits.
    """
    values = request.args.getlist("after")
    if len(values) > 1:
        raise BadRequest("after: must be given once")
    text = values[0] if values else ""
    if not text:
        return 0
    if not is_ascii_digits(text) or len(text) > len(str(_LARGEST)) or int(text) > _LARGEST:
        raise BadRequest("after: must be a whole number, the next of the previous answer, or omitted")
    return int(text)


feed = Blueprint("ingest", __name__)


@feed.post("/events", provide_automatic_options=False)
def post_events() -> Response:
    """Take events, one a line. The answer comes after all of them are committed."""
    token = bearer()
    verdict = report(current(Database), current(Intake), token, lines_of_request())
    return private_answer(verdict.as_json())


@feed.get("/cursor", provide_automatic_options=False)
def get_cursor() -> Response:
    last = cursor(current(Database), bearer())
    return private_answer({"err": None, "cursor": last.as_json() if last else None})


def register_ingest(app: Flask) -> None:
    app.register_blueprint(refund_requests, url_prefix="/ingest/v1")
    app.register_blueprint(feed, url_prefix="/ingest/v1")
