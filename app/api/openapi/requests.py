"""The bodies of questions and their types, in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from app.api.door import ApiDoor

JSON: Final = "application/json"


def body_of(door: ApiDoor, content: dict[str, Any]) -> dict[str, Any]:
    """The body of a POST; unless ``COMPAT_CLIENTS=0``, JSON may be declared as anything.

    A range of types such as ``*/*`` would promise that XML is read, too.

    :param content: what is read, by its type. JSON is there.
    """
    return {
        "required": True,
        "content": content | ({"text/plain": content[JSON]} if door.compat_clients else {}),
    }


def unread_types(door: ApiDoor) -> tuple[int, ...]:
    """How a POST fails whose body is declared as another type, with ``COMPAT_CLIENTS=0``."""
    return () if door.compat_clients else (415,)
