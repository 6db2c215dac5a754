"""What the server answers before it knows the path (docs/interface/answers.md#unread)."""

from __future__ import annotations

import json
from http.client import HTTPResponse
from io import BytesIO
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.api import public_answers
from serving.reserved import every_field, unread_answer
from tests.api.shapes import ZEROES


class Socket:
    """A connection with an answer."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def makefile(self, _mode: str) -> BytesIO:
        return BytesIO(self.raw)


def read(raw: bytes) -> HTTPResponse:
    response = HTTPResponse(Socket(raw))  # type: ignore[arg-type]
    response.begin()
    return response


@pytest.mark.parametrize(
    ("status", "phrase", "complaint", "words"),
    [
        (414, "URI Too Long", "Request Line is too large (9000 > 8190)", ("9000 > 8190", "POST")),
        (431, "Request Header Fields Too Large", "", ("Request Header Fields Too Large", "headers")),
        (400, "Bad Request", "Invalid Request Line '\"\r\n\u00e9'", ("Invalid Request Line",)),
        (500, "Internal Server Error", "", ("Internal Server Error",)),
    ],
)
def test_unread_request_gets_whole_answer(
    status: int, phrase: str, complaint: str, words: tuple[str, ...]
) -> None:
    response = read(unread_answer(status, phrase, complaint))
    assert response.status == status
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Connection"] == "close"
    assert response.headers["X-Gateway-Reason"] == ("internal" if status == 500 else "bad_request")
    body = json.loads(response.read())
    assert response.read() == b""
    err = body.pop("err")
    assert err["code"] == 500
    for word in words:
        assert word in err["msg"]
    for zeroes in ZEROES.values():
        assert body.items() >= zeroes.items()


def test_headers_equal_other_public_errors(client: FlaskClient) -> None:
    known = client.get("/v2/estimateAmt").headers
    response = read(unread_answer(414, "URI Too Long", ""))
    for name, value in known.items():
        if name not in ("Content-Length", "X-Request-Id"):
            assert response.headers[name] == value


def test_answers_share_one_zero_for_each_field() -> None:
    for shape in public_answers(compat_clients=True).values():
        zeroes: dict[str, Any] = dict(shape.dump({}))
        assert every_field().items() >= zeroes.items()
