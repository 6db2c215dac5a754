"""The fields of a question in a query, a form and a JSON body, in the OpenAPI document.

One schema reads all three. In JSON a field may have its own type beside the text that a query has. A query
and a form have text alone, and the document says which texts are read.
"""

from __future__ import annotations

from typing import Any, Final

_AS_TEXT: Final[dict[str, dict[str, Any]]] = {
    "integer": {"type": "string", "pattern": "^[0-9]{1,9}$"},  # longer ones too, within the number's bounds
    "boolean": {
        "type": "string",
        "pattern": "^([Tt]([Rr][Uu][Ee])?|[Ff]([Aa][Ll][Ss][Ee])?|[01])$",
    },
}
_EMPTY: Final[dict[str, Any]] = {"type": "string", "maxLength": 0}
_NULL: Final[dict[str, Any]] = {"type": "null"}
_OF_THE_FIELD: Final = ("description", "example")


def in_json(fields: dict[str, Any]) -> dict[str, Any]:
    """The schema of a JSON object with the same fields, of which null leaves an optional one out.

    :param fields: the schema of the fields as a query has them.
    """
    return _body(fields, _EMPTY, _NULL)


def in_form(fields: dict[str, Any]) -> dict[str, Any]:
    """The schema of a form with the same fields, of which an empty one is left out."""
    return _body(fields, _EMPTY)


def in_query(parameters: list[dict[str, Any]]) -> None:
    """Say of each optional parameter, in place, which texts are read; an empty one leaves it out."""
    for parameter in parameters:
        optional = parameter["in"] == "query" and not parameter["required"]
        if optional and parameter["schema"].get("type") in _AS_TEXT:
            parameter["schema"] = _member(parameter["schema"], (_EMPTY,))


def _body(fields: dict[str, Any], *left_out: dict[str, Any]) -> dict[str, Any]:
    required = fields.get("required", [])
    members = {
        name: _member(field, () if name in required else left_out)
        for name, field in fields["properties"].items()
    }
    return fields | {"properties": members}


def _member(field: dict[str, Any], left_out: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """A field in its own type, as text, and as what leaves it out."""
    said = {key: field[key] for key in _OF_THE_FIELD if key in field}
    own = {key: rule for key, rule in field.items() if key not in said}
    forms = [own, _AS_TEXT[own["type"]]] if own["type"] in _AS_TEXT else [own]
    forms += [form for form in left_out if form is not _EMPTY or own["type"] != "string"]
    return said | (own if len(forms) == 1 else {"anyOf": forms})
