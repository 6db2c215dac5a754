"""What users ask for: refunds, for the validator network to prepare."""

from __future__ import annotations

from typing import Final

from flask import Blueprint, Response, request

from app.domain.amounts import is_ascii_digits
from app.domain.errors import BadRequest
from app.http.answers import private_answer
from app.ingest.bearer import bearer
from app.runtime.gateway import current_gateway
from app.services.refund_asks import refund_asks

asks = Blueprint("refund_requests", __name__)

_LARGEST: Final = 2**63 - 1


@asks.get("/refund-requests", provide_automatic_options=False)
def get_refund_requests() -> Response:
    """The asks behind one, of the chains that the token is for."""
    token = bearer()
    page = refund_asks(current_gateway(), token.scope, _after())
    return private_answer({"err": None} | page.as_json())


def _after() -> int:
    """The parameter ``after``; 0, the beginning, where it is left out or empty.

    :raises BadRequest: it is there twice, or is no number of 63 bits.
    """
    values = request.args.getlist("after")
    if len(values) > 1:
        raise BadRequest("after: must be given once")
    text = values[0] if values else ""
    if not text:
        return 0
    if not is_ascii_digits(text) or len(text) > len(str(_LARGEST)) or int(text) > _LARGEST:
        raise BadRequest("after: must be a whole number, the next of the previous answer, or omitted")
    return int(text)
