"""GET /v2/getTransferLatencyStats."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.latency import services
from tests.api.shapes import LATENCY_STATS, ZEROES, assert_refused
from tests.api.world import configure, network, released, report_events, sent
from tests.applications import OpenApp

PAIR = {"src_chain_id": 1, "dst_chain_id": 56}
DAY = timedelta(days=1)


def pay(app: Flask, number: int, seconds: float, ago: timedelta = DAY, symbol: str = "USDT") -> None:
    """A transfer that took so long and was released so long ago."""
    transfer_id = f"0x{number:064x}"
    send = sent(transfer_id, ago + timedelta(seconds=seconds), symbol=symbol)
    report_events(app, send, released(transfer_id, ago))


def stats(client: FlaskClient, **changes: Any) -> dict[str, Any]:
    response = client.get(LATENCY_STATS, query_string=PAIR | changes)
    body: dict[str, Any] = response.get_json()
    assert response.status_code == 200
    assert list(body) == ["err", *ZEROES[LATENCY_STATS]]
    return body


def test_latency_stats_cover_last_seven_days(app: Flask, client: FlaskClient) -> None:
    for number, seconds in enumerate((10, 20, 30.5, 40, 1000)):
        pay(app, number, seconds)
    pay(app, 9, 5, ago=timedelta(days=8))
    assert (
        stats(client)
        == stats(client, token_symbol="USDT")
        == stats(client, token_symbol="")
        == {
            "err": None,
            "count": 5,
            "window_seconds": 604_800,
            "median": 30.5,
            "p90": 1000.0,
            "p99": 1000.0,
            "as_of": "2026-03-08T12:00:00Z",
        }
    )


def test_latency_stats_filter_by_token(open_app: OpenApp) -> None:
    app = open_app()
    document = network()
    tokens = [token for token in document["tokens"] if token["chain_id"] in (1, 56)]
    document["tokens"] += [token | {"symbol": "DAI", "address": "0x" + "da" * 20} for token in tokens]
    configure(app, document)
    client = app.test_client()
    pay(app, 1, 10)
    pay(app, 2, 30, symbol="DAI")
    pay(app, 3, 50, symbol="DAI")
    assert [stats(client, **query)["median"] for query in ({}, {"token_symbol": "DAI"})] == [30, 40]
    assert stats(client, token_symbol="USDT")["count"] == 1


def test_unconfigured_token_is_not_read(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    pay(app, 1, 10)
    monkeypatch.setattr(services, "_cached", None)
    response = client.get(LATENCY_STATS, query_string=PAIR | {"token_symbol": "WETH"})
    text = assert_refused(response, 200, "no_latency_data", LATENCY_STATS)
    assert text == "no transfer of this token from Ethereum to BNB Chain was released in the last 7 days"


@pytest.mark.parametrize(
    ("query", "reason", "text"),
    [
        ({}, "no_latency_data", "no transfer from Ethereum to BNB Chain was released in the last 7 days"),
        ({"dst_chain_id": 1}, "same_chain", "source and destination are the same chain (1)"),
        ({"dst_chain_id": 7}, "chain_unknown", "chain 7 is unknown"),
    ],
)
def test_missing_figures_have_a_reason(
    client: FlaskClient, query: dict[str, int], reason: str, text: str
) -> None:
    response = client.get(LATENCY_STATS, query_string=PAIR | query)
    assert assert_refused(response, 200, reason, LATENCY_STATS).startswith(text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("src_chain_id=1", "dst_chain_id: is missing"),
        ("src_chain_id=1&dst_chain_id=x", "dst_chain_id: must be a whole number in the digits 0 to 9"),
        ("src_chain_id=1&dst_chain_id=56&token_symbol=%00", "token_symbol: must not contain a NUL"),
        (f"src_chain_id=1&dst_chain_id=56&token_symbol={'x' * 129}", "token_symbol: must"),
    ],
)
def test_malformed_requests_are_refused(client: FlaskClient, query: str, text: str) -> None:
    response = client.get(f"{LATENCY_STATS}?{query}")
    assert assert_refused(response, 400, "bad_request", LATENCY_STATS).startswith(text)
