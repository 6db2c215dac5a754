"""Reading and writing by the plain fields of a schema: what marshmallow gives, at a fraction of the cost.

The fields themselves do the work. What is left out is marshmallow's care for hooks, nested names and faults,
where there are none; ``tests/services/test_plain.py`` compares both for every schema that is used so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError, fields, missing

Read = Callable[..., Any]
Write = Callable[..., Any]


def load(schema: Schema, data: dict[str, Any]) -> dict[str, Any]:
    """What ``schema.load`` gives, without the optional fields that are null.

    Marshmallow itself reads schemas that have lists, and all that is not right: it knows what to say.

    :raises ValidationError: the data is not as the schema says.
    """
    plain = _read_fields(schema)
    values: dict[str, Any] = {}
    try:
        for name, optional, nullable, read in plain:
            value = data.get(name)
            if value is not None:
                values[name] = read(value, name, data)
            elif not optional or (name in data and not nullable):
                break
        else:
            if plain:
                return values
    except ValidationError:
        pass  # said below, with the first fault in marshmallow's order
    loaded: dict[str, Any] = schema.load(data)
    nulls = {name for name, value in data.items() if value is None}
    return {name: value for name, value in loaded.items() if value is not None or name not in nulls}


def dump(schema: Schema, values: Any) -> dict[str, Any]:
    """What ``schema.dump`` gives.

    :param values: an object with the fields as attributes, or a mapping.
    """
    plain = _write_fields(schema)
    if not plain:
        dumped: dict[str, Any] = schema.dump(values)
        return dumped
    mapped = isinstance(values, Mapping)
    written: dict[str, Any] = {}
    for name, default, write in plain:
        value = values.get(name, missing) if mapped else getattr(values, name, missing)
        if value is missing:
            value = default() if callable(default) else default
            if value is missing:
                continue
        written[name] = write(value, name, values)
    return written


@cache
def _read_fields(schema: Schema) -> tuple[tuple[str, bool, bool, Read], ...]:
    """Name, whether it may be left out, whether it may be null, and reader of each field; empty where
    marshmallow has more to do."""
    found = schema.load_fields.items()
    if _has_hooks(schema) or schema.unknown != EXCLUDE or not all(_is_read_plainly(f) for _, f in found):
        return ()
    return tuple((name, not field.required, field.allow_none, field._deserialize) for name, field in found)


@cache
def _write_fields(schema: Schema) -> tuple[tuple[str, Any, Write], ...]:
    """Name, value where there is none, and writer of each field; empty where marshmallow has more to do."""
    found = schema.dump_fields.items()
    if _has_hooks(schema) or not all(_is_written_plainly(name, field) for name, field in found):
        return ()
    return tuple((name, field.dump_default, field._serialize) for name, field in found)


def _has_hooks(schema: Schema) -> bool:
    return any(schema._hooks.values())


def _is_renamed(field: fields.Field[Any]) -> bool:
    return field.data_key is not None or field.attribute is not None


def _is_read_plainly(field: fields.Field[Any]) -> bool:
    nested = isinstance(field, fields.List | fields.Nested)
    checked = field.validators or field.pre_load or field.post_load
    return not (_is_renamed(field) or nested or checked) and field.load_default is missing


def _is_written_plainly(name: str, field: fields.Field[Any]) -> bool:
    return not _is_renamed(field) and field._CHECK_ATTRIBUTE and "." not in name
