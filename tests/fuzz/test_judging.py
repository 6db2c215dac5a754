"""What the fuzzer calls wrong: answers as a server with a fault would give them."""

from __future__ import annotations

import json
import random
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from tests.fuzz.campaign import Client, Outcome
from tests.fuzz.exchange import Answer, Exchange, read_answer
from tests.fuzz.inputs import question
from tests.fuzz.judging import is_slow, wrong
from tests.fuzz.mutation import document
from tests.fuzz.questions import Question, World, request

JSON = b"Content-Type: application/json\r\n"
REASON = b"X-Gateway-Reason: bad_request\r\n"
ERROR = b'{"err":{"code":500,"msg":"no"}}'
STATUS = Question("json", request(b"POST", b"/v2/getTransferStatus", [], b"{}"))
CALL = Question("grpcweb", request(b"POST", b"/sgn.gateway.v1.Web/X", [], b""))
SMUGGLING = Question("smuggling", STATUS.raw, fresh=True)
HEAD = Question("json", request(b"HEAD", b"/v2/getTransferStatus", [], b""))
PAGE = Question("pages", request(b"GET", b"/docs/logs.html", [], b""))
TRACEBACK = b"Traceback (most recent call last):"
GRPC = b"Content-Type: application/grpc-web+proto\r\n"


def answered(*answers: bytes, rest: bytes = b"", seconds: float = 0.1) -> Exchange:
    found = [read_answer(each, b"POST", ended=True) for each in answers]
    return Exchange([each[0] for each in found if each], rest, seconds, False)


def answer(status: int, headers: bytes, body: bytes) -> bytes:
    return b"HTTP/1.1 %d X\r\n%sContent-Length: %d\r\n\r\n%s" % (status, headers, len(body), body)


@pytest.mark.parametrize(
    ("asked", "found", "what"),
    [
        (STATUS, answered(), "no answer"),
        (STATUS, answered(answer(500, JSON + REASON, ERROR)), "status 500"),
        (STATUS, answered(answer(400, b"Content-Type: text/html\r\n", b"<h1>")), "is no envelope"),
        (STATUS, answered(answer(400, JSON + REASON, b"{}")), "no envelope"),
        (STATUS, answered(answer(400, JSON, ERROR)), "does not say what is wrong"),
        (STATUS, answered(answer(400, JSON + REASON, b'{"err":null}')), "does not say what is wrong"),
        (STATUS, answered(answer(200, JSON, b'{"err":null}'), rest=b"HTTP/1.1 200"), "that are no answer"),
        (STATUS, answered(*[answer(200, JSON, b'{"err":null}')] * 2), "2 answers"),
        (HEAD, answered(answer(400, JSON + REASON, b""), rest=ERROR), "that are no answer"),
        (STATUS, answered(answer(503, JSON + REASON, ERROR)), "503 without Retry-After"),
        (STATUS, answered(answer(400, b"", TRACEBACK + b"\n  File x")), "a traceback"),
        (
            STATUS,
            answered(answer(400, b"", b"+ Exception Group " + TRACEBACK + b"\n  |   File x")),
            "a traceback",
        ),
        (STATUS, answered(answer(400, JSON, b'{"err":"' + TRACEBACK + b'\\n  File x"}')), "a traceback"),
        (CALL, answered(answer(200, GRPC, b"\0\0\0\0\0")), "no trailers"),
        (CALL, answered(answer(200, GRPC, b"\x80\0\0\0\x0egrpc-status:13")), "grpc-status 13"),
        (SMUGGLING, answered(answer(200, JSON, b'{"err":null}')), "a body of two lengths"),
        (SMUGGLING, answered(), "a body of two lengths"),
    ],
)
def test_what_is_wrong(asked: Question, found: Exchange, what: str) -> None:
    assert what in (wrong(asked, found) or "")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (STATUS, answered(answer(200, JSON, b'{"err":null}'))),
        (STATUS, answered(answer(400, JSON + REASON, ERROR))),
        (STATUS, answered(answer(503, JSON + REASON + b"Retry-After: 1\r\n", ERROR))),
        (CALL, answered(answer(200, GRPC, b"\x80\0\0\0\x0dgrpc-status:3"))),
        (SMUGGLING, answered(answer(400, JSON + REASON, ERROR))),
        (HEAD, answered(answer(414, JSON + b"Connection: close\r\n" + REASON, b""), rest=ERROR)),
        (PAGE, answered(answer(200, JSON, b'"its first line: ' + TRACEBACK + b'\\n The fields"'))),
    ],
)
def test_what_is_right(asked: Question, found: Exchange) -> None:
    assert wrong(asked, found) is None


def test_slow_is_more_than_a_second() -> None:
    assert is_slow(answered(seconds=1.1))
    assert not is_slow(answered(seconds=0.9))


def test_an_answer_is_read_to_its_end() -> None:
    chunked = b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\nmore"
    found = read_answer(chunked, b"GET")
    assert found is not None
    assert (found[0].body, found[1]) == (b"ab", b"more")
    assert all(read_answer(chunked[:end], b"GET") is None for end in range(len(chunked) - len("more")))
    head = b"HTTP/1.1 200 X\r\nContent-Length: 5\r\n\r\n"
    assert read_answer(head + b"abcd", b"GET") is None
    assert read_answer(head, b"HEAD") == (Answer(200, head, b""), b"")


WORLD = World(
    ["0x" + "01" * 32], ["0x" + "02" * 20], "token", "gwk_0", "a@example.org", "word",
    examples=[{"method": "POST", "path": "/v2/getTransferStatus", "body": '{"transfer_id": "0x00"}'}],
    calls=[{"path": "/sgn.gateway.v1.Web/GetTransferStatus", "base64": "AAAAAAA="}],
    lines=[{"id": "1", "type": "transfer.sent", "transfer_id": "0x00"}],
    forms=[("/admin/chains/1", [("name", "x")])], pages=["/admin/"], public=["/docs/"],
)  # fmt: skip


def test_seed_and_number_choose_the_input(monkeypatch: pytest.MonkeyPatch) -> None:
    once, other = ([question(seed, n, WORLD) for n in range(1000)] for seed in (1, 2))
    monkeypatch.setattr(time, "time", lambda: 1e9)  # no input has the time in it
    again = [question(1, n, WORLD) for n in range(1000)]
    assert once == again
    assert once != other
    assert len({each.door for each in once}) >= 8


@contextmanager
def always(reply: bytes) -> Iterator[tuple[str, int]]:
    """A server that answers each connection once, whatever it says."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    wire, _ = listener.accept()
                except OSError:
                    return
                with wire:
                    wire.recv(65536)
                    wire.sendall(reply)

        Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[:2]
        listener.shutdown(socket.SHUT_RDWR)


def test_fault_becomes_numbered_finding() -> None:
    with always(answer(500, b"Connection: close\r\n", b"oops")) as (host, port):
        client, outcome = Client(host, port, 1, WORLD), Outcome()
        for number in range(20):
            client.send(number, outcome)
    assert {finding.number for finding in outcome.findings} == set(range(20))


def test_lists_in_lists_stay_small() -> None:
    """One that was repeated at each level had 684 MB, and its answer was called slow."""
    for seed in range(300):
        changed = document(random.Random(seed), {"amount": [[[[[[["1"]]]]]]]})
        assert len(json.dumps(changed)) < 1_000_000, seed
