"""The OpenAPI document, made from the schemas that read the requests and write the answers."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from marshmallow import Schema

from app.api.config_schemas import ConfigsAnswer
from app.api.door import (
    ASK_PATHS,
    CONFIGS_PATHS,
    ESTIMATE_PATH,
    EVIDENCE_PATH,
    LATENCY_PATH,
    PREFIX,
    STATUS_PATH,
)
from app.api.evidence_schemas import EvidenceAnswer, EvidenceQuery
from app.api.openapi.examples import (
    ESTIMATE_EXAMPLES,
    EVIDENCE_EXAMPLES,
    LATENCY_EXAMPLES,
    STATUS_EXAMPLES,
)
from app.api.openapi.refunds import ask_operation
from app.api.openapi.text import INTRODUCTION
from app.api.schemas import (
    EstimateAnswer,
    EstimateQuery,
    LatencyAnswer,
    LatencyQuery,
    PlainAnswer,
    StatusAnswer,
    StatusBody,
)
from app.domain.error_catalogue import ERRORS

_FAILURES: Final = {
    400: "The request cannot be read.",
    404: "There is nothing at this path.",
    405: "The path does not take this method.",
    413: "The body is larger than 64 KiB.",
    415: "The body is not declared as application/json.",
    429: "Too many requests from this caller.",
    500: "The gateway failed.",
    503: "The gateway cannot answer right now.",
}
_REASON_HEADER: Final = {
    "X-Gateway-Reason": {
        "description": "Why, for machines; there on every err.",
        "schema": {"type": "string", "enum": [row.reason.value for row in ERRORS]},
    }
}


@cache
def document() -> dict[str, Any]:
    """The whole document. It leaves out /v1 and what ``COMPAT_CLIENTS`` adds."""
    spec = APISpec(
        title="Cross-chain transfer gateway",
        version="2.0",
        openapi_version="3.1.0",
        info={"description": INTRODUCTION},
        servers=[{"url": "/", "description": "This gateway"}],
        tags=[
            {"name": "Transfers", "description": "The three operations and what they can be asked about."},
            {"name": "Health", "description": "For load balancers and operators."},
        ],
        plugins=[MarshmallowPlugin(schema_name_resolver=_component_name)],
    )
    spec.path(PREFIX + ESTIMATE_PATH, operations={"get": _estimate()})
    spec.path(PREFIX + STATUS_PATH, operations={"post": _status()})
    spec.path(PREFIX + LATENCY_PATH, operations={"get": _latency()})
    spec.path(PREFIX + EVIDENCE_PATH, operations={"get": _evidence()})
    spec.path(PREFIX + ASK_PATHS[0], operations={"post": ask_operation(_responses)})
    for path in CONFIGS_PATHS:
        spec.path(PREFIX + path, operations={"get": _configs(path)})
    for path in ("/healthz", "/readyz"):
        spec.path(path, operations={"get": _health(path)})
    made = spec.to_dict()
    for name, component in made["components"]["schemas"].items():
        if name.endswith("Answer"):
            component["required"] = list(component["properties"])
    return made


def _component_name(schema: type[Schema] | Schema | str) -> str:
    kind = schema if isinstance(schema, type) else type(schema)
    return kind.__name__


def _estimate() -> dict[str, Any]:
    return {
        "operationId": "estimateAmt",
        "tags": ["Transfers"],
        "summary": "What would a transfer bring?",
        "description": (
            "The amount to expect, the fees, the rate, and the slippage value for the on-chain send. "
            "Mind the rules for clients in the overview: compare `max_slippage` with the contract's minimum, "
            "and ask again just before the final submit."
        ),
        "parameters": [{"in": "query", "schema": EstimateQuery}],
        "responses": _responses(EstimateAnswer, ESTIMATE_EXAMPLES, 400, 405, 413, 429, 500, 503),
    }


def _status() -> dict[str, Any]:
    return {
        "operationId": "getTransferStatus",
        "tags": ["Transfers"],
        "summary": "Where is a transfer?",
        "description": (
            "Progress of one transfer, links to its transactions, and, while status is 8, the evidence "
            "for the on-chain refund (`getRefundEvidence` makes the call of it). For an unknown id, `msg` "
            "says how fresh the gateway's view of each chain is."
        ),
        "requestBody": {"required": True, "content": {"application/json": {"schema": StatusBody}}},
        "responses": _responses(StatusAnswer, STATUS_EXAMPLES, 400, 405, 413, 415, 429, 500, 503),
    }


def _latency() -> dict[str, Any]:
    return {
        "operationId": "getLatest7DayTransferLatencyForQuery",
        "tags": ["Transfers"],
        "summary": "How long do transfers take?",
        "description": (
            "The exact median time from the send to the release, over the transfers between the two "
            "chains that were released in the last 7 days."
        ),
        "parameters": [{"in": "query", "schema": LatencyQuery}],
        "responses": _responses(LatencyAnswer, LATENCY_EXAMPLES, 400, 405, 413, 429, 500, 503),
    }


def _evidence() -> dict[str, Any]:
    return {
        "operationId": "getRefundEvidence",
        "tags": ["Transfers"],
        "summary": "Would the contract pay a refund?",
        "description": (
            "Everything a refund hangs on, judged as the contract judges it: the request, the call to make, "
            "who has signed with how much power, what is missing. `valid` is true exactly while the "
            "transfer's status is 8; then `call` has the arguments, and `call.data` is what a wallet sends "
            "to `contract` on chain `chain_id`."
        ),
        "parameters": [{"in": "query", "schema": EvidenceQuery}],
        "responses": _responses(EvidenceAnswer, EVIDENCE_EXAMPLES, 400, 405, 413, 429, 500, 503),
    }


def _configs(path: str) -> dict[str, Any]:
    return {
        "operationId": path[1:],
        "tags": ["Transfers"],
        "summary": (
            "What can be transferred where?" if path == CONFIGS_PATHS[0] else "The same, by its other name"
        ),
        "description": (
            "Chains, tokens, pegged pairs and blocked directions: where ids and symbols are taken from. "
            "Both paths give the same answer. Send the `ETag` back in `If-None-Match` to be told that "
            "nothing has changed."
        ),
        "parameters": [
            {
                "in": "header",
                "name": "If-None-Match",
                "schema": {"type": "string"},
                "description": "The ETag of the answer you have.",
            }
        ],
        "responses": {"304": {"description": "Nothing has changed."}}
        | _responses(ConfigsAnswer, {}, 405, 413, 429, 500, 503),
    }


def _health(path: str) -> dict[str, Any]:
    ready = path == "/readyz"
    text = (
        "200 when the database is reachable, its migrations are current and the view of the configuration "
        "is fresh; else 503, and `msg` says which is not."
        if ready
        else "200 while the process answers at all."
    )
    return {
        "operationId": path[1:],
        "tags": ["Health"],
        "summary": "Can it serve?" if ready else "Is it up?",
        "description": text,
        "responses": _responses(PlainAnswer, {}, *((503,) if ready else ())),
    }


def _responses(shape: type[Schema], examples: dict[str, Any], *failures: int) -> dict[str, Any]:
    """The answers of an operation; all of them have one shape."""
    content = {"application/json": {"schema": shape}}
    good = {"application/json": {"schema": shape} | ({"examples": examples} if examples else {})}
    answers: dict[str, Any] = {
        "200": {
            "description": "The answer; or, with `err`, why there is none.",
            "headers": _REASON_HEADER,
            "content": good,
        }
    }
    for status in failures:
        answers[str(status)] = {
            "description": _FAILURES[status],
            "headers": _REASON_HEADER,
            "content": content,
        }
    return answers
