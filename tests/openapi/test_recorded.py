"""Every recorded answer and published change fits the document: it announces the status, and the body has the
schema of it.

``test_schemathesis.py`` sends requests of any kind to a real server, as a slow test.
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest
from openapi_schema_validator import OAS31Validator

from app.api.docs.views import document_bytes
from app.transfers.rules.published_changes import StatusChange
from app.values.codes import TransferHistoryStatus, XferStatus
from app.values.identifiers import TransferId
from app.webhooks.rules.subscription import headers
from tests.contract.recorded_answers import RECORDED

JSON = "application/json"
NEEDED = 200
"""Answers of documented operations that are recorded at least."""


def test_recorded_answers_fit_the_document() -> None:
    document = json.loads(document_bytes(compat_clients=True, waiting=True, sandbox=True))
    wrong, compared = list[str](), Counter[str]()
    for exchange in json.loads(RECORDED.read_text(encoding="utf-8")):
        request, answer = exchange["request"], exchange["answer"]
        path = request.get("path", "").partition("?")[0]
        operation = document["paths"].get(path, {}).get(request.get("method", "").lower())
        if operation is None:  # another interface, or a method that is refused
            continue
        content = announced(operation, answer["status"]).get("content", {})
        if not answer["headers"].get("Content-Type", "").startswith(JSON):
            wrong += [f"{request}: not as JSON"] if JSON in content else []
            continue
        compared[path] += 1
        schema = content[JSON]["schema"] | {"components": document["components"]}
        found = OAS31Validator(schema).iter_errors(json.loads(answer["body"]))
        wrong += [f"{request}: {each.json_path} {each.message[:200]}" for each in found]
    assert wrong == []
    assert compared.total() >= NEEDED


@pytest.mark.parametrize("taken_back", [False, True])
def test_published_changes_fit_the_document(taken_back: bool) -> None:
    document = json.loads(document_bytes(compat_clients=True, waiting=True, sandbox=False))
    change = StatusChange(
        transfer_id=TransferId(bytes(32)),
        seq=2**40,
        status=TransferHistoryStatus.TRANSFER_TO_BE_REFUNDED,
        previous_status=TransferHistoryStatus.TRANSFER_UNKNOWN,
        refund_reason=XferStatus.BAD_SLIPPAGE,
        taken_back=taken_back,
    )
    event = json.loads(json.dumps(change.event(datetime(2026, 11, 21, tzinfo=UTC))))
    post = document["webhooks"][event["type"]]["post"]
    assert {each["name"] for each in post["parameters"]} == headers("msg_1", 1, b"", [b"secret"]).keys()
    schema = post["requestBody"]["content"][JSON]["schema"] | {"components": document["components"]}
    assert list(OAS31Validator(schema).iter_errors(event)) == []
    shapes = document["components"]["schemas"]
    assert event.keys() == set(shapes["StatusChanged"]["required"])
    always, every = set(shapes["StatusChange"]["required"]), set(shapes["StatusChange"]["properties"])
    assert event["data"].keys() == (every if taken_back else always)


def announced(operation: dict[str, Any], status: int) -> dict[str, Any]:
    """What the operation says of answers with this status."""
    responses = operation["responses"]
    name = next((name for name in (str(status), f"{status // 100}XX") if name in responses), "default")
    found: dict[str, Any] = responses[name]
    return found
