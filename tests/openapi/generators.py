"""What makes trouble for generators of clients, in the OpenAPI document.

Each was met: openapi-generator's Go, Java or TypeScript did not compile, or could not hold an answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

MOST_INT32 = 2**31 - 1
MOST_INT64 = 2**63 - 1
MAY_BE_UNIONS = frozenset({"/components/schemas/CallArgument/properties/value"})
"""Answers that are promised to be a text or a list."""

_EXAMPLES = ("example", "examples")
_FORM = "/application~1x-www-form-urlencoded/"
_REFERENCE = "#/components/schemas/"


def troubles(document: dict[str, Any]) -> list[str]:
    """Each kind of trouble with the place where it is."""
    nodes = list(_nodes(document, ""))
    asked = _asked(nodes)
    found = [f"{kind}: {at}" for at, node in nodes for kind in _troubles(at, node, _is_asked(at, asked))]
    return found + [f"model of a form only: {name}" for name in sorted(_only_in_forms(nodes))]


def _nodes(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        named = at.endswith(("/properties", "/schemas"))
        if not named:
            yield at, value
        for name, member in value.items():
            if named or name not in _EXAMPLES:
                yield from _nodes(member, f"{at}/{str(name).replace('/', '~1')}")
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from _nodes(member, f"{at}/{number}")


def _references(nodes: list[tuple[str, Any]]) -> dict[str, set[str]]:
    """By the name of a schema, the places that refer to it."""
    found = defaultdict(set)
    for at, node in nodes:
        if isinstance(node.get("$ref"), str) and node["$ref"].startswith(_REFERENCE):
            found[node["$ref"].removeprefix(_REFERENCE)].add(at)
    return found


def _asked(nodes: list[tuple[str, Any]]) -> set[str]:
    """The schemas of requests, and those that they are made of."""
    references = _references(nodes)
    asked: set[str] = set()
    while True:
        more = {name for name, places in references.items() if any(_is_asked(at, asked) for at in places)}
        if more <= asked:
            return asked
        asked |= more


def _is_asked(at: str, schemas: set[str]) -> bool:
    parts = at.split("/")
    if parts[1:3] == ["components", "schemas"]:
        return len(parts) > 3 and parts[3] in schemas
    return "parameters" in parts or "requestBody" in parts


def _troubles(at: str, node: dict[str, Any], asked: bool) -> Iterator[str]:
    kinds = node.get("type")
    types = set(kinds) if isinstance(kinds, list) else {kinds}
    choices = node.get("oneOf", []) + node.get("anyOf", [])
    if asked and (len(types) > 1 or "anyOf" in node or any("$ref" not in each for each in choices)):
        yield "union in a request"
    others = [each for each in choices if each.get("type") != "null"]
    if not asked and at not in MAY_BE_UNIONS and (len(types - {"null"}) > 1 or len(others) > 1):
        yield "union in an answer"
    if "default" in node and node["default"] is None and kinds is not None:
        yield "null as a default"
    if "integer" in types:
        most = max(node["enum"]) if "enum" in node else node.get("maximum", MOST_INT64)
        if node.get("format") != "int64" and most > MOST_INT32:
            yield "integer of more than 31 bits without int64"
        if node.get("format") not in (None, "int32", "int64"):
            yield "format of an integer that few know"
        if most > MOST_INT64:
            yield "bound over 2^63-1"


def _only_in_forms(nodes: list[tuple[str, Any]]) -> set[str]:
    """Models that openapi-generator leaves out and uses all the same (typescript-fetch)."""
    return {name for name, places in _references(nodes).items() if all(_FORM in f"{at}/" for at in places)}
