"""The document has nothing that generators of clients are known to fail at."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.api.docs.views import document_bytes
from tests.openapi.generators import troubles


def read(compat_clients: bool) -> dict[str, Any]:
    """The document with all that a gateway can serve."""
    made: dict[str, Any] = json.loads(
        document_bytes(compat_clients=compat_clients, waiting=True, sandbox=True)
    )
    return made


@pytest.mark.parametrize("compat_clients", [True, False])
def test_document_has_no_trouble(compat_clients: bool) -> None:
    assert troubles(read(compat_clients)) == []


def test_each_trouble_is_found() -> None:
    broken: dict[str, Any] = {
        "paths": {
            "/a": {"get": {"parameters": [{"schema": {"type": ["integer", "string"], "default": None}}]}}
        },
        "components": {
            "schemas": {
                "A": {"type": ["string", "boolean"]},
                "B": {"type": "integer", "format": "uint64", "maximum": 2**63},
            }
        },
    }
    assert {trouble.partition(":")[0] for trouble in troubles(broken)} == {
        "union in a request",
        "union in an answer",
        "null as a default",
        "integer of more than 31 bits without int64",
        "format of an integer that few know",
        "bound over 2^63-1",
    }
