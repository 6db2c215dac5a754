"""The fields of a question in a query, a form and a JSON body, in the OpenAPI document.

One schema reads all three. In JSON a field may have its own type beside the text that a query has. A query
and a form have text alone, and the document says which texts are read.
"""

from __future__ import annotations

from typing import Any, Final

_TEXTS: Final = {
    "integer": "[0-9]{1,9}",  # longer ones too, within the number's bounds
    "boolean": "[Tt]([Rr][Uu][Ee])?|[Ff]([Aa][Ll][Ss][Ee])?|[01]",
}
"""Which texts are read as a value of a type, as a regular expression."""


def in_json(fields: dict[str, Any]) -> dict[str, Any]:
    """The schema of a JSON object with the same fields, of which null leaves an optional one out.

    :param fields: the schema of the fields as a query has them.
    """
    return _body(fields, "null")


def in_form(fields: dict[str, Any]) -> dict[str, Any]:
    """The schema of a form with the same fields, of which an empty one is left out."""
    return _body(fields)


def in_query(parameters: list[dict[str, Any]]) -> None:
    """Say of each optional parameter, in place, which texts are read; an empty one leaves it out."""
    for parameter in parameters:
        if parameter["in"] == "query" and not parameter["required"]:
            parameter["schema"] = _optional(parameter["schema"])


def _body(fields: dict[str, Any], *more_types: str) -> dict[str, Any]:
    required = fields.get("required", [])
    members = {
        name: _as_text(field) if name in required else _optional(field, *more_types)
        for name, field in fields["properties"].items()
    }
    example = {name: field["example"] for name, field in fields["properties"].items() if "example" in field}
    return fields | {"properties": members, "example": example}


def _as_text(field: dict[str, Any]) -> dict[str, Any]:
    """The field, written in its own type or as text. The pattern is about texts alone."""
    own = str(field.get("type"))
    if own not in _TEXTS:
        return field
    return field | {"type": [own, "string"], "pattern": f"^({_TEXTS[own]})$"}


def _optional(field: dict[str, Any], *more_types: str) -> dict[str, Any]:
    """The field as text, which may be empty, or of further types."""
    if "type" not in field:  # whatever it is, it is not read
        return field
    own = str(field["type"])
    if own in _TEXTS:
        field = field | {"type": [own, "string", *more_types], "pattern": f"^({_TEXTS[own]})?$"}
    elif more_types:
        field = field | {"type": [own, *more_types]}
    return field
