"""What is wrong with an answer. Each interface has promises of its own (docs/interface/answers.md#errors)."""

from __future__ import annotations

import base64
import re
from typing import Final

import orjson

from tests.fuzz.exchange import Answer, Exchange
from tests.fuzz.input import Input

SLOW_SECONDS: Final = 1.0

_OPERATION: Final = re.compile(rb"/v[12]/[A-Za-z]+(?:\?|$)")
_OTHER_CODING: Final = re.compile(rb"(?i)\r\ntransfer-encoding[^:\r]*:[ \t]*(?!chunked[ \t]*\r)")
"""A body in a coding that no server has to know."""

_TRACEBACK: Final = re.compile(rb"Traceback \(most recent call last\):[\s|]*(?:\\n)?[\s|]*File ")
"""Plain, of a group, in HTML or in JSON. The documentation of the logs, and so its search, shows only its
first line."""

_STREAM: Final = b"text/event-stream; charset=utf-8"


def fault_of(sent: Input, found: Exchange) -> str | None:
    """Why this must not be, None where nothing is wrong. How long it took is judged by ``is_slow``."""
    if not found.answers and not found.cut and not sent.fresh and found.rest == b"":
        return "no answer"
    if found.rest and not found.cut and not _is_last_word(sent, found):
        return f"{len(found.rest)} bytes that are no answer: {found.rest[:100]!r}"
    if len(found.answers) > sent.most:
        return f"{len(found.answers)} answers"
    for answer in found.answers:
        if fault := _fault(answer, sent.raw):
            return fault
    if sent.interface == "smuggling":
        return _smuggled(found)
    if sent.fresh or not found.answers:
        return None
    (answer,) = found.answers
    if sent.method in (b"HEAD", b"OPTIONS") or answer.status in (204, 304):
        return None
    if sent.interface in ("json", "waiting") and _OPERATION.match(sent.target):
        return _no_envelope(answer)
    if sent.interface == "grpcweb" and sent.method == b"POST" and answer.status == 200:
        return _no_trailers(answer)
    return None


def is_unavailable(found: Exchange) -> bool:
    """Whether it was answered that the gateway cannot answer now."""
    return any(answer.status == 503 for answer in found.answers)


def _is_last_word(sent: Input, found: Exchange) -> bool:
    """Whether it is the body of a refusal, to a HEAD that could not be read so far: nothing follows it."""
    if sent.method != b"HEAD" or not found.answers:
        return False
    refusal = found.answers[-1]
    return refusal.status in (400, 414, 431, 501) and refusal.header(b"Connection") == b"close"


def _fault(answer: Answer, raw: bytes) -> str | None:
    if _TRACEBACK.search(answer.body):
        return "a traceback"
    if answer.status == 503:
        if answer.header(b"X-Gateway-Reason") is None and b"html" not in (
            answer.header(b"Content-Type") or b""
        ):
            return "503 without a reason"
        return None if answer.header(b"Retry-After") else "503 without Retry-After"
    if answer.status == 501 and _OTHER_CODING.search(raw):
        return None  # as RFC 9112, 6.1, has it
    return f"status {answer.status}" if answer.status >= 500 else None


def _smuggled(found: Exchange) -> str | None:
    """One refusal, and the end: what follows must not be read as a request."""
    statuses = [answer.status for answer in found.answers]
    if len(statuses) != 1 or not (400 <= statuses[0] < 500 or statuses[0] == 501):
        return f"a body of two lengths was answered {statuses}"
    return None


def _no_envelope(answer: Answer) -> str | None:
    kind = answer.header(b"Content-Type")
    if kind == _STREAM and answer.status == 200:
        return None
    if kind != b"application/json":
        return f"{answer.status} with {kind!r} is no envelope"
    try:
        body = orjson.loads(answer.body)
        err = body["err"]
    except (ValueError, KeyError, TypeError):
        return f"no envelope: {answer.body[:100]!r}"
    if answer.status < 400 and err is None:
        return None
    is_complete = (
        isinstance(err, dict) and isinstance(err.get("code"), int) and isinstance(err.get("msg"), str)
    )
    if not is_complete or answer.header(b"X-Gateway-Reason") is None:
        return f"{answer.status} has no error: {answer.body[:100]!r}"
    return None


def _no_trailers(answer: Answer) -> str | None:
    kind = answer.header(b"Content-Type") or b""
    if not kind.startswith(b"application/grpc-web"):
        return None if answer.header(b"X-Gateway-Reason") else f"200 with {kind!r} is no answer of gRPC-Web"
    try:
        body = base64.b64decode(answer.body, validate=True) if b"text" in kind else answer.body
    except ValueError:
        return "no base64"
    while body[:1] == b"\0":
        body = body[5 + int.from_bytes(body[1:5], "big") :]
    found = re.search(rb"grpc-status: ?(\d+)", body)
    if body[:1] != b"\x80" or len(body) != 5 + int.from_bytes(body[1:5], "big") or not found:
        return f"no trailers: {answer.body[-100:]!r}"
    return "grpc-status 13" if found[1] in (b"13", b"2") else None
