"""The bodies of questions and their types, in the OpenAPI document."""

from __future__ import annotations

from typing import Any, Final

from app.api.door import ApiDoor

JSON: Final = "application/json"


def body_of(content: dict[str, Any]) -> dict[str, Any]:
    """The body of a POST.

    That JSON may be declared as anything (docs/interface.md#compat-clients) is not announced: generated
    clients declare it, and some generators leave out an operation with a type that they cannot write.

    :param content: what is read, by its type.
    """
    return {"required": True, "content": content}


def unread_types(door: ApiDoor) -> tuple[int, ...]:
    """How a POST fails whose body is declared as another type, with ``COMPAT_CLIENTS=0``."""
    return () if door.compat_clients else (415,)
