"""GET /v2/estimateAmt: reading, the recorded vectors, every code."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.api.estimates import EXACT, QUERY
from tests.api.shapes import ESTIMATE, ZEROES, assert_refused
from tests.api.world import BLOCKED, configure, event, report_events, vector

pytestmark = pytest.mark.both_interfaces

ROUTE = {"src_chain_id": 1, "dst_chain_id": 56}
RECORDED = vector("estimate_usdt_1_to_56")["recorded"]


def test_estimate_equals_recorded_response(client: FlaskClient) -> None:
    response = client.get(ESTIMATE, query_string=QUERY)
    assert response.status_code == 200
    assert "X-Gateway-Reason" not in response.headers
    body = response.get_json()
    assert body == RECORDED | EXACT
    assert list(body) == ["err", *ZEROES[ESTIMATE]]
    assert isinstance(body["bridge_rate"], float)


def test_estimate_error_equals_recorded_error(client: FlaskClient) -> None:
    response = client.get(ESTIMATE, query_string=QUERY | {"amt": "0"})
    assert response.get_json() == vector("error_estimate")
    assert json.loads(response.get_data())["bridge_rate"] == 0
    assert b'"bridge_rate":0,' in response.get_data()
    assert_refused(response, 200, "amount_zero", ESTIMATE)


@pytest.mark.parametrize(
    "query",
    [
        "usr_addr=",
        "usr_addr=" + "a" * 128,
        "usr_addr=" + "%C3%A9" * 128,
        "usr_addr=cosmos1%20x",
        "is_pegged=",
        *(f"is_pegged={flag}" for flag in ("false", "False", "FALSE", "0", "f", "F")),
        "unknown=1&unknown=2&%00=%00",
        "&&",
    ],
)
def test_ignored_parameters_change_nothing(client: FlaskClient, query: str) -> None:
    good = "&".join(f"{name}={value}" for name, value in QUERY.items())
    response = client.get(f"{ESTIMATE}?{query}&{good}")
    assert response.get_json() == RECORDED | EXACT


@pytest.mark.parametrize("flag", ["true", "TRUE", "1", "t", "T"])
def test_pegged_without_a_pair(client: FlaskClient, flag: str) -> None:
    response = client.get(ESTIMATE, query_string=QUERY | {"is_pegged": flag})
    assert_refused(response, 200, "no_pegged_pair", ESTIMATE, 1001)


def test_missing_tolerance_is_zero_and_passes(client: FlaskClient) -> None:
    without = {name: value for name, value in QUERY.items() if name != "slippage_tolerance"}
    for query in (without, without | {"slippage_tolerance": ""}):
        body = client.get(ESTIMATE, query_string=query).get_json()
        assert (body["err"], body["slippage_tolerance"]) == (None, 0)
        # 1 - (1000001 - 605437.528…) / 1000000, cut
        assert body["max_slippage"] == 605436


def test_leading_zeros_are_digits_too(client: FlaskClient) -> None:
    query = QUERY | {"amt": "0" * 71 + "1000000", "src_chain_id": "00001"}
    assert client.get(ESTIMATE, query_string=query).get_json() == RECORDED | EXACT


def test_largest_amount_is_read(client: FlaskClient) -> None:
    response = client.get(ESTIMATE, query_string=QUERY | {"amt": str(2**256 - 1)})
    assert_refused(response, 200, "inbound_limit", ESTIMATE, 1005)


REFUSED: list[tuple[dict[str, Any], int, str]] = [
    ({"src_chain_id": 56}, 500, "same_chain"),
    ({"dst_chain_id": 2**32 - 1}, 500, "chain_unknown"),
    ({"dst_chain_id": 137}, 500, "chain_disabled"),
    ({"token_symbol": "GOLD"}, 1002, "token_not_on_src"),
    ({"dst_chain_id": 250}, 1001, "no_route"),
    ({"slippage_tolerance": 0}, 1012, "bad_slippage_tolerance"),
    ({"slippage_tolerance": 1_000_000}, 1012, "bad_slippage_tolerance"),
    ({"slippage_tolerance": 999_999}, 1012, "slippage_too_high"),
    ({"amt": 1}, 500, "amount_too_small"),
    ({"amt": 5_000_000_000_001}, 1005, "inbound_limit"),
    ({"usr_addr": BLOCKED}, 1015, "address_blocked"),
    ({"usr_addr": BLOCKED.lower(), "src_chain_id": 56}, 1015, "address_blocked"),
]


@pytest.mark.parametrize(("change", "code", "reason"), REFUSED)
def test_refused(client: FlaskClient, change: dict[str, Any], code: int, reason: str) -> None:
    message = assert_refused(client.get(ESTIMATE, query_string=QUERY | change), 200, reason, ESTIMATE, code)
    assert "secret" not in message


@pytest.mark.parametrize("symbol", ["usdt", "Usdt", "uSDT"])
def test_symbol_in_other_case_is_named(client: FlaskClient, symbol: str) -> None:
    response = client.get(ESTIMATE, query_string=QUERY | {"token_symbol": symbol})
    message = assert_refused(response, 200, "token_not_on_src", ESTIMATE, 1002)
    assert message == f"{symbol} is not supported on Ethereum: letter case matters, send token_symbol=USDT"


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "blocked"),
    [
        (0, "::ffff:203.0.113.9", None, True),
        (0, "203.0.112.9", None, False),
        (0, "127.0.0.1", "203.0.113.9", False),
        (1, "127.0.0.1", "203.0.113.9", True),
        (1, "127.0.0.1", "203.0.113.9, 198.51.100.1", False),
    ],
)
def test_blocked_network_is_refused(
    open_app: Any, proxies: int, peer: str, forwarded: str | None, blocked: bool
) -> None:
    app: Flask = open_app(trusted_proxies=proxies)
    configure(app)
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    response = app.test_client().get(
        ESTIMATE, query_string=QUERY, headers=headers, environ_overrides={"REMOTE_ADDR": peer}
    )
    if blocked:
        assert_refused(response, 200, "network_blocked", ESTIMATE, 1018)
    else:
        assert response.get_json()["err"] is None


@pytest.mark.every_database
def test_symbol_of_a_fee_has_any_case(client: FlaskClient, app: Flask) -> None:
    for n, symbol in enumerate(("usdt", "Usdt", "USDT"), start=1):
        report_events(
            app, event("fee.updated", timedelta(minutes=9 - n), base_fee=str(n), symbol=symbol, **ROUTE)
        )
        assert client.get(ESTIMATE, query_string=QUERY).get_json()["base_fee"] == str(n)
