"""One URL: what it answers, what it refuses, and that nobody ever sees it."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from typing import Any

import httpx
import orjson
import pytest

from app.watcher.rpc.client import Call, Client, Refused
from app.watcher.rpc.faults import (
    Forbidden,
    Garbled,
    NotOffered,
    RateLimited,
    RpcFault,
    Slow,
    TooLarge,
    Unreachable,
    fault_of,
    without_secrets,
)
from app.watcher.rpc.refusals import READ_CHARACTERS

URL = "https://user:pass-of-user@node.example:8443/v3/0123456789abcdef?apikey=fedcba987654"
ONE = [Call("eth_chainId")]
TWO = [Call("eth_chainId"), Call("eth_blockNumber")]


def client(answer: Callable[[httpx.Request], httpx.Response], **options: Any) -> Client:
    def unread(request: httpx.Request) -> httpx.Response:
        made = answer(request)
        if made.is_stream_consumed:
            made = httpx.Response(
                made.status_code, headers=made.headers, stream=httpx.ByteStream(made.content)
            )
        return made

    return Client(URL, transport=httpx.MockTransport(unread), **options)


def answering(status: int = 200, content: Any = None, **headers: str) -> Client:
    body = content if isinstance(content, bytes) else orjson.dumps(content)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return client(lambda _request: httpx.Response(status, content=body, headers=names))


def test_answers_follow_the_calls() -> None:
    answers = [
        {"id": 2, "result": "0x2"},
        {"id": 1, "error": {"code": -32000, "message": "header not found"}},
    ]
    assert answering(content=answers).request(TWO) == [Refused(-32000, "header not found"), "0x2"]


def test_one_call_is_no_batch() -> None:
    seen = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(orjson.loads(request.content))
        return httpx.Response(200, json={"id": 1, "result": None})

    assert client(answer).request(ONE) == [None]
    assert seen == [{"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}]


def test_call_error_may_have_other_status() -> None:
    error = {"id": 1, "error": {"code": -32602, "message": "block range is too wide"}}
    assert answering(400, error).request(ONE) == [Refused(-32602, "block range is too wide")]
    assert answering(400, [error]).request(ONE) == [Refused(-32602, "block range is too wide")]


LATE = "Log response size exceeded. " + "See all the limits. " * 20 + "This range should work: [0x0, 0xf]"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"code": 3, "message": "no", "data": "too many requests"}, "no: too many requests"),
        (
            {"code": 3, "message": "no", "data": {"more": ["block not found"]}},
            'no: {"more":["block not found"]}',
        ),
        ({"code": 3, "message": "header not found", "data": {"see": "rate limits"}}, "header not found"),
        ("no such block", "no such block"),
        ({"code": -32602, "message": LATE}, LATE),
    ],
)
def test_words_of_an_error_may_be_in_other_places(error: Any, words: str) -> None:
    (refused,) = answering(content={"id": 1, "error": error}).request(ONE)
    assert refused.words == words
    if words == LATE:
        fault = fault_of(refused.words, refused.code)
        assert isinstance(fault, TooLarge) and fault.suggested == 16


@pytest.mark.parametrize(
    ("status", "content", "fault", "words"),
    [
        (401, b"", Forbidden, "access refused (HTTP 401)"),
        (401, b"invalid project id", Forbidden, "access refused (HTTP 401: invalid project id)"),
        (403, {"error": {"code": 7, "message": "nope"}}, Forbidden, "access refused (HTTP 403: nope)"),
        (403, {"error": "Forbidden", "message": "no key"}, Forbidden, "(HTTP 403: Forbidden: no key)"),
        (403, b"<html>Forbidden</html>", Forbidden, "access refused (HTTP 403)"),
        (403, {"message": "rpc method is not whitelisted"}, NotOffered, "switched off at this URL"),
        (400, [{"error": {"message": "Batch size too large"}}], Unreachable, "HTTP 400: Batch size"),
        (400, {"error": "block range is too wide"}, TooLarge, "HTTP 400: block range is too wide"),
        (400, {"code": 1, "message": "You are being rate limited"}, RateLimited, "HTTP 400: You are"),
        (429, {"error": {"message": "daily request count exceeded"}}, RateLimited, "HTTP 429: daily"),
        (500, b"oops", Unreachable, "HTTP 500: oops"),
        (502, b"<html>Too many requests</html>", Unreachable, "HTTP 502"),
        (503, b"no server is available", Unreachable, "HTTP 503: no server"),
        (200, {"code": 9, "message": "too many requests"}, RateLimited, "too many requests"),
    ],
)
def test_words_of_gateways_before_nodes(status: int, content: Any, fault: type[RpcFault], words: str) -> None:
    with pytest.raises(fault) as raised:
        answering(status, content).request(TWO)
    assert raised.type is fault
    assert words in str(raised.value)


@pytest.mark.parametrize("status", [400, 402, 403, 429, 503])
def test_retry_after_counts_with_any_status(status: int) -> None:
    error = {"id": 1, "error": {"code": -32005, "message": "Monthly capacity limit exceeded"}}
    with pytest.raises(RateLimited) as raised:
        answering(status, error, retry_after="7").request(ONE)
    assert raised.value.seconds == 7


@pytest.mark.parametrize(
    ("node", "calls", "fault"),
    [
        (answering(500, b"oops"), TWO, Unreachable),
        (answering(413, b""), TWO, TooLarge),
        (answering(400, b"[]"), TWO, Unreachable),
        (answering(302, b"", location="https://elsewhere.example"), ONE, Unreachable),
        (answering(200, {"id": None, "error": {"code": -32600, "message": "no batch"}}), TWO, Unreachable),
        (answering(200, {"error": {"code": -32005, "message": "rate limit exceeded"}}), TWO, RateLimited),
        (answering(200, {"error": {"message": "query returned more than 10000 results"}}), TWO, TooLarge),
        (answering(200, {"id": 1, "result": 1}), TWO, Garbled),
        (answering(200, [{"id": 1, "result": 1}]), TWO, Garbled),
        (answering(200, [{"id": 1, "result": 1}, {"id": 1, "result": 2}]), TWO, Garbled),
        (answering(200, [{"id": 7, "result": 1}]), ONE, Garbled),
        (answering(200, [{"id": True, "result": 1}]), ONE, Garbled),
        (answering(200, ["0x1"]), ONE, Garbled),
        (answering(200, "0x1"), ONE, Garbled),
        (answering(200, b"\xff\xfe"), ONE, Garbled),
        (answering(200, {"id": 1, "result": 1}, content_encoding="secret"), ONE, Garbled),
    ],
)
def test_invalid_answer_raises_fault(node: Client, calls: list[Call], fault: type[RpcFault]) -> None:
    with pytest.raises(fault) as raised:
        node.request(calls)
    assert raised.type is fault


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "17"}, 17),
        ({"Retry-After": "1.5"}, 1.5),
        ({"Retry-After": "999999999"}, 3600),
        ({"Retry-After": "Fri, 29 May 2026 10:00:30 GMT", "Date": "Fri, 29 May 2026 10:00:00 GMT"}, 30),
        ({"Retry-After": "Fri, 29 May 2026 10:00:30 GMT"}, None),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_rate_limit_error_has_seconds_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    with pytest.raises(RateLimited) as raised:
        client(lambda _request: httpx.Response(429, headers=headers)).request(ONE)
    assert raised.value.seconds == seconds


def test_whole_answer_has_a_deadline() -> None:
    now = [0.0]

    def drip() -> Any:
        for _ in range(100):
            now[0] += 1
            yield b" "

    node = client(lambda _request: httpx.Response(200, content=drip()), monotonic=lambda: now[0], seconds=30)
    with pytest.raises(Slow, match="no complete answer within 30 seconds"):
        node.request(ONE)


def raise_of(error: type[Exception]) -> Callable[[httpx.Request], httpx.Response]:
    def answer(_request: httpx.Request) -> httpx.Response:
        raise error(f"it happened at {URL}")

    return answer


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError,
        httpx.ReadTimeout,
        httpx.RemoteProtocolError,
        httpx.UnsupportedProtocol,
        httpx.InvalidURL,
        UnicodeError,
        OSError,
    ],
)
def test_no_fault_shows_the_url(error: type[Exception], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(RpcFault) as raised:
        client(raise_of(error)).request(ONE)
    shown = "".join(traceback.format_exception(raised.value)) + caplog.text
    for secret in ("node.example", "0123456789abcdef", "fedcba987654", "pass-of-user"):
        assert secret not in shown


def test_no_log_line_shows_the_url(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    answering(content={"id": 1, "result": 1}).request(ONE)
    assert "node.example" not in caplog.text
    assert "0123456789abcdef" not in caplog.text


def test_node_messages_hide_secrets() -> None:
    words = (
        "key 0123456789ABCDEF of user:pass-of-user is over its limit, see https://node.example/pay?x=1\n"
        f"{URL} fedcba987654 node.example:8443 \x1b[31m" + "x" * 500
    )
    shown = without_secrets(words, URL)
    for secret in ("0123456789abcdef", "fedcba987654", "pass-of-user", "node.example", "\n", "\x1b"):
        assert secret not in shown.lower()
    assert shown.startswith("key (hidden) of user:(hidden) is over its limit")
    assert len(shown) <= READ_CHARACTERS
    assert len(str(fault_of(shown, 0))) < 250
