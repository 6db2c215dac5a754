"""GET /v2/explainEstimate: the answer of the estimate, and how it is made."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import delete

from app.db.database import Database
from app.db.engine import writing
from app.estimates.models import EstimateCount
from app.estimates.queries import estimate_counts
from app.estimates.rules.explanation import CHECK_NAMES
from app.estimates.rules.refusals import Check
from app.estimates.services import EstimateCounts
from app.http.application import part_of
from app.network.services import NetworkSnapshots
from tests.api.estimates import EXACT, QUERY
from tests.api.explanations import explain
from tests.api.shapes import ESTIMATE, EXPLAIN
from tests.api.world import ADDRESS, BLOCKED, event, report_events
from tests.applications import OpenApp

BLOCKED_CALLER = {"REMOTE_ADDR": "203.0.113.9"}


def outcomes(body: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["outcome"] for check in body["checks"]}


def test_estimate_is_explained_in_full(client: FlaskClient) -> None:
    body = explain(client)
    assert body["refusal"] is None
    assert (body["bridge_type"], body["rate_model"], body["base_fee_source"]) == (1, "fixed", "configured")
    (fee,) = (term for term in body["terms"] if term["name"] == "perc_fee")
    assert fee["rounding"] == "up"
    assert fee["unit"] == "smallest units of USDT on BNB Chain"
    assert {each["name"]: each["value"] for each in fee["inputs"]}["eq_value_token_amt"] == EXACT[
        "eq_value_token_amt"
    ]
    (inbound,) = (limit for limit in body["limits"] if limit["name"] == "inbound_limit")
    assert int(inbound["left"]) == int(inbound["value"]) - int(inbound["counted"])
    assert list(outcomes(body)) == list(CHECK_NAMES)
    assert set(outcomes(body).values()) == {"passed", "not_made"}
    assert body["config_version"] > 0
    assert body["config_changed_at"] == "2026-03-08T12:00:00Z"
    assert 0 <= body["facts_age_seconds"] < 30


def test_passing_amounts_pass(client: FlaskClient) -> None:
    passing = explain(client)["passing"]
    for amt, passes in (
        (int(passing["least_amt"]) - 1, False),
        (int(passing["least_amt"]), True),
        (int(passing["most_amt"]), True),
        (int(passing["most_amt"]) + 1, False),
    ):
        body = explain(client, amt=str(amt))
        assert (body["refusal"] is None) == passes
        assert body["passing"] == passing


def test_refusal_names_check_and_remedy(client: FlaskClient) -> None:
    body = explain(client, amt=str(10**15))
    refusal = body["refusal"]
    assert (refusal["code"], refusal["reason"], refusal["check"]) == (1005, "inbound_limit", "inbound_limit")
    assert refusal["largest_passing_amt"] == body["passing"]["most_amt"]
    assert refusal["smallest_passing_amt"] is None
    assert outcomes(body)["inbound_limit"] == "refused"
    assert outcomes(body)["total_cap"] == "not_reached"
    (inbound,) = (limit for limit in body["limits"] if limit["name"] == "inbound_limit")
    assert int(inbound["left"]) < 0


@pytest.mark.parametrize(
    ("changes", "caller"), [({"usr_addr": BLOCKED}, None), ({"usr_addr": ADDRESS}, BLOCKED_CALLER)]
)
def test_blocked_caller_gets_no_numbers(
    client: FlaskClient, changes: dict[str, str], caller: dict[str, str] | None
) -> None:
    """Nor the name of the block."""
    body = explain(client, caller=caller, **changes)
    assert body["refusal"]["check"] == "access"
    assert (body["terms"], body["limits"], body["passing"]) == ([], [], None)
    assert (body["bridge_type"], body["rate_model"], body["base_fee_source"]) == (0, "", "")
    assert outcomes(body) == dict.fromkeys(CHECK_NAMES, "not_reached") | {"access": "refused"}


def test_checks_do_not_reveal_which_block() -> None:
    assert not {Check.CALLER_NETWORK.value, Check.ADDRESS.value} & set(CHECK_NAMES)
    assert len(CHECK_NAMES) == len(Check) - 1


def test_explain_dates_reported_base_fee(app: Flask, client: FlaskClient) -> None:
    report_events(app, event("fee.updated", src_chain_id=1, dst_chain_id=56, symbol="USDT", base_fee="5"))
    body = explain(client)
    assert (body["base_fee_source"], body["base_fee_since"]) == ("reported", "2026-03-08T11:59:00Z")


def test_explanations_are_counted_as_estimates_are(open_app: OpenApp, app: Flask) -> None:
    """An answer, a refusal, a block, a fault."""
    counted = open_app(estimate_counts_seconds=300, own=True)
    client = counted.test_client()
    requests: list[dict[str, Any]] = [{}, {"amt": "1"}, {"amt": "1"}, {"usr_addr": BLOCKED}]

    def counts(path: str) -> dict[tuple[int, str], int]:
        for changes in requests:
            client.get(path, query_string=QUERY | changes)
        with pytest.MonkeyPatch.context() as broken:
            broken.setattr(NetworkSnapshots, "current", lambda _: 1 / 0)
            assert client.get(path, query_string=QUERY).status_code == 500
        assert part_of(counted, EstimateCounts).flush() == len(requests) + 1
        with writing(part_of(counted, Database).engine) as connection:
            rows = {(row.code, row.reason): row.requested for row in estimate_counts(connection, 0)}
            connection.execute(delete(EstimateCount))
        return rows

    explained = counts(EXPLAIN)
    assert sorted(explained.values()) == [1, 1, 1, 2]
    assert explained == counts(ESTIMATE)
