"""Clients generated from the document call every operation, without a cast."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app import create_app
from app.sandbox.catalogue import sandbox_id
from app.transfers.rules.refunds.refund_pb2 import WithdrawReq
from app.values.codes import TransferHistoryStatus
from tests.applications import make_settings
from tests.grpcweb.node import run
from tests.openapi import generated
from tests.serving.server import Server

REFUND = sandbox_id(TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED)
REQUEST = b64encode(
    WithdrawReq(
        xfer_id=REFUND.removeprefix("0x"), req_id=1_700_000_000, withdraw_type="REFUND_TRANSFER"
    ).SerializeToString()
).decode()
RECEIVED = "394563471907988034"
CALLED = {
    "received": RECEIVED,
    "posted": RECEIVED,
    "form": RECEIVED,
    "status": 8,
    "send": [500, None],  # the sandbox gives no transaction
    "signatures": 3,
    "found": "known",
    "by transaction": 8,
    "by get": 8,
    "token": 6,
    "statuses": [[8, None], [0, 500]],
    "in its history": True,
    "requested": "1700000000",
    "latency": True,
    "figures": True,
    "explained": [None, [RECEIVED]],
    "followed": [[False, "user"], [False, ""]],
    "evidence": True,
    "call": "withdraw",
    "decimals": 18,
    "same": True,
    "health": [None, None, None],
    "webhooks": [[401, 0]] * 3,
    "refused": [400, 500, ""],
}

OF_GENERATOR = (
    "received", "posted", "status", "signatures", "found", "by transaction", "statuses", "in its history",
    "figures", "evidence", "call", "decimals",
)  # fmt: skip
"""What the ten calls of openapi-generator's clients bring."""
TEN_CALLS = {name: CALLED[name] for name in OF_GENERATOR} | {
    "lists": [False, True, True, True],  # of the call's arguments: bytes, bytes[], address[], uint256[]
    "refused": 400,
}


@pytest.fixture(scope="module")
def document(sqlite_template: Path) -> bytes:
    app = create_app(make_settings(f"sqlite:///{sqlite_template}"))
    return app.test_client().get("/openapi.json").data


@pytest.mark.slow
@pytest.mark.parametrize(
    "made",
    [
        pytest.param(generated.typescript, id="typescript", marks=pytest.mark.system),
        pytest.param(generated.python, id="python"),
    ],
)
def test_client_calls_every_operation(
    server: Server, document: bytes, made: Callable[[bytes], tuple[str, ...]]
) -> None:
    called: Any = json.loads(run(*made(document), server.base, REFUND, REQUEST))
    assert called == CALLED


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.parametrize(
    "made",
    [
        pytest.param(generated.openapi_generator_go, id="go"),
        pytest.param(generated.openapi_generator_fetch, id="typescript-fetch"),
        pytest.param(generated.openapi_generator_axios, id="typescript-axios"),
        pytest.param(generated.openapi_generator_java, id="java"),
        pytest.param(generated.openapi_generator_csharp, id="csharp"),
        pytest.param(generated.openapi_generator_rust, id="rust"),
    ],
)
def test_client_of_openapi_generator_makes_ten_calls(
    server: Server, document: bytes, made: Callable[[bytes], tuple[str, ...]]
) -> None:
    called: Any = json.loads(run(*made(document), server.base, REFUND))
    assert called == TEN_CALLS


def test_generated_clients_call_all_operations(document: bytes) -> None:
    typescript, python = ((generated.SOURCES / name).read_text() for name in ("calls.ts", "calls.py"))
    for path, operations in json.loads(document)["paths"].items():
        for method, operation in operations.items():
            assert f'client.{method.upper()}("{path}"' in typescript
            words = re.findall("[A-Z]?[a-z]+|[0-9]+", operation["operationId"])
            assert f"{'_'.join(words).lower()}.sync" in python


@pytest.mark.parametrize(
    ("name", "casts"),
    [
        ("calls.ts", r" as |\bany\b|@ts-|!\.|!;|!\)|<any>|\bunknown\b"),
        ("calls.py", r"\bAny\b|\bcast\(|type: ignore|getattr|dict\["),
    ],
)
def test_nothing_is_cast(name: str, casts: str) -> None:
    lines = (generated.SOURCES / name).read_text().splitlines()
    code = "\n".join(line for line in lines if not line.startswith(("//", '"""')))
    assert not re.search(casts, code)
