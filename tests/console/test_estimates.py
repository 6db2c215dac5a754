"""Try an estimate: the answer of the API, laid open, and plain words for what cannot be read."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import parse_qs

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from app.console.estimates.views import percent
from app.db.database import Database
from app.estimates.services import EstimateCounts
from app.feed.services.ingest import Intake, ingest_lines
from app.sandbox.catalogue import SANDBOX_ERRORS, SANDBOX_ESTIMATES
from app.values.codes import Reason
from tests.builders.events import EventBuilder
from tests.console.visitor import Visitor, signed_in

GOOD = {"src": "1", "dst": "56", "token": "USDT", "amount": "100", "slippage": "0.5"}
TERMS = ("eq_value_token_amt", "perc_fee", "base_fee", "estimated_receive_amt")


def fields_of(query: str, caller: str = "") -> dict[str, str]:
    """A query of the API as the form would send it."""
    requested = {name: values[0] for name, values in parse_qs(query).items()}
    return {
        "src": requested["src_chain_id"],
        "dst": requested["dst_chain_id"],
        "token": requested["token_symbol"],
        "amount": requested["amt"],
        "unit": "smallest",
        "slippage": percent(int(requested["slippage_tolerance"])),
        "pegged": requested.get("is_pegged", ""),
        "user": requested.get("usr_addr", ""),
        "caller": caller,
    }


def estimate_page(visitor: Visitor, **fields: str) -> str:
    answer = visitor.get("/admin/estimates/", query_string=fields)
    assert answer.status_code == 200
    return answer.text


def terms(page: str) -> dict[str, str]:
    """The terms of the calculation that the API's answer has, too, in smallest units."""
    values = {}
    for term in TERMS:
        found = re.search(rf"{term}</span></th>\s*<td[^>]*>(.*?)</td>", page, re.DOTALL)
        assert found, term
        values[term] = re.sub(r"\D", "", re.sub(r"<[^>]*>", "", found[1].split("<br>")[-1]))
    return values


def heading(page: str) -> str:
    found = re.search(r'<h2 id="outcome-title">(.*?)</h2>', page)
    assert found, page
    return unescape(found[1])


def test_success_explains_the_api_answer(sandbox: Flask, viewer: Visitor) -> None:
    for example in SANDBOX_ESTIMATES:
        page = estimate_page(viewer, **fields_of(example.query))
        answer = viewer.get(f"/v2/estimateAmt?{example.query}").get_json()
        assert heading(page).startswith("Receives ")
        assert terms(page) == {term: answer[term] for term in TERMS}, example
        received = f"{int(answer['estimated_receive_amt']):,}".replace(",", " ")
        assert received in page
        assert "refused</span>" not in page
        assert "made-up transfers" in page, "the banner of every page"


def test_refusal_names_check_and_remedy(sandbox: Flask, viewer: Visitor) -> None:
    for example in SANDBOX_ERRORS:
        if example.reason is Reason.CHAIN_UNKNOWN:
            continue  # the form offers only chains that there are
        page = estimate_page(viewer, **fields_of(example.query, example.caller))
        viewer.environ["REMOTE_ADDR"] = example.caller
        requested = viewer.get(f"/v2/estimateAmt?{example.query}").json
        viewer.environ["REMOTE_ADDR"] = "127.0.0.1"
        assert requested
        assert heading(page) == f"Refused: {requested['err']['msg']}"
        assert str(int(example.code)) in page
        assert example.reason.value in page
        assert page.count('<li class="check-refused">') == 1


def test_passing_amount_is_filled_in(sandbox: Flask, viewer: Visitor) -> None:
    page = estimate_page(viewer, **GOOD | {"amount": "100000000"})
    assert "Within the source pool&#39;s inbound limit" in page
    links = re.findall(r'class="button fill" href="([^"]*)"', page)
    assert links
    for link in links:
        filled = viewer.get(unescape(link)).text
        assert heading(filled).startswith("Receives ")
        assert 'value="USDT" selected' in filled or 'selected value="USDT"' in filled


def test_passing_tolerance_is_filled_in(sandbox: Flask, viewer: Visitor) -> None:
    (example,) = [each for each in SANDBOX_ERRORS if each.reason is Reason.SLIPPAGE_TOO_HIGH]
    page = estimate_page(viewer, **fields_of(example.query))
    link = re.search(r'Highest slippage tolerance that passes</span> <a [^>]*href="([^"]*)"', page)
    assert link
    assert heading(viewer.get(unescape(link[1])).text).startswith("Receives ")


def test_estimate_is_equal_in_human_and_smallest_units(sandbox: Flask, viewer: Visitor) -> None:
    human = estimate_page(viewer, **GOOD | {"amount": "1 000.25"})
    smallest = estimate_page(viewer, **GOOD | {"amount": "1000250000", "unit": "smallest"})
    assert terms(human) == terms(smallest)
    assert "1000.25 USDT, 1000250000 smallest units" in human


UNREADABLE: list[tuple[dict[str, str], str]] = [
    ({"src": ""}, "Choose the source chain."),
    ({"src": "999"}, "Not a valid choice."),
    ({"token": "<script>"}, "Not a valid choice."),
    ({"amount": ""}, "Enter a number, such as 12.5."),
    ({"amount": "1,5"}, "without commas"),
    ({"amount": "-1"}, "“-1” is not a number"),
    ({"amount": "1e6"}, "“1e6” is not a number"),
    ({"amount": "٣"}, "is not a number"),
    ({"amount": "1."}, "is not a number"),
    ({"amount": "9" * 5000}, "is not a number"),
    ({"amount": "9" * 90}, "at most 2^256-1"),
    ({"amount": "0.1234567"}, "USDT has 6 decimals"),
    ({"amount": "1.5", "unit": "smallest"}, "Enter a whole number of smallest units"),
    ({"unit": "x"}, "Not a valid choice."),
    ({"src": "8453"}, "USDT is not configured on the source chain"),
    ({"slippage": "x"}, "“x” is not a number"),
    ({"slippage": "0.12345"}, "at most 4 digits"),
    ({"slippage": "9" * 30}, "must be at most 4294967295"),
    ({"pegged": "x"}, "Not a valid choice."),
    ({"user": "a" * 129}, "must have at most 128 characters"),
    ({"user": "a\0b"}, "must not contain a NUL character"),
    ({"caller": "1.2.3.0/24"}, "not a network"),
]


def test_unreadable_value_is_named_at_field(app: Flask, sandbox: Flask, viewer: Visitor) -> None:
    for changed, complaint in UNREADABLE:
        page = estimate_page(viewer, **GOOD | changed)
        errors = [unescape(text) for text in re.findall(r'<p class="field-error"[^>]*>(.*?)</p>', page)]
        assert any(complaint in error for error in errors), (changed, errors)
        assert "outcome-title" not in page
        assert "<script>&" not in page


def test_empty_form_and_empty_network(viewer: Visitor) -> None:
    assert "Choose chains, a token and an amount" in estimate_page(viewer)
    assert "Not a valid choice." in estimate_page(viewer, **GOOD)


def test_console_estimate_is_not_counted(app: Flask, sandbox: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[object] = []
    monkeypatch.setattr(EstimateCounts, "_add", lambda _counts, outcome: counted.append(outcome))
    visitor = signed_in(app, Role.VIEWER)
    estimate_page(visitor, **GOOD)
    estimate_page(visitor, **GOOD | {"amount": "0"})
    assert not counted
    visitor.get(f"/v2/estimateAmt?{SANDBOX_ESTIMATES[0].query}")
    assert len(counted) == 1


def test_age_of_facts_is_shown(sandbox: Flask, database: Database, intake: Intake, viewer: Visitor) -> None:
    """What the feed reports is seen at once."""
    fee: dict[str, Any] = {"symbol": "USDT", "src_chain_id": 1, "dst_chain_id": 56}
    for amount in ("1", "2"):
        at = database.clock() - timedelta(seconds=9 - int(amount))
        report = EventBuilder(at, {}, {}).event("fee.updated", **fee, base_fee=amount)
        assert ingest_lines(database, intake, [json.dumps(report).encode()], "test").accepted == 1
        page = estimate_page(viewer, **GOOD)
        assert terms(page)["base_fee"] == amount
        assert re.search(r"<dt>Pools and fee</dt><dd>Read (just now|\d+\.\d s ago)</dd>", page)
    assert "<dt>Pools and fee</dt>" not in estimate_page(viewer, **GOOD | {"dst": "1"})
