"""Inputs for the interfaces of programs: JSON, waiting, webhooks, gRPC-Web, the feed."""

from __future__ import annotations

import base64
import gzip
import json
import random
from typing import Any
from urllib.parse import parse_qsl

from tests.fuzz.input import Corpus, Input, http_request
from tests.fuzz.mutation import (
    CONTENT_TYPES,
    METHODS,
    as_json,
    document,
    encoded,
    more_headers,
    one_line,
    pairs,
    path,
    tampered,
    text,
)

GRPC = "/sgn.gateway.v1.Web/"
METHOD_NAMES = (
    "EstimateAmt", "GetTransferStatus", "GetLatest7DayTransferLatencyForQuery", "TransferHistory",
    "GetTransferConfigs", "WithdrawLiquidity", "EstimateWithdrawAmt", "GetTokenBound",
    "GetTransferConfigsForAll",
)  # fmt: skip


def json_input(chance: random.Random, corpus: Corpus) -> Input:
    """A right request of an operation with a few things changed."""
    example = chance.choice(corpus.examples)
    return _changed(chance, example, "json", _key_header(chance, corpus))


def webhook_input(chance: random.Random, corpus: Corpus) -> Input:
    """Webhooks of an API key: made, listed, removed."""
    body = {
        "url": "https://hooks.example/in",
        "accounts": [chance.choice(corpus.accounts)],
        "transfer_ids": [chance.choice(corpus.ids)],
    }
    example = chance.choice(
        (
            {"method": "POST", "path": "/v2/webhooks", "body": json.dumps(body)},
            {"method": "POST", "path": "/v1/webhooks", "body": json.dumps(body)},
            {"method": "GET", "path": "/v2/webhooks"},
            {"method": "DELETE", "path": "/v2/webhooks?id=whk_0000"},
        )
    )
    key = [f"Authorization: Bearer {corpus.api_key}".encode()]
    return _changed(chance, example, "json", key if chance.random() < 0.9 else [])


def waiting_input(chance: random.Random, corpus: Corpus) -> Input:
    """A client that waits for a moment."""
    fields = [("transfer_id", chance.choice(corpus.ids))]
    if chance.random() < 0.5:
        fields += [
            ("after_status", str(chance.randrange(13))),
            ("timeout", chance.choice(("0", "1", "0.01"))),
        ]
        where = "/v2/waitTransferStatus"
    else:
        if chance.random() < 0.4:
            fields = [("account", chance.choice(corpus.accounts))]
        if chance.random() < 0.4:
            fields.append(("last_event_id", f"{chance.randrange(5000)}-0"))
        where = "/v2/transferEvents"
    query = encoded(chance, pairs(chance, fields))
    method = b"GET" if chance.random() < 0.9 else chance.choice(METHODS)
    target = one_line(path(chance, where) + b"?" + query, spaces=False)
    return Input("waiting", http_request(method, target, more_headers(chance)), timeout=0.03)


def grpc_input(chance: random.Random, corpus: Corpus) -> Input:
    """Frames, texts of frames, and metadata."""
    text_mode = chance.random() < 0.4
    example = chance.choice(corpus.calls)
    message = base64.b64decode(example["base64"])[5:]
    if chance.random() < 0.5:
        message = tampered(chance, message)
    body = _framed(chance, message)
    if text_mode:
        cut = chance.randrange(len(body) + 1)
        body = base64.b64encode(body[:cut]) + base64.b64encode(body[cut:])
    if chance.random() < 0.3:
        body = tampered(chance, body)
    name = example["path"].removeprefix(GRPC)
    if chance.random() < 0.3:
        name = chance.choice((*METHOD_NAMES, "", "x/y", "Nothing"))
    kind = b"application/grpc-web-text" if text_mode else b"application/grpc-web+proto"
    if chance.random() < 0.05:
        kind = chance.choice(CONTENT_TYPES)
    headers = [b"Content-Type: " + kind, *_key_header(chance, corpus), *more_headers(chance)]
    if chance.random() < 0.1:
        limit = chance.choice((b"1H", b"0S", b"5", b"S", b"99999999n", b"x" * 50, b"1m", b"\xff", b"-1S"))
        headers.append(b"grpc-timeout: " + limit)
    method = b"POST" if chance.random() < 0.95 else chance.choice(METHODS)
    return Input(
        "grpcweb", http_request(method, one_line(path(chance, GRPC + name), spaces=False), headers, body)
    )


def _framed(chance: random.Random, message: bytes) -> bytes:
    kind = chance.randrange(10)
    flags = chance.choice((0, 0, 0, 0, 0, 1, 0x80, chance.randrange(256)))
    if kind == 0:
        return chance.randbytes(chance.randrange(64))
    if kind == 1:
        return bytes([flags]) + chance.randrange(2**32).to_bytes(4, "big") + message
    if kind == 2:
        message += bytes(chance.choice((1000, 65_400, 65_536, 140_000)))
    body = bytes([flags]) + len(message).to_bytes(4, "big") + message
    return body * 2 if kind == 3 else body


def ingest_input(chance: random.Random, corpus: Corpus) -> Input:
    """Lines of the feed, requests for the cursor and for refund requests."""
    headers = [f"Authorization: Bearer {corpus.token}".encode()]
    if chance.random() < 0.1:
        headers = chance.choice(([], [b"Authorization: Bearer x"], [one_line(tampered(chance, headers[0]))]))
    if chance.random() < 0.15:
        where = chance.choice(("/ingest/v1/cursor", "/ingest/v1/refund-requests", "/ingest/v1/nothing"))
        fields = chance.choice(([], [("after", "1")], [("limit", "5"), ("after", "0")]))
        query = encoded(chance, pairs(chance, fields))
        target = one_line(path(chance, where) + b"?" + query, spaces=False)
        method = b"GET" if chance.random() < 0.8 else chance.choice(METHODS)
        return Input("ingest", http_request(method, target, headers + more_headers(chance)))
    lines = [_line(chance, corpus) for _ in range(chance.choice((0, 1, 1, 1, 2, 3, 8)))]
    body = chance.choice((b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b"\r", b"\x85")).join(lines)
    if chance.random() < 0.1:
        body = gzip.compress(body, mtime=0)[: chance.choice((None, None, 5, -3))]
        headers.append(b"Content-Encoding: gzip")
    kind = b"application/x-ndjson" if chance.random() < 0.95 else chance.choice(CONTENT_TYPES)
    headers += [b"Content-Type: " + kind, *more_headers(chance)]
    target = one_line(path(chance, "/ingest/v1/events"), spaces=False)
    if chance.random() < 0.15:
        cut = chance.randrange(len(body) + 1)
        pieces = [each for each in (body[:cut], body[cut:]) if each]
        chunked = b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in pieces) + b"0\r\n\r\n"
        return Input(
            "ingest", http_request(b"POST", target, [*headers, b"Transfer-Encoding: chunked"]) + chunked
        )
    return Input("ingest", http_request(b"POST", target, headers, body))


def _line(chance: random.Random, corpus: Corpus) -> bytes:
    """An event that was taken: again, about another transfer, with other values, or broken."""
    event = dict(chance.choice(corpus.lines))
    if chance.random() < 0.5:
        event["id"] = f"fuzz-{chance.getrandbits(64)}"
    if chance.random() < 0.5 and "transfer_id" in event:
        event["transfer_id"] = chance.choice((chance.choice(corpus.ids), f"0x{chance.getrandbits(256):064x}"))
    for _ in range(chance.choice((0, 0, 1, 1, 2))):
        event = document(chance, event)
        if not isinstance(event, dict):
            break
    written = as_json(chance, event)
    return tampered(chance, written) if chance.random() < 0.1 else written


def _changed(chance: random.Random, example: dict[str, Any], interface: str, headers: list[bytes]) -> Input:
    where, _, query = example["path"].partition("?")
    fields = parse_qsl(query, keep_blank_values=True)
    target = path(chance, where)
    if fields or chance.random() < 0.05:
        target += b"?" + encoded(chance, pairs(chance, fields))
    method = example["method"].encode()
    if chance.random() < 0.05:
        method = chance.choice(METHODS)
    body = _body(chance, example)
    if body is not None or chance.random() < 0.05:
        kind = b"application/json" if chance.random() < 0.95 else chance.choice(CONTENT_TYPES)
        headers = [*headers, b"Content-Type: " + kind]
    headers = [*headers, *more_headers(chance)]
    return Input(interface, http_request(method, one_line(target, spaces=False), headers, body))


def _body(chance: random.Random, example: dict[str, Any]) -> bytes | None:
    right = example.get("body")
    if right is None:
        return None if chance.random() < 0.95 else text(chance, "{}").encode("utf-8", "surrogatepass")
    try:
        body = json.loads(right)
    except ValueError:
        return tampered(chance, right.encode())
    for _ in range(chance.choice((0, 1, 1, 2))):
        body = document(chance, body)
    written = as_json(chance, body)
    return written + b" " * 70_000 if chance.random() < 0.01 else written


def _key_header(chance: random.Random, corpus: Corpus) -> list[bytes]:
    kind = chance.random()
    if kind < 0.9:
        return []
    key = f"Authorization: Bearer {corpus.api_key}".encode()
    return [key if kind < 0.97 else one_line(tampered(chance, key))]
