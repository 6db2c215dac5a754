"""What JSON Schema cannot express about a request: schemathesis loads this by SCHEMATHESIS_HOOKS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import schemathesis

from app.http.schemas import MAX_INT64

FLAG = re.compile("t(rue)?|f(alse)?|[01]", re.IGNORECASE)
ACCEPTED = "AcceptedNegativeData"


@schemathesis.hook
def map_query(_context: Any, query: dict[str, Any] | None) -> dict[str, Any] | None:
    """To JSON Schema 2.0 is an integer, in JSON as well. In a query it is other text, which is refused."""
    if not isinstance(query, dict):
        return query
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in query.items()
    }


@schemathesis.hook
def filter_query(_context: Any, query: dict[str, Any] | None) -> bool:
    """A comma divides accounts, so a list of twenty may hold more of them than are taken. A nonce of twenty
    digits may have more than 64 bits.
    """
    if not isinstance(query, dict):
        return True
    accounts, nonce = query.get("acct_addr[]"), str(query.get("nonce"))
    if re.fullmatch("[0-9]{20}", nonce) and int(nonce) >= 1 << 64:
        return False
    return not (isinstance(accounts, list) and any("," in str(account) for account in accounts))


@schemathesis.hook
def filter_failure(_context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Requests may say more than their plain types (docs/interface/answers.md#integers): no failure."""
    return type(failure).__name__ != ACCEPTED or not any(_beyond_the_types(case, response.request.url))


def _beyond_the_types(case: Any, url: str) -> Iterator[bool]:
    """For each field whether it is accepted although the document has another type for it."""
    document = case.operation.schema.raw_schema
    operation = document["paths"][case.operation.path][case.operation.method.lower()]
    query = case.query if isinstance(case.query, dict) else {}
    sent = parse_qs(urlsplit(url).query, keep_blank_values=True)
    for parameter in operation.get("parameters", ()):
        if parameter["in"] == "query" and parameter["name"] in query:
            value = query[parameter["name"]]
            left_out = sent.get(parameter["name"]) == [""] and not parameter["required"]
            yield left_out or _is_other_text(parameter["schema"], value)
    body = case.body if isinstance(case.body, dict) else {}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        yield _has_several_shapes(document, content["schema"], body)
        for name, field, required in _fields(document, content["schema"]):
            if name in body:
                left_out = body[name] in ("", None) and not required
                yield left_out or _is_other_text(field, body[name])


def _has_several_shapes(document: dict[str, Any], schema: dict[str, Any], body: dict[str, Any]) -> bool:
    """Whether a body has the fields of two shapes of which the document allows one: the first one counts."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    shapes = [list(_fields(document, shape)) for shape in schema.get("oneOf", ())]
    return sum(all(name in body for name, _, required in shape if required) for shape in shapes) > 1


def _fields(document: dict[str, Any], shape: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Name and schema of each field of a body, and whether it is required."""
    if "$ref" in shape:
        shape = document["components"]["schemas"][shape["$ref"].rpartition("/")[2]]
    for name, field in shape.get("properties", {}).items():
        yield name, field, name in shape.get("required", ())
    for part in (*shape.get("allOf", ()), *shape.get("oneOf", ())):
        yield from _fields(document, part)


def _is_other_text(field: dict[str, Any], value: Any) -> bool:
    if field.get("type") == "boolean":
        return FLAG.fullmatch(str(value)) is not None
    if field.get("type") == "integer":
        number = int(value) if re.fullmatch("[0-9]{1,20}", str(value)) else None
        return number is not None and (isinstance(value, str) or MAX_INT64 < number < 1 << 64)
    return False
