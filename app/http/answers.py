"""Headers that every HTTP door uses, and answers that no cache stores and no other origin reads."""

from __future__ import annotations

from typing import Any, Final

import orjson
from flask import Response

REASON: Final = "X-Gateway-Reason"
"""The header of a refusal that names its cause (docs/interface.md#reasons)."""

JSON: Final = ("Content-Type", "application/json")
NO_STORE: Final = ("Cache-Control", "no-store")
NO_SNIFF: Final = ("X-Content-Type-Options", "nosniff")
NO_FRAMES: Final = ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")

AS_IT_IS: Final = (NO_SNIFF, NO_FRAMES)
"""A browser takes the answer for what its type says, loads nothing for it, and shows it in no other page."""

PRIVATE_HEADERS: Final = (JSON, NO_STORE, *AS_IT_IS)
"""Headers of an answer that pages of other origins may not read."""


def private_answer(document: Any) -> Response:
    """A document as a successful answer that pages of other origins may not read."""
    return Response(orjson.dumps(document), 200, PRIVATE_HEADERS)
