"""JSON-RPC 2.0 (jsonrpc.org/specification): calls by themselves or in batches, and what is wrong in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INTERNAL_ERROR: Final = -32603

Answer = Mapping[str, Any]


def answer(body: bytes, call: Callable[[dict[str, Any]], Answer]) -> bytes:
    """The answer to a request; empty where it has notifications only.

    :param call: answers one valid call.
    """
    try:
        request = json.loads(body)
    except ValueError:
        return _encoded(failure(None, PARSE_ERROR, "Parse error"))
    if not isinstance(request, list):
        found = _answered(request, call)
        return b"" if found is None else _encoded(found)
    if not request:
        return _encoded(failure(None, INVALID_REQUEST, "Invalid Request"))
    every = [found for each in request if (found := _answered(each, call)) is not None]
    return _encoded(every) if every else b""


def failure(call_id: Any, code: int, message: str) -> Answer:
    return {"jsonrpc": "2.0", "id": call_id, "error": {"code": code, "message": message}}


def success(call: Mapping[str, Any], result: Any) -> Answer:
    return {"jsonrpc": "2.0", "id": call.get("id"), "result": result}


def _answered(request: Any, call: Callable[[dict[str, Any]], Answer]) -> Answer | None:
    """The answer to one call; None to a notification, which is carried out, too."""
    if not _is_call(request):
        known = request.get("id") if isinstance(request, dict) and _is_id(request.get("id")) else None
        return failure(known, INVALID_REQUEST, "Invalid Request")
    found = call(request)
    return found if "id" in request else None


def _is_call(request: Any) -> bool:
    return (
        isinstance(request, dict)
        and request.get("jsonrpc") == "2.0"
        and isinstance(request.get("method"), str)
        and isinstance(request.get("params", []), list | dict)
        and _is_id(request.get("id"))
    )


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, str | int | float) and not isinstance(value, bool))


def _encoded(answered: Any) -> bytes:
    return json.dumps(answered).encode()
