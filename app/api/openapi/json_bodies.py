"""The fields of a query as members of a JSON object, in the OpenAPI document.

One schema reads both. In JSON a field may have its own type beside the text that a query has.
"""

from __future__ import annotations

from typing import Any, Final

_DIGITS: Final = {"type": "string", "pattern": "^[0-9]{1,9}$"}
"""Integers as text. Longer ones are taken too, within the bounds of the number."""

_FLAG: Final = {"type": "string", "pattern": "^([Tt]([Rr][Uu][Ee])?|[Ff]([Aa][Ll][Ss][Ee])?|[01])$"}
_LEFT_OUT: Final = ({"type": "null"}, {"type": "string", "maxLength": 0})
_AS_TEXT: Final = {"integer": _DIGITS, "boolean": _FLAG}
_OF_THE_FIELD: Final = ("description", "example")


def in_json(fields: dict[str, Any]) -> dict[str, Any]:
    """The schema of a JSON object with the same fields.

    :param fields: the schema of the fields as a query or a form has them.
    """
    required = fields.get("required", [])
    members = {name: _member(field, name in required) for name, field in fields["properties"].items()}
    return fields | {"properties": members}


def _member(field: dict[str, Any], required: bool) -> dict[str, Any]:
    """A field in its own type, as text, and, where it is optional, left out by null or an empty text."""
    said = {key: field[key] for key in _OF_THE_FIELD if key in field}
    own = {key: rule for key, rule in field.items() if key not in said}
    forms = [own, *([_AS_TEXT[own["type"]]] if own["type"] in _AS_TEXT else [])]
    if not required:
        forms += _LEFT_OUT if own["type"] != "string" else _LEFT_OUT[:1]
    return said | (own if len(forms) == 1 else {"anyOf": forms})
