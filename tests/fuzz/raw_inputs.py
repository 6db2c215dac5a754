"""Inputs for the server itself: what is no HTTP, or HTTP that two readers could read differently."""

from __future__ import annotations

import random

from tests.fuzz.input import Corpus, Input, http_request
from tests.fuzz.mutation import HEADERS, METHODS, TELLING, tampered

SOURCE = "127.0.3.1"
STATUS = b'{"transfer_id":"%s"}'

SMUGGLED = b"GET /v2/smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
"""A request in a body. A server that answers it reads the body's length in another way than the sender."""

TWO_LENGTHS: tuple[list[bytes], ...] = (
    [b"Content-Length: 4", b"Transfer-Encoding: chunked"],
    [b"Transfer-Encoding: chunked", b"Content-Length: 4"],
    [b"Content-Length: 4", b"Content-Length: 5"],
    [b"Content-Length: 4, 5"],
    [b"Content-Length: +4"],
    [b"Content-Length: 0x4"],
    [b"Content-Length: 4_0"],
    [b"Content-Length: -4"],
    [b"Content-Length : 4"],
    [b"Content-Length:\x0b4"],
    [b"Transfer-Encoding: xchunked"],
    [b"Transfer-Encoding : chunked"],
    [b"Transfer-Encoding:\x0bchunked"],
    [b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"],
    [b"Transfer-Encoding: identity, chunked, chunked"],
    [b"X: y", b" Transfer-Encoding: chunked"],
    [b"Content-Length: 99999999999999999999"],
)
"""Heads with two ends of the body, or an unclear one: each is refused, and the connection closed."""

CHUNKS = (
    b"-1\r\nx\r\n0\r\n\r\n", b"0x5\r\nhello\r\n0\r\n\r\n", b"1_0\r\nhello\r\n0\r\n\r\n",
    b"5;" + b"x" * 5000 + b"\r\nhello\r\n",
    b"5\r\nhel", b"5\nhello\n0\n\n", b"ffffffffffffffff\r\nx", b"5\r\nhelloXX0\r\n\r\n",
    b"0\r\nTrailer: a\r\n\r\n",
    b"0\r\n" + b"T: x\r\n" * 300 + b"\r\n", b"\r\n\r\n", b"5 \r\nhello\r\n0\r\n\r\n", b"",
    b"5\r\nhello\r\n" * 20 + b"0\r\n\r\n",
)  # fmt: skip

LINES = (
    b"GET / HTTP/1.1", b"GET / HTTP/1.0", b"GET / HTTP/2.0", b"GET / HTTP/9.9", b"GET /", b"GET", b"",
    b" ", b"GET  / HTTP/1.1",
    b"GET / HTTP/1.1 x", b"GET\t/\tHTTP/1.1", b"G\x00T / HTTP/1.1", b"GET /\x00 HTTP/1.1",
    b"GET /\xff\xfe HTTP/1.1",
    b"GET http:// HTTP/1.1", b"GET http://[::1 HTTP/1.1", b"GET //// HTTP/1.1", b"GET * HTTP/1.1",
    b"OPTIONS * HTTP/1.1",
    b"CONNECT a:1 HTTP/1.1", b"PRI * HTTP/2.0\r\n\r\nSM",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET ?a HTTP/1.1",
    b"GET /" + b"a" * 9000 + b" HTTP/1.1", b"GET /?" + b"a=%00&" * 1300 + b" HTTP/1.1", b"HELO x",
    b"GET / HTTP/1.1\r", b"\r\n" * 40,
    b"get / http/1.1", b"GET / HTTP/1.1\nHost: x", b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2",
    b"GET /v2/getTransferConfigs HTTP/1.1",
)  # fmt: skip

BAD_HEADERS = (
    b"Host:", b"Host: a\r\nHost: b", b": x", b"A", b"A B: c", b"A\x00: b", b"A: b\x00", b"\xff: \xfe",
    b" folded: x",
    b"X: " + b"y" * 9000, b"Connection: close, keep-alive", b"Connection: \xff",
    b"Keep-Alive: timeout=-1", b"A:" + b" " * 3000,
    b"Upgrade: websocket\r\nConnection: Upgrade", b"Expect: 100-continue", b"Content-Type: \x00",
    b"Secret_Header: x", b"X: \r\n y",
)  # fmt: skip


def raw_input(chance: random.Random, corpus: Corpus) -> Input:
    """Any of them, on a connection of its own."""
    kind = chance.randrange(7)
    if kind == 0:
        return _two_lengths(chance)
    if kind == 1:
        return _whole(chance, chance.randbytes(chance.randrange(1, 200)), 8)
    if kind == 2:
        return _in_advance(chance, corpus)
    good = _good(chance, corpus)
    if kind == 3:
        return _whole(chance, good[: chance.randrange(1, len(good))], 1)
    if kind == 4:
        head = b"POST /v2/getTransferStatus HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        chunks = chance.choice(CHUNKS)
        chunks = tampered(chance, chunks) if chance.random() < 0.3 else chunks
        return _whole(chance, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks, 8)
    if kind == 5:
        line = chance.choice(LINES)
        some = [chance.choice((*BAD_HEADERS, *HEADERS)) for _ in range(chance.choice((0, 1, 1, 2, 5, 120)))]
        return _whole(chance, b"\r\n".join((line, *some)) + b"\r\n\r\n", 45)
    changed = bytearray(tampered(chance, good))
    at = chance.randrange(len(changed) + 1)
    changed[at:at] = bytes([chance.choice(TELLING)]) * chance.choice((1, 1, 30, 9000))
    return _whole(chance, bytes(changed), 8)


def _good(chance: random.Random, corpus: Corpus) -> bytes:
    body = STATUS % chance.choice(corpus.ids).encode()
    headers = [b"Content-Type: application/json", *chance.sample(HEADERS, chance.randrange(3))]
    where = chance.choice(
        (b"/v2/getTransferStatus", b"/v2/getTransferStatus", b"/admin/sign-in", b"/ingest/v1/events")
    )
    return http_request(b"POST" if chance.random() < 0.9 else chance.choice(METHODS), where, headers, body)


def _two_lengths(chance: random.Random) -> Input:
    head = [b"POST /v2/getTransferStatus HTTP/1.1", b"Host: x", *chance.choice(TWO_LENGTHS)]
    body = chance.choice((b"0\r\n\r\n" + SMUGGLED, b"4\r\naaaa\r\n0\r\n\r\n" + SMUGGLED, SMUGGLED))
    return Input("smuggling", b"\r\n".join(head) + b"\r\n\r\n" + body, SOURCE, timeout=2.0, fresh=True)


def _in_advance(chance: random.Random, corpus: Corpus) -> Input:
    """Several requests at once, of which some are broken."""
    several = [_good(chance, corpus).replace(b"HEAD", b"GET", 1) for _ in range(chance.choice((2, 3, 10)))]
    if chance.random() < 0.5:
        at = chance.randrange(len(several))
        several[at] = tampered(chance, several[at])
    return _whole(chance, b"".join(several), 2 * len(several) + 6)


def _whole(chance: random.Random, raw: bytes, most: int) -> Input:
    return Input("raw", raw, SOURCE, timeout=2.0, most=most, fresh=True)
