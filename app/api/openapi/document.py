"""The OpenAPI document, made from the schemas that read the requests and write the answers."""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from marshmallow import Schema

from app.api.health import READY, READY_PATH, VERSION_PATH, VERSION_SHAPE
from app.api.openapi.documented_responses import (
    ETAG,
    HEADERS,
    JSON,
    PROGRESS,
    READ,
    body_of,
    in_form,
    in_json,
    in_query,
    responses,
    unread_types,
)
from app.api.openapi.operations import (
    insight_operations,
    request_operation,
    transfer_operations,
    waiting_operations,
    webhook_operations,
)
from app.api.openapi.text import INTRODUCTION
from app.estimates.schemas import EstimateAnswer, estimate_query
from app.estimates.views import ESTIMATE_PATH
from app.http.interface import NOTHING_BUT_ERR, PREFIX
from app.latency.schemas import LatencyAnswer, LatencyQuery
from app.latency.views import LATENCY_PATH
from app.network.schemas.config_answers import ConfigsAnswer
from app.network.views import CONFIGS_PATHS
from app.refunds.schemas import EvidenceAnswer, EvidenceQuery
from app.refunds.views import ASK_PATHS, EVIDENCE_PATH
from app.transfers.schemas.status_answers import StatusBody, TransactionBody, status_answer
from app.transfers.views import STATUS_PATH
from app.webhooks.views import WEBHOOKS_PATH

_KEY: Final = "apiKey"
_KEY_SCHEME: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "A key that the operator gave you, `gwk_…`. It is optional: it has a limit of its own.",
}
_FORM: Final = "application/x-www-form-urlencoded"
_IGNORED_HEADER: Final = {
    "in": "header",
    "name": "X-Requested-With",
    "schema": {"type": "string"},
    "description": "Some clients send it with every request. It is ignored.",
}


def document(*, compat_clients: bool, waiting: bool = False) -> dict[str, Any]:
    """The whole document of an interface, made from the schemas that it reads and answers with.

    /v1 is left out: it has the same operations, and one description of each is enough.

    :param waiting: whether ``wait`` is served as well: what is announced is served at this address.
    """
    spec = _begun()
    spec.components.security_scheme(_KEY, _KEY_SCHEME)
    for name, header in HEADERS.items():
        spec.components.header(name, header)
    spec.components.schema("EstimateQuery", schema=estimate_query(compat_clients))
    _add_operations(spec, compat_clients=compat_clients, waiting=waiting)
    return _completed(spec.to_dict())


def _begun() -> APISpec:
    """A document without operations: what it is about, how its operations are grouped, what opens them."""
    return APISpec(
        title="Cross-chain transfer gateway",
        version="2.0",
        openapi_version="3.1.0",
        info={"description": INTRODUCTION},
        servers=[{"url": "/", "description": "This gateway"}],
        tags=[
            {
                "name": "Transfers",
                "description": "Estimates, statuses, histories, refunds and the transfer configs.",
            },
            {
                "name": "Webhooks",
                "description": "Changes of transfers are posted to your server. An API key is needed.",
            },
            {"name": "Health", "description": "For load balancers and operators."},
        ],
        plugins=[MarshmallowPlugin(schema_name_resolver=_component_name)],
        security=[{}, {_KEY: []}],
    )


def _add_operations(spec: APISpec, *, compat_clients: bool, waiting: bool) -> None:
    spec.path(
        PREFIX + ESTIMATE_PATH,
        operations={"get": _estimate(compat_clients), "post": _estimate_by_post(compat_clients)},
    )
    spec.path(PREFIX + STATUS_PATH, operations={"post": _status(compat_clients)})
    spec.path(PREFIX + LATENCY_PATH, operations={"get": _latency()})
    spec.path(PREFIX + EVIDENCE_PATH, operations={"get": _evidence()})
    spec.path(PREFIX + ASK_PATHS[0], operations={"post": request_operation(compat_clients)})
    waiting_too = waiting_operations(compat_clients) if waiting else ()
    for path, operations in chain(
        transfer_operations(compat_clients), insight_operations(compat_clients), waiting_too
    ):
        spec.path(PREFIX + path, operations=operations)
    spec.path(PREFIX + WEBHOOKS_PATH, operations=webhook_operations([{_KEY: []}], compat_clients))
    for path in CONFIGS_PATHS:
        spec.path(PREFIX + path, operations={"get": _configs(path)})
    for path in ("/healthz", READY_PATH):
        spec.path(path, operations={"get": _health(path)})
    spec.path(VERSION_PATH, operations={"get": _version()})


_QUESTIONS: Final = ("Query", "Body")
"""How the names of schemas end that clients fill in."""


def _completed(made: dict[str, Any]) -> dict[str, Any]:
    """The document with what schemas cannot say: how questions may be written, which answers are whole."""
    for path in made["paths"].values():
        for operation in path.values():
            in_query(operation.get("parameters", []))
    schemas = made["components"]["schemas"]
    for name, shape in schemas.items():
        if not name.endswith(_QUESTIONS):  # an answer has every field of its table, always
            shape["required"] = list(shape["properties"])
    fields = schemas.pop("EstimateQuery")  # in a query each is a parameter of its own
    schemas["EstimateBody"] = fields
    schemas |= {name: in_json(shape) for name, shape in schemas.items() if name.endswith("Body")}
    schemas["EstimateForm"] = in_form(fields)
    return made


def _component_name(schema: type[Schema] | Schema | str) -> str:
    """The schema's name; with ``COMPAT_CLIENTS`` the same as without, so that generated code is the same."""
    kind = schema if isinstance(schema, type) else type(schema)
    return kind.__name__.removeprefix("Compat")


def _estimate(compat_clients: bool) -> dict[str, Any]:
    return {
        "operationId": "estimateAmt",
        "tags": ["Transfers"],
        "summary": "estimateAmt: what a transfer brings and costs",
        "description": (
            "Returns the amount to be received, the fees, the rate, and the slippage value for the on-chain "
            "send. Follow the rules for clients in the overview: compare `max_slippage` with the "
            "contract's minimum, and request the estimate again just before the final submit."
        ),
        "parameters": [{"in": "query", "schema": estimate_query(compat_clients)}],
        "responses": responses(EstimateAnswer, "estimateAmt", *READ),
    }


def _estimate_by_post(compat_clients: bool) -> dict[str, Any]:
    content: dict[str, Any] = {
        JSON: {"schema": {"$ref": "#/components/schemas/EstimateBody"}},
        _FORM: {"schema": {"$ref": "#/components/schemas/EstimateForm"}},
    }
    return {
        "operationId": "estimateAmtByPost",
        "tags": ["Transfers"],
        "summary": "estimateAmt by POST: the same in a body",
        "description": (
            "The same fields and rules, as a JSON object or a form. In JSON, integers may also be strings, "
            "and null counts as omitted. The query of a POST is ignored."
        ),
        # With two bodies and nothing optional, openapi-python-client 0.29 leaves out an import that it needs.
        "parameters": [_IGNORED_HEADER],
        "requestBody": body_of(content),
        "responses": responses(EstimateAnswer, "estimateAmt", *READ, *unread_types(compat_clients)),
    }


def _status(compat_clients: bool) -> dict[str, Any]:
    content = {JSON: {"schema": {"anyOf": [StatusBody, TransactionBody]}}}
    return {
        "operationId": "getTransferStatus",
        "tags": ["Transfers"],
        "summary": "getTransferStatus: status of a transfer",
        "description": (
            "Returns the progress of one transfer, identified by its id or by the transaction of its send, "
            "links to its transactions, and, while status is 8, the evidence for the on-chain refund "
            "(`getRefundEvidence` gives the call for it). For an unknown transfer, `msg` says how recent "
            "the newest event of each chain is. Headers say whether the transfer is over, who acts next, "
            "when to ask again and how recent the answer is."
        ),
        "requestBody": body_of(content),
        "responses": responses(
            status_answer(compat_clients),
            "getTransferStatus",
            *READ,
            *unread_types(compat_clients),
            more_headers=PROGRESS,
        ),
    }


def _latency() -> dict[str, Any]:
    return {
        "operationId": "getLatest7DayTransferLatencyForQuery",
        "tags": ["Transfers"],
        "summary": "getLatest7DayTransferLatencyForQuery: how long transfers take",
        "description": (
            "Returns the exact median time from send to release of the transfers between the two chains "
            "that were released in the last 7 days."
        ),
        "parameters": [{"in": "query", "schema": LatencyQuery}],
        "responses": responses(LatencyAnswer, "getLatest7DayTransferLatencyForQuery", *READ),
    }


def _evidence() -> dict[str, Any]:
    return {
        "operationId": "getRefundEvidence",
        "tags": ["Transfers"],
        "summary": "getRefundEvidence: the call that pays a refund",
        "description": (
            "Returns everything that a refund depends on, checked as the contract checks it: the request, "
            "the call to send, which validators have signed with how much power, and what is "
            "missing. `valid` is true exactly while the "
            "transfer's status is 8; then `call` has the arguments, and `call.data` is what a wallet sends "
            "to `contract` on chain `chain_id`."
        ),
        "parameters": [{"in": "query", "schema": EvidenceQuery}],
        "responses": responses(EvidenceAnswer, "getRefundEvidence", *READ),
    }


def _configs(path: str) -> dict[str, Any]:
    return {
        "operationId": path[1:],
        "tags": ["Transfers"],
        "summary": (
            "getTransferConfigs: chains and tokens"
            if path == CONFIGS_PATHS[0]
            else "getTransferConfigsForAll: the same"
        ),
        "description": (
            "Returns the chains, tokens, pegged pairs and blocked directions, with the ids and symbols that "
            "other operations use. Both paths give the same answer. Send the `ETag` in `If-None-Match` to "
            "get 304 while nothing has changed."
        ),
        "parameters": [
            {
                "in": "header",
                "name": "If-None-Match",
                "schema": {"type": "string"},
                "description": "The ETag of a previous answer.",
            }
        ],
        "responses": {"304": {"description": "Not modified.", "headers": ETAG}}
        | responses(ConfigsAnswer, path[1:], *READ[1:], more_headers=ETAG),
    }


def _health(path: str) -> dict[str, Any]:
    ready = path == READY_PATH
    text = (
        "200 if the database is reachable, this version runs on its schema, its clock agrees and the copy of "
        "the configuration is up to date; otherwise 503, and `msg` names the cause. `watching` says how far "
        "the gateway has read the chains that it watches, `stale_feeds` which chains reported nothing new "
        "for longer than the operator allows."
        if ready
        else "200 while the process is running."
    )
    return {
        "operationId": path[1:],
        "tags": ["Health"],
        "security": [],
        "summary": "readyz: can it serve?" if ready else "healthz: is it up?",
        "description": text,
        "responses": responses(
            READY if ready else NOTHING_BUT_ERR, path[1:], 405, *((500, 503) if ready else ())
        ),
    }


def _version() -> dict[str, Any]:
    return {
        "operationId": "version",
        "tags": ["Health"],
        "security": [],
        "summary": "version: which one answers?",
        "description": "Nothing is read for it, so it answers while the database is away.",
        "responses": responses(VERSION_SHAPE, "version", 405, 500),
    }
