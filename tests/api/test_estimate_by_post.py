"""An estimate by POST: as a form and as JSON by the rules of the query
(docs/interface/estimates.md#estimate).
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from tests.api.malformed import queries
from tests.api.shapes import ESTIMATE, assert_refused
from tests.api.world import BLOCKED

FORM = "application/x-www-form-urlencoded"
PATHS = (ESTIMATE, "/v1/estimateAmt")

GOOD: dict[str, Any] = {
    "src_chain_id": 1,
    "dst_chain_id": 56,
    "token_symbol": "USDT",
    "amt": "1000000",
    "slippage_tolerance": 3000,
}
WRONG_TYPES: tuple[Any, ...] = ({}, [], ["1"], -1, 1.5, True, None, "")
NOT_READ = [query for path, query, _ in queries() if path == ESTIMATE][::6]
"""A sixth: both are read by the same code, each value of a query is in test_malformed.py."""


def same(one: TestResponse, other: TestResponse) -> None:
    """Status, reason and body."""
    assert one.status_code == other.status_code
    assert one.headers.get("X-Gateway-Reason") == other.headers.get("X-Gateway-Reason")
    assert one.get_data() == other.get_data()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"usr_addr": BLOCKED},
        {"is_pegged": "true"},
        {"is_pegged": "F"},
        {"token_symbol": "NONE"},
        {"slippage_tolerance": 0},
        {"dst_chain_id": 1},
        {"amt": "0"},
        {"usr_addr": ""},
        {"nothing": "known", "\0": "\0"},
    ],
    ids=str,
)
def test_query_form_and_json_answer_the_same(client: FlaskClient, path: str, changes: dict[str, Any]) -> None:
    fields = GOOD | changes
    by_query = client.get(path, query_string=fields)
    assert by_query.status_code == 200
    same(client.post(path, data=urlencode(fields), content_type=FORM), by_query)
    same(client.post(path, data=urlencode(fields), content_type=f"{FORM}; charset=UTF-8"), by_query)
    same(client.post(path, json=fields), by_query)
    same(client.post(path, json={name: str(value) for name, value in fields.items()}), by_query)


@pytest.mark.parametrize("query", NOT_READ, ids=lambda query: str(query)[:60])
def test_form_is_refused_like_query(strict: FlaskClient, query: str) -> None:
    raw = query.encode().decode("latin-1")
    by_query = strict.get(ESTIMATE, environ_overrides={"QUERY_STRING": raw})
    assert by_query.status_code == 400
    same(strict.post(ESTIMATE, data=raw.encode("latin-1"), content_type=FORM), by_query)


@pytest.mark.parametrize(
    "name_and_value",
    [
        *((name, value) for name in GOOD for value in WRONG_TYPES),
        ("amt", 1000000),
        ("amt", 1e6),
        ("token_symbol", 1),
        ("token_symbol", "US\0DT"),
        ("usr_addr", 1),
        ("usr_addr", "\0"),
        ("is_pegged", 1),
        ("is_pegged", 0),
        ("is_pegged", {}),
        ("is_pegged", "yes"),
        ("src_chain_id", 2**32),
        ("src_chain_id", 2.0**32),
        ("src_chain_id", 10**300),
        ("src_chain_id", "1.0"),
        ("src_chain_id", "+1"),
        ("slippage_tolerance", 1e300),
    ],
    ids=str,
)
def test_json_of_the_wrong_type_is_refused(strict: FlaskClient, name_and_value: tuple[str, Any]) -> None:
    name, value = name_and_value
    response = strict.post(ESTIMATE, json=GOOD | {name: value})
    message = assert_refused(response, 400, "bad_request", ESTIMATE)
    assert message.startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"slippage_tolerance": 3000.0}, {}),  # to JSON the same integer
        ({"src_chain_id": "1", "dst_chain_id": "56"}, {}),
        ({"usr_addr": None, "is_pegged": None}, {}),
        ({"usr_addr": "", "is_pegged": ""}, {}),
        ({"is_pegged": False}, {"is_pegged": "false"}),
        ({"is_pegged": True}, {"is_pegged": "true"}),
        ({"unknown": {"nested": [None, "\0"]}, "\0": 1}, {}),
    ],
    ids=str,
)
def test_other_spellings_in_json(client: FlaskClient, written: dict[str, Any], meant: dict[str, Any]) -> None:
    same(client.post(ESTIMATE, json=GOOD | written), client.get(ESTIMATE, query_string=GOOD | meant))


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"amt": "1", "amt": "1"}', b'"amt"', b"amt=1", b"\xff"]
)
def test_malformed_json_is_refused(client: FlaskClient, body: bytes) -> None:
    response = client.post(ESTIMATE, data=body, content_type="application/json")
    assert assert_refused(response, 400, "bad_request", ESTIMATE).startswith("body: ")


@pytest.mark.parametrize(
    "kind", [None, "", "text/plain", "multipart/form-data; boundary=x", "application/xml"]
)
def test_strict_post_refuses_other_types(strict: FlaskClient, kind: str | None) -> None:
    response = strict.post(ESTIMATE, data=json.dumps(GOOD), content_type=kind)
    message = assert_refused(response, 415, "unsupported_media_type", ESTIMATE)
    assert "application/json" in message
    assert FORM in message


@pytest.mark.parametrize("kind", ["application/json", FORM, "text/plain"])
def test_posted_estimate_is_bounded(client: FlaskClient, kind: str) -> None:
    response = client.post(ESTIMATE, data=b"amt=" + b"1" * 65_536, content_type=kind)
    assert_refused(response, 413, "body_too_large", ESTIMATE)


def test_estimate_post_ignores_query_string(client: FlaskClient) -> None:
    fields = client.get(ESTIMATE, query_string=GOOD)
    same(client.post(f"{ESTIMATE}?amt=0&src_chain_id=1&src_chain_id=x", json=GOOD), fields)
    response = client.post(f"{ESTIMATE}?{urlencode(GOOD)}", json={})
    assert_refused(response, 400, "bad_request", ESTIMATE)
