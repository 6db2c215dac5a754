"""Small answers over HTTP, one a connection. Slow, silent and malformed clients hold up nobody."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

MOST: Final = 64
"""Connections that are still asking. Beyond them the one that has been at it for longest has to leave."""

MOST_ANSWERED: Final = 64
"""Requests that are answered at a time; further ones are turned away. An answer takes seconds at most."""

SILENCE_SECONDS: Final = 5.0
"""How long to wait for the next bytes of a request, or for its client to take some of the answer."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent. ``headers`` without those that say how long the body is."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


Answers = Mapping[str, Callable[[], Answer]]
"""By path."""


class _Handler(BaseHTTPRequestHandler):
    """One request. HTTP/1.0: every answer ends its connection."""

    timeout = SILENCE_SECONDS
    default_request_version = "HTTP/1.0"  # what cannot be read is answered with a status, too
    server: Listener

    def do_GET(self) -> None:
        """Answer what is known by this path."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """The same without its body."""
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        if not self.server.asked(self.connection):
            self.send_error(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        answers = self.server.answers.get(self.path.partition("?")[0])
        if answers is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        answer = answers()
        self.send_response_only(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if with_body:
            self.wfile.write(answer.body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Say what is wrong; nothing of the request is repeated."""
        body = f"{HTTPStatus(code).phrase}\n".encode()
        self.send_response_only(code)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class calls it so
        """Strangers write nothing into the log."""


class Listener(ThreadingHTTPServer):
    """A thread for each connection, and a bounded number of them."""

    daemon_threads = True

    def __init__(self, listener: socket.socket, answers: Answers, most: int = MOST) -> None:
        """
        :param listener: a socket that listens.
        """
        super().__init__(listener.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.answers = answers
        self._most = most
        self._lock = threading.Lock()
        self._asking: dict[Any, None] = {}
        self._answered: set[Any] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection; where there are too many, the one that has been asking longest is ended."""
        with self._lock:
            oldest = next(iter(self._asking)) if len(self._asking) >= self._most else None
            if oldest is not None:
                del self._asking[oldest]
            self._asking[request] = None
        if oldest is not None:
            with suppress(OSError):
                oldest.shutdown(socket.SHUT_RDWR)
        super().process_request(request, client_address)

    def asked(self, request: Any) -> bool:
        """The request has come to its end; whether it may be answered."""
        with self._lock:
            self._asking.pop(request, None)
            if len(self._answered) >= MOST_ANSWERED:
                return False
            self._answered.add(request)
            return True

    def shutdown_request(self, request: Any) -> None:
        """The connection is done."""
        with self._lock:
            self._asking.pop(request, None)
            self._answered.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Connections break; anything else is a fault of ours."""
        _log.debug("a connection broke", exc_info=True)

    def serve(self) -> None:
        """Have a thread serve until the process ends."""
        name = f"listener {self.server_address}"
        threading.Thread(target=self.serve_forever, name=name, daemon=True).start()
