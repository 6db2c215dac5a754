"""Reporters read the refund requests of users: in order, page by page, within their token's chains."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.credentials.services.issuing import issue, new_token
from app.refunds import services
from tests.actors import TESTER
from tests.api.shapes import assert_refused
from tests.applications import Editing
from tests.feed.services.world import about, feed, sent, transfer_id
from tests.feed.views.kit import TOKEN, bearer
from tests.refunds.requesting import send_request, withdraw_req

REQUESTS = "/ingest/v1/refund-requests"


def read(client: FlaskClient, after: int | None = None, token: str = TOKEN) -> dict[str, Any]:
    query = {} if after is None else {"after": after}
    response = client.get(REQUESTS, query_string=query, headers=bearer(token))
    assert response.status_code == 200, response.text
    assert response.headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in response.headers
    answer = response.get_json()
    assert list(answer) == ["err", "requests", "next"]
    assert answer["err"] is None
    return dict(answer)


def ids(answer: dict[str, Any]) -> list[int]:
    return [int(each["transfer_id"], 16) for each in answer["requests"]]


@pytest.fixture
def requested(client: FlaskClient, app: Flask) -> None:
    """Refunds of transfers from chain 1, 2, 1 and of one without a send were requested."""
    feed(
        app,
        sent(1),
        sent(2, src_chain_id=2, dst_chain_id=1),
        sent(3),
        about(4, "transfer.submitted", src_chain_id=1, dst_chain_id=2),
        *(about(n, "network.status", xfer_status=4) for n in (1, 2, 3, 4)),
    )
    for n in (1, 2, 3, 4):
        assert send_request(client, "http", withdraw_req(transfer_id(n))).code == 0


@pytest.fixture
def client(open_interface: Any, app: Any) -> FlaskClient:
    client = app.test_client()
    assert isinstance(client, FlaskClient)
    return client


@pytest.mark.every_database
@pytest.mark.usefixtures("requested")
def test_requests_come_in_order(client: FlaskClient) -> None:
    whole = read(client)
    assert ids(whole) == [1, 2, 3, 4]
    numbers = [each["seq"] for each in whole["requests"]]
    assert numbers == sorted(set(numbers))
    assert whole["next"] == numbers[-1]
    assert whole["requests"][0] == {
        "seq": numbers[0], "transfer_id": transfer_id(1), "at": "2026-06-01T12:00:00Z"
    }  # fmt: skip
    assert ids(read(client, numbers[1])) == [3, 4]
    assert read(client, whole["next"]) == {"err": None, "requests": [], "next": whole["next"]}
    assert read(client, 2**63 - 1)["next"] == 2**63 - 1


@pytest.mark.usefixtures("requested")
def test_limited_token_reads_requests_of_own_chains(
    client: FlaskClient, app: Flask, editing: Editing
) -> None:
    """One whose send is not known is of no chain yet."""
    token = issue(*editing, new_token("one", [], [1]), actor=TESTER).text
    assert ids(read(client, token=token)) == [1, 3]
    assert read(client, token=token)["next"] == read(client)["next"]
    feed(app, sent(4))
    assert ids(read(client, token=token)) == [1, 3, 4]
    assert ids(read(client, token=issue(*editing, new_token("both", [], [1, 2]), actor=TESTER).text)) == [
        1,
        2,
        3,
        4,
    ]


@pytest.mark.usefixtures("requested")
def test_page_is_bounded_and_leads_on(
    client: FlaskClient, editing: Editing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "PAGE", 1)
    token = issue(*editing, new_token("two", [], [2]), actor=TESTER).text
    found, after, pages = [], 0, 0
    while (answer := read(client, after, token))["next"] != after:
        found += ids(answer)
        after, pages = answer["next"], pages + 1
    assert (found, pages) == ([2], 4)


@pytest.mark.parametrize(
    "query", ["after=-1", "after=x", "after=1&after=2", "after=9223372036854775808", "after=%C2%B2"]
)
def test_invalid_position_is_refused(client: FlaskClient, query: str) -> None:
    response = client.get(f"{REQUESTS}?{query}", headers=bearer(TOKEN))
    assert assert_refused(response, 400, "bad_request", None).startswith("after: ")


def test_request_without_token_is_refused(client: FlaskClient) -> None:
    assert_refused(client.get(REQUESTS), 401, "unauthorized", None)
    assert_refused(client.get(REQUESTS, headers=bearer("gwi_wrong")), 401, "unauthorized", None)
