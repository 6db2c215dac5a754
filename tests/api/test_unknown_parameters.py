"""Parameters that an operation does not know: named in a header, or refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.http.headers import MOST_IGNORED
from tests.api.shapes import (
    CONFIGS,
    ESTIMATE,
    EVIDENCE,
    FIND,
    HISTORY,
    LATENCY,
    READY,
    STATUS,
    STATUSES,
    TOKEN_INFO,
    VERSION,
    WEBHOOKS,
    assert_refused,
)
from tests.api.world import configure, report_events, sent

IGNORED = "X-Gateway-Ignored"
ID = "0x" + "5a" * 32
QUOTE = "src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1000000&slippage_tolerance=3000"
TOKEN = f"{TOKEN_INFO}?chain_id=1&token_symbol=USDT"
KNOWN = "is not a parameter here, which are chain_id, token_symbol"
MANY = [f"p{number}" for number in range(2 * MOST_IGNORED)]


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (f"{HISTORY}?addr=0x5a&page_size=1&status=2", "status"),
        (f"/v1{HISTORY[3:]}?addr=0x5a&page_size=1&status=2", "status"),
        (f"{HISTORY}?acct_addr[]=a&acct_addr=b&addr=c", None),  # every spelling is read
        (f"{ESTIMATE}?{QUOTE}", None),
        (f"{ESTIMATE}?{QUOTE}&Amt=1&_=17", "Amt, _"),
        (f"{ESTIMATE}?{QUOTE}&chain=&&=1&x", None),  # empty ones are not there
        (f"{LATENCY}?src_chain_id=1&dst_chain_id=56&a=1&a=2&b=1", "a, b"),
        (f"{FIND}?key={ID}&chain=1", "chain"),
        (f"{STATUS}?transfer_id={ID}&id=1", "id"),
        (f"{EVIDENCE}?transfer_id={ID}&id=1", "id"),
        (f"{CONFIGS}?chain_id=1", "chain_id"),
        (f"{READY}?verbose=1", "verbose"),
        (f"{VERSION}?v=1", "v"),
        (f"{CONFIGS}?a%0d%0aX-Evil%3A1=1&b%2Cc=1&%C3%A4=1&%FF=1", "a%0D%0AX-Evil%3A1, b%2Cc, %C3%A4, %25FF"),
        (f"{CONFIGS}?{'n' * 100}=1", "n" * 64),
        (f"{CONFIGS}?{'&'.join(f'{name}=1' for name in MANY)}", ", ".join(MANY[:MOST_IGNORED])),
    ],
)
def test_header_names_what_a_query_has_in_vain(
    app: Flask, client: FlaskClient, path: str, names: str | None
) -> None:
    configure(app)
    report_events(app, sent(ID))
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers.get(IGNORED) == names
    assert IGNORED in answer.headers.get("Access-Control-Expose-Headers", IGNORED)


@pytest.mark.parametrize(
    ("path", "body", "names"),
    [
        (STATUS, {"transfer_id": ID}, None),
        (STATUS, {"transfer_id": ID, "id": 1, "none": None, "empty": ""}, "id"),
        (STATUS, {"transfer_id": ID, "tx_hash": "0x1"}, "tx_hash"),
        (STATUS, {"tx_hash": "0x" + "ab" * 32, "src_chain_id": 1, "chain": [{}]}, "chain"),
        (f"{STATUS}?transfer_id={ID}", {"transfer_id": ID}, "transfer_id"),  # the query of a POST
        (STATUSES, {"transfer_ids": [ID], "limit": 1}, "limit"),
    ],
)
def test_header_names_what_a_body_has_in_vain(
    app: Flask, client: FlaskClient, path: str, body: dict[str, Any], names: str | None
) -> None:
    configure(app)
    report_events(app, sent(ID))
    answer = client.post(path, json=body)
    assert answer.status_code == 200
    assert answer.headers.get(IGNORED) == names


def test_header_names_what_a_form_has_in_vain(app: Flask, client: FlaskClient) -> None:
    configure(app)
    form = "application/x-www-form-urlencoded"
    answer = client.post(f"{ESTIMATE}?amt=7", data=f"{QUOTE}&memo=x", content_type=form)
    assert answer.get_json()["estimated_receive_amt"]
    assert answer.headers[IGNORED] == "amt, memo"


def test_error_names_the_misspelt_parameter(app: Flask, client: FlaskClient) -> None:
    configure(app)
    answer = client.get(f"{LATENCY}?src_chain_id=1&dest_chain_id=56")
    assert assert_refused(answer, 400, "bad_request", LATENCY) == "dst_chain_id: is missing"
    assert answer.headers[IGNORED] == "dest_chain_id"


def test_post_without_body_names_its_query(client: FlaskClient) -> None:
    answer = client.post(f"{STATUS}?transfer_id={ID}")
    assert_refused(answer, 400, "bad_request", STATUS)
    assert answer.headers[IGNORED] == "transfer_id"


def test_list_of_webhooks_names_what_it_ignores(client: FlaskClient) -> None:
    answer = client.get(f"{WEBHOOKS}?page=2")
    assert_refused(answer, 401, "unauthorized", WEBHOOKS)
    assert answer.headers[IGNORED] == "page"


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ("&lang=es", f"lang: {KNOWN}"),
        ("&acct_addr[]=a", f"acct_addr[]: {KNOWN}"),
        ("&%3Cb%3E=1", f"a parameter: {KNOWN}"),  # not repeated
        ("&Token_symbol=1&lang=1&lang=2", f"Token_symbol: {KNOWN}; lang: {KNOWN}"),
    ],
)
def test_new_operation_refuses_unknown_parameters(
    app: Flask, client: FlaskClient, more: str, fault: str
) -> None:
    configure(app)
    answer = client.get(TOKEN + more)
    assert assert_refused(answer, 400, "bad_request", TOKEN_INFO) == fault
    assert IGNORED not in answer.headers


def test_new_operation_names_all_faults_at_once(client: FlaskClient) -> None:
    answer = client.get(f"{TOKEN_INFO}?chain_id=1&symbol=USDT")
    message = assert_refused(answer, 400, "bad_request", TOKEN_INFO)
    assert message == f"token_symbol: is missing; symbol: {KNOWN}"


def test_new_operation_takes_empty_one_as_left_out(app: Flask, client: FlaskClient) -> None:
    configure(app)
    assert client.get(f"{TOKEN}&lang=").get_json()["token_info"]


def test_documented_parameters_are_read(client: FlaskClient) -> None:
    """Of every operation with a query: none of its own is named as unknown."""
    tried = 0
    for path, operations in client.get("/openapi.json").get_json()["paths"].items():
        described = operations.get("get", {}).get("parameters", ())
        names = [each["name"] for each in described if each["in"] == "query"]
        if names:
            answer = client.get(path, query_string=dict.fromkeys(names, "1"))
            assert IGNORED not in answer.headers, (path, json.dumps(names))
            tried += 1
    assert tried >= 9
