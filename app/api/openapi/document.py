"""The OpenAPI document, made from the schemas that read the requests and write the answers, and every code
and reason of an error as Markdown.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from marshmallow import Schema
from marshmallow.fields import Field, Integer

from app.api.openapi.documented_responses import (
    HEADERS,
    JSON,
    headers,
    recorded_examples,
    responses,
    stream_example,
)
from app.api.operations import OPERATIONS
from app.estimates.schemas import estimate_query
from app.http.errors import HTTP_STATUS
from app.http.public import PREFIX, SANDBOX_PREFIX
from app.http.requests import SANDBOX, Operation, shape_of
from app.http.schemas import MAX_INT64
from app.transfers.rules.published_changes import STATUS_EVENT
from app.transfers.schemas.status_answers import StatusChanged
from app.values.codes import ErrCode, XferStatus
from app.values.codes import TransferHistoryStatus as Status
from app.values.error_catalogue import CODE_CAUSES, ERRORS, NOTHING, ErrorKind, ErrorRow


def codes_table() -> str:
    rows = (f"| {code.value} | `{code.name}` | {cause} |" for code, cause in CODE_CAUSES.items())
    return "\n".join(("| Code | Name | Cause |", "|---|---|---|", *rows))


def reasons_table() -> str:
    rows = (
        f"| `{row.reason}` | {HTTP_STATUS[row.kind]} | {row.code.value} | {row.cause} | {row.remedy} |"
        for row in ERRORS
    )
    head = "| X-Gateway-Reason | HTTP | `err.code` | Cause | What to do |"
    return "\n".join((head, "|---|---|---|---|---|", *rows))


def catalogue() -> str:
    """docs/errors.md from its heading *Codes* on: both lists, and a section for each reason."""
    answered = [row for row in ERRORS if row.kind is ErrorKind.ANSWERED]
    others = [row for row in ERRORS if row.kind is not ErrorKind.ANSWERED]
    return "\n\n".join(
        (
            "## Codes",
            "Only estimates and `getTokenInfo` (1002) have codes other than 500.",
            codes_table(),
            "## Reasons",
            "Each reason has its cause, what to do and, as a quotation, a text for users. If `msg` names an "
            "amount, add\nit in whole tokens. Programs read it from "
            "[explainEstimate](api/explainEstimate.md).",
            "### Answers: HTTP 200",
            "The code is 500 if the section names no other.",
            *map(_section, answered),
            "### Requests that were not answered",
            "They all have code 500.",
            *map(_section, others),
        )
    )


def _section(row: ErrorRow) -> str:
    """A reason, with the number that its part of the page leaves open."""
    number = f" Code {row.code.value}." if row.code is not ErrCode.ERROR_CODE_COMMON else ""
    if row.kind is not ErrorKind.ANSWERED:
        number = f" HTTP {HTTP_STATUS[row.kind]}."
    shown = "" if row.user_message == NOTHING else f"\n\n> {row.user_message}"
    return f"#### `{row.reason}`\n{row.cause}{number}\n\n{row.remedy}{shown}"


STATUS_MEANINGS: Final[dict[Status, str]] = {
    Status.TRANSFER_UNKNOWN: "Nothing is certain about the transfer yet.",
    Status.TRANSFER_SUBMITTING: "The gateway is monitoring the transaction on the source chain.",
    Status.TRANSFER_FAILED: "Failed before any funds left. No refund is needed.",
    Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION: "Waiting for confirmation by the validators.",
    Status.TRANSFER_WAITING_FOR_FUND_RELEASE: (
        "Waiting for the release of the funds on the destination chain."
    ),
    Status.TRANSFER_COMPLETED: "Completed.",
    Status.TRANSFER_TO_BE_REFUNDED: "Failed; the refund must be requested. `refund_reason` is the cause.",
    Status.TRANSFER_REQUESTING_REFUND: "The refund's evidence is being collected.",
    Status.TRANSFER_REFUND_TO_BE_CONFIRMED: (
        "The user must submit the refund on the source chain with `wd_onchain`, `sorted_sigs`, `signers` "
        "and `powers` of this answer. Simulate the call first: the contract may be paused or out of "
        "funds."
    ),
    Status.TRANSFER_CONFIRMING_YOUR_REFUND: (
        "The gateway is monitoring the refund on the source chain: it is in a block, or in the contract's "
        "delay queue."
    ),
    Status.TRANSFER_REFUNDED: "Refunded.",
    Status.TRANSFER_DELAYED: "The release waits in a delayed execution queue.",
}

XFER_MEANINGS: Final[dict[XferStatus, str]] = {
    XferStatus.UNKNOWN: "Placeholder; also sent while `status` is not 6.",
    XferStatus.OK_TO_RELAY: "Waiting for the validators' confirmation.",
    XferStatus.SUCCESS: "Succeeded.",
    XferStatus.BAD_LIQUIDITY: "Failed: not enough liquidity.",
    XferStatus.BAD_SLIPPAGE: "Failed: the slippage allowed was too low.",
    XferStatus.BAD_TOKEN: "Failed: the token is not supported, or the amount was not available.",
    XferStatus.REFUND_REQUESTED: "The refund has begun.",
    XferStatus.REFUND_DONE: "The refund is done.",
    XferStatus.BAD_XFER_DISABLED: "Failed: transfers of the token are disabled.",
    XferStatus.BAD_DEST_CHAIN: "Failed: the destination chain is not supported.",
}


def _table(meanings: dict[Status, str] | dict[XferStatus, str]) -> str:
    rows = (f"| {value.value} | `{value.name}` | {text} |" for value, text in meanings.items())
    return "\n".join(("| Code | Name | Meaning |", "|---|---|---|", *rows))


_LINK: Final = "(/openapi.json)"

INTRODUCTION: Final = f"""\
Status, estimates and latency of cross-chain transfers. No API key is needed; with one, sent as
`Authorization: Bearer gwk_…`, you have a limit of your own.
The machine-readable form of this page is [openapi.json]{_LINK}.

## How answers look

- Every response is JSON and **always has every field of its table**. When `err` is not null, all
  other fields have their zero value.
- The gateway answers each request that it can read with HTTP 200, with or without `err`. Any other
  answer is a 4xx or 5xx, with the same fields.
- The header `X-Gateway-Reason` gives programs the reason of every `err`; browsers may read it.
- Amounts are integers in a token's smallest unit, as decimal strings, up to 2^256-1. `amt` is in
  source units, the amounts of a response are in destination units: the two tokens may have different
  decimals.
- Integers in the query are ASCII digits only. An empty optional parameter counts as omitted, an empty
  required one as missing. A repeated parameter is refused unless it is a list. The header
  `X-Gateway-Ignored` names unknown ones, which are ignored; some operations refuse them.
- The gateway accepts more than the types of requests say. A flag may be `true`, `false`, `1`, `0`, `t` or
  `f` in any case. In JSON an integer or a flag may also be such a text, and null leaves out an optional
  field. A page size and the chain ids of a latency may be up to 2^64-1.
- Fields may be added to responses: ignore those you do not know.
- Responses must not be cached, except the transfer configs, which have an `ETag`.
- HTTP 414 and 431 are sent before the path is known: the response then has the fields of every operation.
- If requests are limited, each response has `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`
  (seconds until the window ends); a 429 also has `Retry-After`.
- The same operations are available over gRPC-Web, at the same base address.

## Rules for clients of the estimate

1. **Tolerance.** `slippage_tolerance` is in parts per million: divided by 1000000 it is the
   tolerated rate, at least 0 and less than 1.
2. **Truncate, do not round.** Only whole numbers are accepted. If converting a percentage leaves a
   fraction, drop it: 501.23 becomes 501.
3. **Pegged transfers.** When `is_pegged` is true, slippage has no effect. The pegged pair configs
   say whether a token is pegged between two chains.
4. **How `max_slippage` is calculated.** The amount sent times the bridge rate is the estimated
   destination amount. Reduced by the tolerated rate, `base_fee` and `perc_fee`, it is the estimated
   minimum. The difference between this minimum and the source amount, in parts per million of the
   source amount, is `max_slippage`, but at least the contract's minimum. All amounts are in
   destination units.
5. **The contract's minimum.** Each bridge contract has its own `minimalMaxSlippage`. Read it there.
6. **The minimum that the user receives** is `eq_value_token_amt` × (1 - `max_slippage` / 1000000). Show it.
7. **Compare before sending.** When `max_slippage` is lower than the contract's `minimalMaxSlippage`,
   ask the user for a higher tolerance. Most sends that fail on chain fail because slippage was too small.
8. **Request the estimate again just before the final submit.** `max_slippage`, `bridge_rate`,
   `perc_fee` and `base_fee` change over time.
9. **Two chains.** Only transfers from one chain to another are accepted; the same source and destination
   chain is an error.

With code 1005 or 1017 the amount is over a limit of the pool: ask the user for a smaller amount. `msg`
says which amount is possible.

## Transfer status

Values of `status` (TransferHistoryStatus):

{_table(STATUS_MEANINGS)}

## Refund reason

Values of `refund_reason` (XferStatus). It is meaningful while `status` is 6, otherwise 0. Values that
begin with BAD say why the transfer failed.

{_table(XFER_MEANINGS)}

## Error codes

Values of `err.code` (ErrCode):

{codes_table()}

## Error reasons

Values of the header `X-Gateway-Reason`, with their code and HTTP status:

{reasons_table()}
"""


_KEY: Final = "apiKey"
_KEY_SCHEME: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "A key that the operator gave you, `gwk_…`. It is optional: it has a limit of its own.",
}
SANDBOX_TAG: Final = "Sandbox"
_MAX_INT32: Final = 2**31 - 1
_FORM: Final = "application/x-www-form-urlencoded"


def document(
    *, compat_clients: bool, waiting: bool = False, sandbox: bool = False, below: str = ""
) -> dict[str, Any]:
    """The whole document of an interface. /v1 is left out: it has the same operations.

    :param waiting: whether ``wait`` is served at this address, too. The document only has what is served.
    :param sandbox: whether made-up transfers can be moved at this address.
    :param below: the path below which the gateway is reached; empty at the root.
    """
    spec = _begun(sandbox, below)
    spec.components.security_scheme(_KEY, _KEY_SCHEME)
    for name, header in HEADERS.items():
        spec.components.header(name, header)
    spec.components.schema("EstimateQuery", schema=estimate_query(compat_clients))
    spec.components.schema(_component_name(StatusChanged), schema=StatusChanged)
    unserved = {"grpcweb"} | (set() if waiting else {"wait"}) | (set() if sandbox else {SANDBOX})
    shown = [operation for operation in OPERATIONS if operation.group not in unserved]
    for path, operations in groupby(shown, key=_path):
        by_method = {each.method.lower(): _described(each, compat_clients) for each in operations}
        spec.path(path, operations=by_method)
    return _completed(spec.to_dict())


def _path(operation: Operation) -> str:
    """Those of health checks have no prefix."""
    prefix = {"Health": "", SANDBOX_TAG: SANDBOX_PREFIX}.get(operation.tag, PREFIX)
    return prefix + operation.paths[0]


class _Converter(OpenAPIConverter):
    def field2type_and_format(self, field: Field[Any], **more: Any) -> dict[str, Any]:
        """An integer without a format has 31 bits to generators: one that may have more says so."""
        made: dict[str, Any] = super().field2type_and_format(field, **more)
        of = field.metadata
        if isinstance(field, Integer) and "enum" not in of and of.get("maximum", MAX_INT64) > _MAX_INT32:
            made["format"] = "int64"
        return made


class _Plugin(MarshmallowPlugin):
    Converter = _Converter


def _component_name(schema: type[Schema] | Schema | str) -> str:
    """The schema's name; with ``COMPAT_CLIENTS`` the same as without, so that generated code is the same."""
    kind = schema if isinstance(schema, type) else type(schema)
    return kind.__name__.removeprefix("Compat")


def _begun(sandbox: bool, below: str) -> APISpec:
    made_up = {"name": SANDBOX_TAG, "description": "Made-up transfers, for your tests."}
    return APISpec(
        title="Cross-chain transfer gateway",
        version="2.0",
        openapi_version="3.1.0",
        info={
            "description": INTRODUCTION.replace(_LINK, f"({below}/openapi.json)"),
            "contact": {"name": "The operator of this gateway"},
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        servers=[{"url": f"{below}/", "description": "This gateway"}],
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
            *([made_up] if sandbox else []),
        ],
        plugins=[_Plugin(schema_name_resolver=_component_name)],
        security=[{}, {_KEY: []}],
        webhooks={STATUS_EVENT: {"post": _STATUS_WEBHOOK}},
    )


_SIGNED: Final = {
    "webhook-id": "The id of the event, the same at every attempt.",
    "webhook-timestamp": "The time of this attempt, in seconds since 1970.",
    "webhook-signature": "`v1,` and a signature in base64, as Standard Webhooks define it. For 24 hours "
    "after a new secret there are two, separated by a space.",
}
_STATUS_WEBHOOK: Final = {
    "operationId": "statusChanged",
    "tags": ["Webhooks"],
    "summary": "The status of a transfer changed.",
    "description": "The gateway posts it to your server. Verify the signature over the bytes of the body. "
    "Events may arrive again, and in any order. Answer 2xx to unknown types, too.",
    "security": [],
    "parameters": [
        {"in": "header", "name": name, "required": True, "schema": {"type": "string"}, "description": what}
        for name, what in _SIGNED.items()
    ],
    "requestBody": {
        "required": True,
        "content": {JSON: {"schema": {"$ref": f"#/components/schemas/{_component_name(StatusChanged)}"}}},
    },
    "responses": {
        "2XX": {"description": "Received. After any other answer the gateway posts it again later."}
    },
}


def _completed(made: dict[str, Any]) -> dict[str, Any]:
    """The document with what schemas cannot say: examples of bodies, and which answers are complete."""
    schemas = made["components"]["schemas"]
    schemas["EstimateForm"] = schemas.pop("EstimateQuery")  # in a query each is a parameter of its own
    for name, shape in schemas.items():
        fields = shape["properties"]
        if name.endswith(_QUESTIONS):
            shape["example"] = {
                each: field["example"] for each, field in fields.items() if "example" in field
            }
        else:  # an answer always has every field of its table
            shape["required"] = [each for each in fields if each not in _LEFT_OUT]
    # Made of the form: openapi-generator leaves out a model that only a form has, and uses it all the same.
    # A second part: of one part alone, openapi-python-client would make no model of its own.
    form = {"$ref": "#/components/schemas/EstimateForm"}
    schemas["EstimateBody"] = {"allOf": [form, {"description": "As JSON."}]}
    return made


_LEFT_OUT: Final = ("taken_back",)
"""Fields of events that are left out where they are false."""

_QUESTIONS: Final = ("Body", "Form")
"""The ends of the names of schemas for requests."""


def _described(operation: Operation, compat_clients: bool) -> dict[str, Any]:
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
    headers = [
        {"in": "header", "name": name, "schema": {"type": "string"}, "description": description}
        for name, description in operation.parameters
    ]
    if operation.query is None or operation.form:
        return headers
    return [{"in": "query", "schema": shape_of(operation.query, compat_clients)}, *headers]


def _content(operation: Operation) -> dict[str, Any]:
    """What is read from the body of a POST, by its type.

    The document does not say that JSON may be declared with any type
    (docs/interface/answers.md#compat-clients): some generators leave out an operation with a type that they
    cannot write.
    """
    if operation.form:
        return {
            JSON: {"schema": {"$ref": "#/components/schemas/EstimateBody"}},
            _FORM: {"schema": {"$ref": "#/components/schemas/EstimateForm"}},
        }
    if not operation.bodies:
        return {}
    body, *others = operation.bodies
    return {JSON: {"schema": {"oneOf": [body, *others]} if others else body}}


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
            "description": "Server-sent events, until one of both sides closes the connection. "
            f"The data of `{STATUS_EVENT}` is a `{_component_name(StatusChanged)}`.",
            "content": {"text/event-stream": content},
        }
    if "ETag" in operation.answer_headers:
        return {"304": {"description": "Not modified.", "headers": headers("ETag")}} | answers
    return answers
