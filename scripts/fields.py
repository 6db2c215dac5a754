"""``make fields``: write the fields of each operation, with their types, for its page in docs/api.

The texts are those of the OpenAPI document. What an earlier page lists is linked. The site shows them where
the page links to them (``scripts/docs_site/pages.py``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from app.api.openapi.document import document

ROOT: Final = Path(__file__).resolve().parent.parent
FIELDS: Final = ROOT / "scripts" / "docs_site" / "fields"
OPERATIONS: Final = ROOT / "docs" / "api" / "README.md"
_LISTED: Final = re.compile(r"^\| \[\w+\]\((\w+)\.md\)", re.MULTILINE)
_REFERENCE: Final = "#/components/schemas/"
_JSON: Final = "application/json"
_ERR: Final = "err"
"""Every answer has it."""
_WORTH_A_LINK: Final = 3
"""Fewer fields of an earlier page are listed again: a link would be no shorter."""

Shape = dict[str, Any]
Row = tuple[str, str, str]
"""Name, type and meaning of a field."""


def tables() -> dict[Path, str]:
    """The files, in the order of docs/api/README.md, each with its text."""
    listed = _LISTED.findall(OPERATIONS.read_text(encoding="utf-8"))
    made = _Tables(document(compat_clients=True, waiting=True))
    return {FIELDS / f"{page}.md": made.of(page) for page in listed}


@dataclass
class _Tables:
    document: Shape
    objects: dict[str, str] = field(default_factory=dict)
    """Objects, each with the page that lists it."""
    fields: dict[Row, list[str]] = field(default_factory=dict)
    """Fields, each with the pages that list it."""

    def of(self, page: str) -> str:
        operations = self.document["paths"][f"/v2/{page}"].values()
        requested = dict(chain.from_iterable(map(self._requested, operations)))
        answered = dict(chain.from_iterable(map(self._answered, operations)))
        nested = [name for name in self._nested([requested, answered]) if self._lists(name, page)]
        made = [("request", requested), ("answer", answered)]
        made += [(f"`{name}`", self._schema(name)["properties"]) for name in nested]
        return "\n".join(self._table(page, head, fields) for head, fields in made if fields)

    def _requested(self, operation: Shape) -> Iterator[tuple[str, Shape]]:
        """Parameters of the query, and fields of the body."""
        for each in operation.get("parameters", ()):
            if each["in"] == "query":
                described = {"description": each["description"], "optional": not each["required"]}
                yield each["name"], each["schema"] | described
        content = operation.get("requestBody", {}).get("content", {})
        for name in _references(content.get(_JSON, {})):
            body = self._schema(name)
            for each, shape in body.get("properties", {}).items():
                yield each, shape | {"optional": each not in body.get("required", ())}

    def _answered(self, operation: Shape) -> Iterator[tuple[str, Shape]]:
        for name in _references(operation["responses"]["200"]["content"].get(_JSON, {}).get("schema", {})):
            yield from (each for each in self._schema(name)["properties"].items() if each[0] != _ERR)

    def _nested(self, shapes: Iterable[Shape]) -> list[str]:
        """The objects in these shapes, and those in the objects."""
        found: list[str] = []
        left = list(shapes)
        while left:
            new = [name for name in dict.fromkeys(_references(left.pop(0))) if name not in found]
            found += new
            left += map(self._schema, new)
        return found

    def _lists(self, name: str, page: str) -> bool:
        """Whether this page lists the object: no earlier page lists it, or all its fields."""
        shapes = self._schema(name)["properties"]
        homes = [self.fields.get(self._row(each, shape, page), []) for each, shape in shapes.items()]
        listed = [home for home in homes[0] if all(home in each for each in homes)]
        return self.objects.setdefault(name, listed[0] if listed else page) == page

    def _schema(self, name: str) -> Shape:
        found: Shape = self.document["components"]["schemas"][name]
        return found

    def _table(self, page: str, head: str, shapes: Shape) -> str:
        """One row for all fields of one type and meaning, one for all that an earlier page lists."""
        fields = [self._row(name, shape, page) for name, shape in shapes.items()]
        linked = self._linked(fields, page)
        rows: dict[tuple[str, str], list[str]] = {}
        for row in fields:
            name, kind, meaning = row
            if home := linked.get(row):
                kind, meaning = "", f"as in [{home}]({home}.md)"
            else:
                pages = self.fields.setdefault(row, [])
                pages += [page] * (page not in pages)
            rows.setdefault((kind, meaning), []).append(f"`{name}`")
        lines = [
            " ".join(f"| {', '.join(names)} | {kind} | {meaning} |".split())
            for (kind, meaning), names in rows.items()
        ]
        return "\n".join([f"| {head} | type | |", "|---|---|---|", *lines, ""])

    def _linked(self, fields: list[Row], page: str) -> dict[Row, str]:
        """The fields that earlier pages list, each with the page that lists most of them."""
        linked: dict[Row, str] = {}
        while True:
            left = [row for row in fields if row not in linked]
            homes = Counter(home for row in left for home in self.fields.get(row, ()) if home != page)
            home, count = max(homes.items(), key=itemgetter(1), default=("", 0))
            if count < _WORTH_A_LINK:
                return linked
            linked |= {row: home for row in left if home in self.fields.get(row, ())}

    def _row(self, name: str, shape: Shape, page: str) -> Row:
        meaning = shape.get("description", "")
        if meaning.lower() == f"{name.replace('_', ' ')}.":  # it says no more than the name
            meaning = ""
        kind = self._kind(shape, page) + (", optional" if shape.get("optional") else "")
        return name, kind, meaning

    def _kind(self, shape: Shape, page: str) -> str:
        if "$ref" in shape:
            name = shape["$ref"].removeprefix(_REFERENCE)
            home = self.objects.get(name, page)
            return f"`{name}`" if home == page else f"[`{name}`]({home}.md)"
        if options := shape.get("anyOf") or shape.get("oneOf"):
            return " or ".join(self._kind(each, page) for each in options)
        kinds = shape.get("type", "any")
        words = [self._word(kind, shape, page) for kind in (kinds if isinstance(kinds, list) else [kinds])]
        return " or ".join(words)

    def _word(self, kind: str, shape: Shape, page: str) -> str:
        if kind == "array":
            of = self._kind(shape["items"], page)
            return f"list of {of}s" if of == "string" else f"list of {of}"
        if kind == "object":
            return f"map of {self._kind(shape['additionalProperties'], page)}"
        return kind


def _references(shape: Any) -> Iterator[str]:
    """The names of the objects that a part of the document refers to, in their order."""
    if isinstance(shape, dict):
        if "$ref" in shape:
            yield shape["$ref"].removeprefix(_REFERENCE)
        yield from chain.from_iterable(map(_references, shape.values()))
    elif isinstance(shape, list):
        yield from chain.from_iterable(map(_references, shape))


def main() -> None:
    for path, made in tables().items():
        path.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
