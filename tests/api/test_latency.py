"""GET /v2/getLatest7DayTransferLatencyForQuery."""

from __future__ import annotations

from datetime import timedelta

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.api.shapes import LATENCY, assert_refused
from tests.api.world import released, report_events, sent

pytestmark = [pytest.mark.both_interfaces, pytest.mark.every_database]

PAIR = {"src_chain_id": "1", "dst_chain_id": "56"}


HOUR = timedelta(hours=1)


def transfer(app: Flask, number: int, took: timedelta, ago: timedelta = HOUR, **of: int) -> None:
    transfer_id = f"0x{number:064x}"
    report_events(app, sent(transfer_id, ago + took, **of), released(transfer_id, ago))


def test_latency_returns_exact_median(app: Flask, client: FlaskClient) -> None:
    for number, microseconds in enumerate((90_000_001, 60_000_000, 600_000_000, 61_234_568)):
        transfer(app, number, timedelta(microseconds=microseconds))
    response = client.get(LATENCY, query_string=PAIR)
    assert response.get_json() == {"err": None, "median_transfer_latency_in_second": 75.6172845}
    assert "X-Gateway-Reason" not in response.headers
    transfer(app, 9, timedelta(microseconds=90_000_001))
    assert client.get(LATENCY, query_string=PAIR).get_json()["median_transfer_latency_in_second"] == 90.000001


def test_disabled_chain_has_a_latency(app: Flask, client: FlaskClient) -> None:
    transfer(app, 1, timedelta(seconds=5), src_chain_id=137)
    response = client.get(LATENCY, query_string={"src_chain_id": 137, "dst_chain_id": 56})
    assert response.get_json() == {"err": None, "median_transfer_latency_in_second": 5.0}


@pytest.mark.parametrize("ago", [timedelta(days=7), timedelta(days=8)])
def test_older_transfers_do_not_count(app: Flask, client: FlaskClient, ago: timedelta) -> None:
    transfer(app, 1, timedelta(seconds=5), ago=ago)
    message = assert_refused(client.get(LATENCY, query_string=PAIR), 200, "no_latency_data", LATENCY)
    assert message == "no transfer from Ethereum to BNB Chain was released in the last 7 days"


@pytest.mark.parametrize(
    ("src", "dst", "reason", "named"),
    [
        ("1", "1", "same_chain", "(1)"),
        ("999", "999", "same_chain", "(999)"),
        ("999", "56", "chain_unknown", "999"),
        ("1", "0", "chain_unknown", "chain 0"),
        ("1", str(2**32), "chain_unknown", str(2**32)),
        ("1", str(2**64 - 1), "chain_unknown", str(2**64 - 1)),
        ("56", "1", "no_latency_data", "BNB Chain to Ethereum"),  # the transfer went from 1 to 56
    ],
)
def test_missing_latency_has_a_reason(
    app: Flask, client: FlaskClient, src: str, dst: str, reason: str, named: str
) -> None:
    transfer(app, 1, timedelta(seconds=5))
    response = client.get(LATENCY, query_string={"src_chain_id": src, "dst_chain_id": dst})
    assert named in assert_refused(response, 200, reason, LATENCY)
