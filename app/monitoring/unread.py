"""The answer to a request that the server cannot read: its first line or its headers are too long or broken.

The path is not known then, so the answer has the fields of every operation at their zero values: each client
finds its own (docs/interface.md#unread).
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import orjson

from app.api import public_answers
from app.http.errors import RETRY_SECONDS
from app.http.headers import REASON, REQUEST_ID
from app.http.public import PUBLIC_HEADERS
from app.observability.logs import id_of_unread
from app.values.codes import ErrCode, Reason

_REMEDIES: Final = {
    414: "omit what is not needed, or send the fields in the body of a POST",
    431: "send fewer or shorter headers",
}


def unread_answer(status: int, phrase: str, complaint: str) -> bytes:
    """The whole HTTP answer, after which the server closes the connection.

    :param status: the HTTP status that the server chose, and ``phrase`` its text.
    :param complaint: what the server found, for people; may be empty.
    """
    own, body = refusal(status, complaint or phrase)
    headers = (*own, ("Content-Length", str(len(body))), ("Connection", "close"))
    lines = (f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in headers), "", "")
    return "\r\n".join(lines).encode("ascii", "replace") + body


def refusal(status: int, complaint: str) -> tuple[list[tuple[str, str]], bytes]:
    """The headers and the body of an answer that fits any request.

    The headers do not include the body's length or the connection.

    :param status: of HTTP.
    :param complaint: for people.
    """
    said = [text for text in (complaint, _REMEDIES.get(status)) if text]
    err = {"code": ErrCode.ERROR_CODE_COMMON, "msg": "; ".join(said)}
    body = orjson.dumps(every_field() | {"err": err})
    reason = {500: Reason.INTERNAL, 503: Reason.UNAVAILABLE}.get(status, Reason.BAD_REQUEST)
    retry = (("Retry-After", str(RETRY_SECONDS)),) if status == 503 else ()
    return [*PUBLIC_HEADERS, *retry, (REQUEST_ID, id_of_unread()), (REASON, reason.value)], body


@cache
def every_field() -> dict[str, Any]:
    """The fields of all public answers at their zero values. No two answers disagree about one."""
    return {name: zero for shape in public_answers(True).values() for name, zero in shape.dump({}).items()}
