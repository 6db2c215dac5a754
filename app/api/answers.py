"""Turning what a service returns into an HTTP answer."""

from __future__ import annotations

from typing import Any, Final

import orjson
from flask import Response
from marshmallow import Schema

from app.services.public_door import ANY_ORIGIN, EXPOSED_HEADERS, NO_SNIFF, NO_STORE

JSON: Final = ("Content-Type", "application/json")
EXPOSED: Final = ("Access-Control-Expose-Headers", EXPOSED_HEADERS)

PRIVATE_HEADERS: Final = (JSON, NO_STORE, NO_SNIFF)
PUBLIC_HEADERS: Final = (*PRIVATE_HEADERS, ANY_ORIGIN, EXPOSED)


def answer(shape: Schema, values: Any) -> Response:
    """A successful answer: the attributes or items of ``values`` in this shape, ``err`` null."""
    return Response(orjson.dumps(shape.dump(values)), 200, PUBLIC_HEADERS)
