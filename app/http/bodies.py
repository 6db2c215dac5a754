"""Requests with bounded bodies: the limit holds before anything is read or parsed, on every interface."""

from __future__ import annotations

import io
from typing import IO, Any, Final

from flask import Flask, Request
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge
from werkzeug.formparser import FormDataParser
from werkzeug.utils import cached_property
from werkzeug.wsgi import get_input_stream

from app.http.public import MAX_QUESTION_BYTES
from app.values.amounts import is_ascii_digits

MAX_PARTS: Final = 100
"""Fields of a form, unless an interface sets another limit."""

_FEW_DIGITS: Final = 5
"""Of a Content-Length: a body that one read takes."""


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
        """The same as the framework's. A small body of declared length is read at once, without three
        streams.
        """
        length = self.environ.get("CONTENT_LENGTH", "")
        is_small = is_ascii_digits(length) and len(length) <= _FEW_DIGITS
        if is_small and not (args or kwargs) and self._is_unread():
            self.stream = io.BytesIO(self._read_whole(int(length)))
        return super().get_data(*args, **kwargs)

    def _is_unread(self) -> bool:
        return not ("HTTP_TRANSFER_ENCODING" in self.environ or "stream" in self.__dict__)

    def _read_whole(self, length: int) -> bytes:
        """
        :param length: as the client declared it.
        :raises RequestEntityTooLarge: it is longer than ``max_content_length``.
        :raises ClientDisconnected: it is broken.
        """
        if self.max_content_length is not None and length > self.max_content_length:
            raise RequestEntityTooLarge
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
