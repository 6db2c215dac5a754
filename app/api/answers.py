"""Turning what a service returns into an HTTP answer."""

from __future__ import annotations

from typing import Any, Final

import orjson
from flask import Response
from marshmallow import Schema

JSON: Final = ("Content-Type", "application/json")
NO_STORE: Final = ("Cache-Control", "no-store")
NO_SNIFF: Final = ("X-Content-Type-Options", "nosniff")
ANY_ORIGIN: Final = ("Access-Control-Allow-Origin", "*")
EXPOSED: Final = ("Access-Control-Expose-Headers", "X-Gateway-Reason, Retry-After")

PRIVATE_HEADERS: Final = (JSON, NO_STORE, NO_SNIFF)
PUBLIC_HEADERS: Final = (*PRIVATE_HEADERS, ANY_ORIGIN, EXPOSED)


def answer(shape: Schema, values: Any) -> Response:
    """A successful answer: the attributes or items of ``values`` in this shape, ``err`` null."""
    return Response(orjson.dumps(shape.dump(values)), 200, PUBLIC_HEADERS)
