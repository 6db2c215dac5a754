"""Both clients request each operation of a gateway."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.sandbox.catalogue import sandbox_id
from app.values.codes import TransferHistoryStatus
from tests.clients import workshop
from tests.clients.conftest import ThroughNginx
from tests.serving.server import Server

REFUND = sandbox_id(TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED)
USER = "0x" + "5a" * 18 + "0017"
ANSWERED = {
    "same": True,
    "received": "394563471907988034",
    "state": [8, False, "user", 60, True],
    "evidence": True,
    "found": ["known", "reported"],
    "words": "Tu reembolso está listo: confírmalo",
    "asked": None,
    "refused": [500, "bad_request", 400, False],
    "ways": True,
    "explained": None,
    "latency": [246.5, 246.5],
    "history": [8],
    "statuses": [8],
}


def cases(base: str, key: str) -> list[dict[str, Any]]:
    """What both clients request."""
    common: dict[str, Any] = {"base": base, "transfer": REFUND}
    url = "https://example.org/hooks"
    return [
        common | {"name": "session", "do": "session", "account": USER, "expect": {"value": ANSWERED}},
        common
        | {"name": "unknown", "do": "wait", "transfer": "0x" + "ab" * 32, "unknown_for": 0}
        | {"expect": {"error": "GatewayError", "says": "transfer_not_found"}},
        common
        | {"name": "keyed", "do": "keyed", "key": key, "url": url}
        | {"expect": {"value": ["whsec_", [url], []]}},
    ]


def test_python_client_requests_every_operation(server: Server, key: str) -> None:
    workshop.check_python(cases(server.base, key), {})


@pytest.mark.system
def test_clients_request_every_operation_through_nginx(
    server: Server, key: str, through_nginx: ThroughNginx, tmp_path: Path
) -> None:
    requested = cases(through_nginx(server.port), key)
    workshop.check_python(requested, {}, program=workshop.AWAITED)
    workshop.check_typescript(requested, {}, tmp_path)
