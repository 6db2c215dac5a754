"""Any bytes as a call: HTTP 200 with a status, never a fault of the gateway, never a wait."""

from __future__ import annotations

import base64
import io
import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from google.protobuf.message import Message

from app import create_app
from app.db.models import db
from app.grpcweb import gateway_pb2 as pb
from tests.amounts import few_or_many
from tests.api.world import ADDRESS, NOW, configure, report_events, sent
from tests.applications import make_settings
from tests.fuzz.mutation import tampered
from tests.grpcweb.wire import (
    DEADLINE_EXCEEDED,
    INVALID_ARGUMENT,
    METHODS,
    OK,
    RESOURCE_EXHAUSTED,
    SERVICE,
    UNIMPLEMENTED,
    frame,
    frames,
)
from tests.refunds.requesting import withdraw_req

SLOWEST_SECONDS = 10.0
EXPECTED = {OK, INVALID_ARGUMENT, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED, UNIMPLEMENTED}
ID = "0x" + "5a" * 32
NAMES = [*METHODS] * 6 + ["", "x/y"]
OWN = {request: method for method, (request, _) in METHODS.items()}
"""The method that each message is the request of."""
TYPES = ["application/grpc-web+proto", "application/grpc-web-text"] * 8 + [
    "application/grpc-web", "application/grpc-web-text+proto", "application/json", "",
]  # fmt: skip
TIMEOUTS = [None] * 20 + ["1H", "0S", "5", "S", "99999999n", "x" * 50]
EXAMPLES: list[Message] = [
    pb.EstimateAmtRequest(
        src_chain_id=1, dst_chain_id=56, token_symbol="USDT", amt="1000000", slippage_tolerance=3000
    ),
    pb.EstimateAmtRequest(
        src_chain_id=2**32 - 1, usr_addr="\u00e9" * 128, amt=str(2**256 - 1), is_pegged=True
    ),
    pb.GetTransferStatusRequest(transfer_id=ID),
    pb.GetLatest7DayTransferLatencyForQueryRequest(src_chain_id=2**64 - 1, dst_chain_id=1),
    pb.GetTransferConfigsRequest(),
    pb.WithdrawLiquidityRequest(withdraw_req=withdraw_req(ID)),
    pb.EstimateWithdrawAmtRequest(
        src_withdraws=[pb.WithdrawSource(chain_id=1, amount="9")], dst_chain_id=1, token_symbol="USDT"
    ),
    pb.GetTokenBoundRequest(chain_id=1, token_addr=ADDRESS),
    pb.TransferHistoryRequest(acct_addr=["a", "b"], page_size=9),
]


@pytest.fixture(scope="module")
def app(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """The small network with one transfer; its snapshot is not renewed for each request."""
    path = tmp_path_factory.mktemp("fuzz") / "gateway.db"
    shutil.copy(sqlite_template, path)
    app = create_app(make_settings(f"sqlite:///{path}", config_max_age_seconds=30), clock=lambda: NOW)
    configure(app)
    report_events(app, sent(ID))
    yield app
    with app.app_context():
        db.engine.dispose()


@pytest.mark.parametrize("inputs", few_or_many(2_000, 50_000))
def test_random_calls_are_answered_with_a_status(app: Flask, inputs: int) -> None:
    chance = random.Random(20_260_308)
    seen: Counter[int] = Counter()
    for number in range(inputs):
        kind = chance.choice(TYPES)
        example = chance.choice(EXAMPLES)
        # Of every other call the method is the one that its message is for.
        name = chance.choice((OWN[type(example)], chance.choice(NAMES)))
        body = tampered(chance, starting_point(chance, example, "text" in kind))
        began = time.monotonic()
        try:
            seen[call(app, name, kind, body, chance.choice(TIMEOUTS))] += 1
        except AssertionError as error:
            raise AssertionError(f"input {number}, {kind}: {body[:200]!r}") from error
        assert time.monotonic() - began < SLOWEST_SECONDS, body[:200]
    assert set(seen) == EXPECTED, seen
    assert min(seen[OK], seen[INVALID_ARGUMENT]) > inputs // 20, seen


def starting_point(chance: random.Random, example: Message, as_text: bool) -> bytes:
    """A right call, two of them, one with a wrong length, or noise."""
    message = example.SerializeToString()
    kind = chance.randrange(10)
    if kind == 0:
        return chance.randbytes(chance.randrange(64))
    if kind == 1:
        message = tampered(chance, message)
    body = frame(message, chance.choice((0, 0, 0, 0, 1, 0x80, chance.randrange(256))))
    if kind == 2:
        body += frame(message)
    if kind == 3:
        body = body[:1] + chance.randrange(2**32).to_bytes(4, "big") + body[5:]
    if kind == 4:
        body = frame(message + bytes(chance.choice((1000, 65_400, 65_536, 140_000))))
    if not as_text:
        return body
    cut = chance.randrange(len(body) + 1)
    return base64.b64encode(body[:cut]) + base64.b64encode(body[cut:])


def call(app: Flask, name: str, content_type: str, body: bytes, timeout: str | None) -> int:
    """The gRPC status of what the application answers, as a server calls it."""
    environ: dict[str, Any] = {
        "REQUEST_METHOD": "POST", "SCRIPT_NAME": "", "PATH_INFO": SERVICE + name, "QUERY_STRING": "",
        "SERVER_NAME": "localhost", "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1", "CONTENT_TYPE": content_type, "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body), "wsgi.url_scheme": "http", "wsgi.errors": io.StringIO(),
        "wsgi.version": (1, 0), "wsgi.multithread": False, "wsgi.multiprocess": False, "wsgi.run_once": False,
    }  # fmt: skip
    if timeout is not None:
        environ["HTTP_GRPC_TIMEOUT"] = timeout
    begun: list[Any] = []

    def start(status: str, headers: list[tuple[str, str]], _error: object = None, /) -> Any:
        begun.extend((status, headers))

    answer = b"".join(app.wsgi_app(environ, start))
    status, headers = begun[0], dict(begun[1])
    assert status == "200 OK"
    if headers["Content-Type"] == "application/grpc-web-text+proto":
        answer = base64.b64decode(answer, validate=True)
    *_, (flags, end) = frames(answer)
    assert flags == 0x80
    return int(dict(line.split(":", 1) for line in end.decode().split("\r\n") if line)["grpc-status"])
