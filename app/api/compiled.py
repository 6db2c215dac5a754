"""What a schema does with a document, worked out once instead of at every request (docs/performance.md).

The schemas stay the only description: the same fields read and write the same values. What is out of the
ordinary is left to marshmallow itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from marshmallow import Schema, ValidationError, missing

_SCHEMAS: Final = 256
"""More than one application has; tests make many applications."""

_ABSENT: Final = object()


@lru_cache(_SCHEMAS)
def dumper(schema: Schema) -> Callable[[Any], dict[str, Any]]:
    """``schema.dump`` for one object or mapping, of a schema that has no hooks for dumping.

    :raises ValueError: it has.
    """
    if _hooks(schema, "pre_dump", "post_dump"):
        raise ValueError(f"{type(schema).__name__} has hooks for dumping")
    fields = tuple(
        (field.data_key or name, field.attribute or name, field.dump_default, field._serialize)
        for name, field in schema.dump_fields.items()
    )

    def dump(values: Any) -> dict[str, Any]:
        keyed = isinstance(values, Mapping)
        document: dict[str, Any] = {}
        for key, attribute, default, serialize in fields:
            value = values.get(attribute, _ABSENT) if keyed else getattr(values, attribute, _ABSENT)
            if value is _ABSENT:
                if default is missing:
                    continue
                value = default() if callable(default) else default
            document[key] = serialize(value, attribute, values)
        return document

    return dump


@lru_cache(_SCHEMAS)
def loader(schema: Schema) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """``schema.load`` for one mapping, of a schema that ignores what it does not know."""
    fields = tuple(
        (field.data_key or name, field.attribute or name, field.required, field.deserialize)
        for name, field in schema.load_fields.items()
    )
    hooked = _hooks(schema, "pre_load", "post_load", "validates", "validates_schema")
    plain = not hooked and all(field.load_default is missing for field in schema.load_fields.values())

    def load(values: Mapping[str, Any]) -> dict[str, Any]:
        loaded: dict[str, Any] = {}
        try:
            for key, attribute, required, deserialize in fields:
                value = values.get(key, _ABSENT)
                if value is not _ABSENT:
                    loaded[attribute] = deserialize(value, key, values)
                elif required:
                    return _loaded(schema, values)
        except ValidationError:
            return _loaded(schema, values)  # which finds every fault, not only the first
        return loaded

    return load if plain else lambda values: _loaded(schema, values)


def _loaded(schema: Schema, values: Mapping[str, Any]) -> dict[str, Any]:
    loaded: dict[str, Any] = schema.load(values)
    return loaded


def _hooks(schema: Schema, *phases: str) -> bool:
    return any(schema._hooks.get(phase) for phase in phases)
