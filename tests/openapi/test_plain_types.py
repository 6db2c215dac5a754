"""The document has nothing that generators of clients are known to fail at."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from app.api.docs.views import document_bytes
from tests.openapi.generators import troubles

TOO_LARGE = 2**63


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return read(compat_clients=True)


def read(compat_clients: bool) -> dict[str, Any]:
    """The document with all that a gateway can serve."""
    made: dict[str, Any] = json.loads(
        document_bytes(compat_clients=compat_clients, waiting=True, sandbox=True)
    )
    return made


@pytest.mark.parametrize("compat_clients", [True, False])
def test_document_has_no_trouble(compat_clients: bool) -> None:
    assert troubles(read(compat_clients)) == []


def parameter(document: dict[str, Any], path: str, name: str) -> dict[str, Any]:
    parameters = document["paths"][path]["get"]["parameters"]
    found: dict[str, Any] = next(each["schema"] for each in parameters if each["name"] == name)
    return found


def field(document: dict[str, Any], schema: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = document["components"]["schemas"][schema]["properties"][name]
    return found


def post(document: dict[str, Any], path: str) -> dict[str, Any]:
    content: dict[str, Any] = document["paths"][path]["post"]["requestBody"]["content"]
    return content


@pytest.mark.parametrize(
    ("broken", "kind"),
    [
        pytest.param(
            lambda d: parameter(d, "/v2/getTransfer", "chain_id").update(type=["integer", "string"]),
            "union in a request",
            id="parameter",
        ),
        pytest.param(
            lambda d: field(d, "EstimateForm", "is_pegged").update(type=["boolean", "null"]),
            "union in a request",
            id="body-field",
        ),
        pytest.param(
            lambda d: field(d, "WebhookBody", "accounts")["items"].update(
                oneOf=[{"type": "string"}, {"type": "integer", "format": "int64"}]
            ),
            "union in a request",
            id="list-in-a-body",
        ),
        pytest.param(
            lambda d: post(d, "/v2/getTransferStatus")["application/json"].update(
                schema={"anyOf": [{"$ref": "#/components/schemas/StatusBody"}]}
            ),
            "union in a request",
            id="any-of-two-bodies",
        ),
        pytest.param(
            lambda d: field(d, "Chain", "name").update(type=["string", "boolean"]),
            "union in an answer",
            id="answer",
        ),
        pytest.param(
            lambda d: field(d, "Chain", "name").update(anyOf=[{"type": "string"}, {"type": "boolean"}]),
            "union in an answer",
            id="choice-in-an-answer",
        ),
        pytest.param(
            lambda d: parameter(d, "/v2/transferHistory", "next_page_token").update(default=None),
            "null as a default",
            id="null-default",
        ),
        pytest.param(
            lambda d: parameter(d, "/v2/estimateAmt", "src_chain_id").pop("format"),
            "integer of more than 31 bits without int64",
            id="parameter-of-32-bits",
        ),
        pytest.param(
            lambda d: field(d, "StatusCertainty", "block").pop("format"),
            "integer of more than 31 bits without int64",
            id="block-in-an-answer",
        ),
        pytest.param(
            lambda d: field(d, "StatusAnswer", "status").update(enum=[0, TOO_LARGE]),
            "integer of more than 31 bits without int64",
            id="enumerated",
        ),
        pytest.param(
            lambda d: parameter(d, "/v2/transferHistory", "page_size").update(maximum=TOO_LARGE),
            "bound over 2^63-1",
            id="bound",
        ),
        pytest.param(
            lambda d: field(d, "Chain", "id").update(format="uint64"),
            "format of an integer that few know",
            id="format",
        ),
        pytest.param(
            lambda d: (
                post(d, "/v2/estimateAmt")["application/json"].update(schema={"type": "object"})
                or d["components"]["schemas"].pop("EstimateBody")
            ),
            "model of a form only: EstimateForm",
            id="form",
        ),
    ],
)
def test_troubles_are_found(
    document: dict[str, Any], broken: Callable[[dict[str, Any]], object], kind: str
) -> None:
    copied = deepcopy(document)
    broken(copied)
    assert any(trouble.startswith(kind) for trouble in troubles(copied))
