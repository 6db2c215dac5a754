"""The OpenAPI document, made from the schemas that read the requests and write the answers."""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from marshmallow import Schema

from app.api.openapi.documented_responses import (
    HEADERS,
    JSON,
    headers,
    in_form,
    in_json,
    in_query,
    recorded_examples,
    responses,
    stream_example,
)
from app.api.openapi.text import INTRODUCTION
from app.api.operations import OPERATIONS
from app.estimates.schemas import estimate_query
from app.http.public import PREFIX
from app.http.requests import Operation, shape_of

_KEY: Final = "apiKey"
_KEY_SCHEME: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "A key that the operator gave you, `gwk_…`. It is optional: it has a limit of its own.",
}
_FORM: Final = "application/x-www-form-urlencoded"


def document(*, compat_clients: bool, waiting: bool = False) -> dict[str, Any]:
    """The whole document of an interface, made from its schemas for requests and answers.

    /v1 is left out: it has the same operations, and one description of each is enough.

    :param waiting: whether ``wait`` is served at this address, too. The document only has what is served.
    """
    spec = _begun()
    spec.components.security_scheme(_KEY, _KEY_SCHEME)
    for name, header in HEADERS.items():
        spec.components.header(name, header)
    spec.components.schema("EstimateQuery", schema=estimate_query(compat_clients))
    unserved = {"grpcweb"} if waiting else {"grpcweb", "wait"}
    shown = [operation for operation in OPERATIONS if operation.group not in unserved]
    for path, operations in groupby(shown, key=_path):
        by_method = {each.method.lower(): _described(each, compat_clients) for each in operations}
        spec.path(path, operations=by_method)
    return _completed(spec.to_dict())


def _path(operation: Operation) -> str:
    """The path of an operation; those of health checks have no prefix."""
    prefix = "" if operation.tag == "Health" else PREFIX
    return prefix + operation.paths[0]


def _begun() -> APISpec:
    """A document without operations: its subject, the groups of its operations, and the authorization."""
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


_QUESTIONS: Final = ("Query", "Body")
"""The ends of the names of schemas for requests."""


def _completed(made: dict[str, Any]) -> dict[str, Any]:
    """The document with what schemas cannot say: how requests may be written, which answers are complete."""
    for path in made["paths"].values():
        for operation in path.values():
            in_query(operation.get("parameters", []))
    schemas = made["components"]["schemas"]
    for name, shape in schemas.items():
        if not name.endswith(_QUESTIONS):  # an answer always has every field of its table
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


def _described(operation: Operation, compat_clients: bool) -> dict[str, Any]:
    """The description of an operation in the document."""
    described: dict[str, Any] = {"operationId": operation.name, "tags": [operation.tag]}
    if operation.key_needed is not False:
        described["security"] = [{_KEY: []}] if operation.key_needed else []
    described |= {"summary": operation.summary, "description": operation.description}
    if parameters := _parameters(operation, compat_clients):
        described["parameters"] = parameters
    if content := _content(operation):
        described["requestBody"] = {"required": True, "content": content}
    return described | {"responses": _responses(operation, compat_clients)}


def _parameters(operation: Operation, compat_clients: bool) -> list[dict[str, Any]]:
    """What is read from the query, and from headers."""
    headers = [
        {"in": "header", "name": name, "schema": {"type": "string"}, "description": description}
        for name, description in operation.parameters
    ]
    if operation.query is None or operation.form:
        return headers
    return [{"in": "query", "schema": shape_of(operation.query, compat_clients)}, *headers]


def _content(operation: Operation) -> dict[str, Any]:
    """What is read from the body of a POST, by its type.

    The document does not say that JSON may be declared with any type (docs/interface.md#compat-clients):
    generated clients declare it, and some generators leave out an operation with a type that they cannot
    write.
    """
    if operation.form:
        return {
            JSON: {"schema": {"$ref": "#/components/schemas/EstimateBody"}},
            _FORM: {"schema": {"$ref": "#/components/schemas/EstimateForm"}},
        }
    if not operation.bodies:
        return {}
    body, *others = operation.bodies
    return {JSON: {"schema": {"anyOf": [body, *others]} if others else body}}


def _responses(operation: Operation, compat_clients: bool) -> dict[str, Any]:
    """The answers. With ``COMPAT_CLIENTS=0`` a POST whose body is declared with another type fails."""
    unread = (415,) if operation.method == "POST" and not compat_clients else ()
    examples = operation.examples_of or operation.name
    answers = responses(
        shape_of(operation.answer, compat_clients),
        {} if operation.streams else recorded_examples(examples, shape_of(operation.answer, compat_clients)),
        *operation.failures,
        *unread,
        answer_headers=operation.answer_headers,
    )
    if operation.streams:
        content = {"schema": {"type": "string"}, "example": stream_example(examples)}
        answers["200"] = {
            "description": "Server-sent events, until one of both sides closes the connection.",
            "content": {"text/event-stream": content},
        }
    if "ETag" in operation.answer_headers:
        return {"304": {"description": "Not modified.", "headers": headers("ETag")}} | answers
    return answers
