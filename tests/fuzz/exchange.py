"""Sending bytes and reading answers, as they come and however broken the request is."""

from __future__ import annotations

import re
import socket
import time
from dataclasses import dataclass
from typing import Final

from tests.fuzz.input import Input

TIMEOUT: Final = 30.0
_LENGTH: Final = re.compile(rb"(?i)\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n")
_CHUNKED: Final = re.compile(rb"(?i)\r\ntransfer-encoding:[ \t]*chunked[ \t]*\r\n")
_CLOSES: Final = re.compile(rb"(?i)\r\nconnection:[ \t]*close[ \t]*\r\n")


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of HTTP. ``head`` is its first line and its headers, with the empty line after them."""

    status: int
    head: bytes
    body: bytes

    def header(self, name: bytes) -> bytes | None:
        """The first value of a header."""
        found = re.search(rb"(?i)\r\n" + re.escape(name) + rb":[ \t]*([^\r\n]*)", self.head)
        return found[1] if found else None


@dataclass(frozen=True, slots=True)
class Exchange:
    """The answers to one input.

    :param rest: bytes behind the answers that are no answer.
    :param seconds: from the first byte sent to the last one read.
    """

    answers: list[Answer]
    rest: bytes
    seconds: float
    cut: bool
    """Whether what was awaited did not come in time."""


class Wire:
    """Connections to one server: one for each address that inputs come from."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self._open: dict[str, socket.socket] = {}

    def send(self, sent: Input) -> Exchange:
        """Send it and read what comes.

        A connection that the server has closed meanwhile is opened again once.

        :raises OSError: the server is not there, or does not answer within ``TIMEOUT``.
        """
        if sent.fresh:
            return self._to_the_end(sent)
        wire = self._open.pop(sent.source, None)
        if wire is not None:
            found = self._once(sent, wire)
            if found.answers or found.cut:
                return found
        return self._once(sent, self._connect(sent))

    def close(self) -> None:
        """Leave."""
        for wire in self._open.values():
            wire.close()
        self._open.clear()

    def _connect(self, sent: Input) -> socket.socket:
        wire = socket.create_connection(self._address, timeout=TIMEOUT, source_address=(sent.source, 0))
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return wire

    def _once(self, sent: Input, wire: socket.socket) -> Exchange:
        began, data = time.monotonic(), b""
        wire.settimeout(sent.timeout or TIMEOUT)
        ended = cut = False
        try:
            wire.sendall(sent.raw)
        except TimeoutError:
            raise
        except OSError:
            pass  # it answered before it had read everything, and closed
        while (found := read_answer(data, sent.method, ended)) is None and not ended:
            try:
                piece = wire.recv(262_144)
            except TimeoutError:
                if sent.timeout is None:
                    raise
                cut = True
                break
            except OSError:
                piece = b""
            ended = not piece
            data += piece
        seconds = time.monotonic() - began
        if found is None:
            wire.close()
            return Exchange([], data, seconds, cut)
        answer, rest = found
        rest = _after_refusal(sent, answer, rest)
        if ended or rest or _CLOSES.search(answer.head):
            wire.close()
        else:
            self._open[sent.source] = wire
        return Exchange([answer], rest, seconds, False)

    def _to_the_end(self, sent: Input) -> Exchange:
        """Say that nothing follows, and read until the server closes."""
        began, data, cut = time.monotonic(), b"", False
        with self._connect(sent) as wire:
            try:
                wire.sendall(sent.raw)
                wire.shutdown(socket.SHUT_WR)
            except OSError:
                pass
            try:
                while piece := wire.recv(262_144):
                    data += piece
            except TimeoutError:
                raise
            except OSError:
                pass  # reset after its answer: it had not read everything
        seconds = time.monotonic() - began
        answers = []
        method = sent.method
        while found := read_answer(data, method, ended=True):
            answer, data = found
            answers.append(answer)
            method = b""
        if len(answers) == 1:
            data = _after_refusal(sent, answers[0], data)
        return Exchange(answers, data, seconds, cut)


def _after_refusal(sent: Input, answer: Answer, rest: bytes) -> bytes:
    """What follows an answer. What cannot be read is refused with a body, whatever its method."""
    refused = sent.method == b"HEAD" and 400 <= answer.status < 500 and _CLOSES.search(answer.head)
    return b"" if refused else rest


def read_answer(data: bytes, method: bytes, ended: bool = False) -> tuple[Answer, bytes] | None:
    """The first answer of these bytes and what follows it; None where it is not complete.

    :param method: of the request: an answer to ``HEAD`` has no body.
    :param ended: whether nothing follows.
    """
    head, end, rest = data.partition(b"\r\n\r\n")
    if not end or not head.startswith(b"HTTP/1."):
        return None
    head += b"\r\n\r\n"
    try:
        status = int(head[9:12])
    except ValueError:
        return None
    if status == 100:
        return read_answer(rest, method, ended)
    if method == b"HEAD" or status in (204, 304):
        return Answer(status, head, b""), rest
    if found := _LENGTH.search(head):
        length = int(found[1])
        return (Answer(status, head, rest[:length]), rest[length:]) if len(rest) >= length else None
    if _CHUNKED.search(head):
        return _read_chunks(Answer(status, head, b""), rest)
    return (Answer(status, head, rest), b"") if ended else None


def _read_chunks(answer: Answer, data: bytes) -> tuple[Answer, bytes] | None:
    body = b""
    while True:
        line, end, rest = data.partition(b"\r\n")
        if not end:
            return None
        size = int(line, 16)
        if len(rest) < size + 2:
            return None
        body, data = body + rest[:size], rest[size + 2 :]
        if size == 0:
            return Answer(answer.status, answer.head, body), data
