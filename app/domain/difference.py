"""What differs between two forms of one thing, field by field, for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """One field, named like ``rate.value`` or ``perc_fee_tiers[1].ppm``, before and after as text.

    ``None``: the field was not there, or is no longer.
    """

    field: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.field}: {self.after}"
        return f"{self.field}: {self.before} → {self.after if self.after is not None else '(gone)'}"


def difference(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> tuple[FieldDifference, ...]:
    """The fields that differ, in the order of the newer form; all fields of what is created or removed."""
    old, new = dict(_leaves("", before)), dict(_leaves("", after))
    names = [*new, *(name for name in old if name not in new)]
    return tuple(
        FieldDifference(name, old.get(name), new.get(name))
        for name in names
        if old.get(name) != new.get(name)
    )


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every value without parts, with its path; an empty list or object is such a value."""
    if isinstance(value, Mapping) and (value or not path):
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), inner)
    elif isinstance(value, list | tuple) and value:
        for index, inner in enumerate(value):
            yield from _leaves(f"{path}[{index}]", inner)
    elif path:
        yield path, _shown(value)


def _shown(value: Any) -> str:
    """Text as it is; empty text and other values as JSON."""
    return value if isinstance(value, str) and value else json.dumps(value)
