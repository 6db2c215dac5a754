"""Every recorded answer fits the document: it announces the status, and the body has the schema of it.

``test_schemathesis.py`` sends requests of any kind to a real server, as a slow test.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from openapi_schema_validator import OAS31Validator

from app.api.docs.views import document_bytes
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


def announced(operation: dict[str, Any], status: int) -> dict[str, Any]:
    """What the operation says of answers with this status."""
    responses = operation["responses"]
    name = next((name for name in (str(status), f"{status // 100}XX") if name in responses), "default")
    found: dict[str, Any] = responses[name]
    return found
