"""Filters of the list of transfers that an account keeps: applied, replaced, removed, and nobody else's."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape

import pytest
from flask import Flask

from app.admin.forms.transfer_filters import read_saved
from app.domain.operators import Role
from app.runtime.gateway import Gateway
from app.services.desk.saved_filters import MOST_FILTERS
from tests.admin.transfer_pages import rows_of
from tests.admin.visitor import MovableClock, Visitor, signed_in

REFUNDS = "status=refunds&src=1"


def saved(visitor: Visitor) -> dict[str, str]:
    """The saved filters of the list's page: where each leads, by its name."""
    page = visitor.get("/admin/transfers/").text
    return {
        unescape(name): unescape(url)
        for url, name in re.findall(r'<li><a href="(/admin/transfers/[^"]*)"[^>]*>([^<]*)</a><form', page)
    }


def keep(visitor: Visitor, name: str, query: str = REFUNDS) -> str:
    """Save it; the text of the page that follows."""
    fields = {"name": name, "query": query}
    return visitor.post("/admin/transfers/filters", fields, follow_redirects=True).text


def test_a_filter_is_saved_applied_replaced_and_removed(app: Flask, sandbox: Gateway) -> None:
    visitor = signed_in(app, Role.VIEWER)
    offered = visitor.get(f"/admin/transfers/?{REFUNDS}").text
    assert 'name="query" value="status=refunds&amp;src=1"' in offered
    assert "Filter saved" in keep(visitor, "  Refunds from <Ethereum> ")
    assert saved(visitor) == {"Refunds from <Ethereum>": "/admin/transfers/?status=refunds&src=1"}
    applied = visitor.get(saved(visitor)["Refunds from <Ethereum>"]).text
    assert rows_of(applied) == rows_of(visitor.get(f"/admin/transfers/?{REFUNDS}").text)
    assert rows_of(applied)
    assert 'aria-current="true">Refunds from' in applied
    assert "Filter replaced" in keep(visitor, "Refunds from <Ethereum>", "status=8")
    assert list(saved(visitor).values()) == ["/admin/transfers/?status=8"]
    remove = re.search(r'action="(/admin/transfers/filters/\d+/remove)"', applied)
    assert remove
    visitor.post(remove[1])
    assert saved(visitor) == {}


def test_a_saved_filter_is_its_owners_alone(app: Flask, sandbox: Gateway) -> None:
    viewer, admin = signed_in(app, Role.VIEWER), signed_in(app, Role.ADMIN)
    keep(viewer, "mine")
    assert saved(admin) == {}
    admin.post("/admin/transfers/filters/1/remove")
    assert list(saved(viewer)) == ["mine"]


@pytest.mark.parametrize(
    ("name", "query", "words"),
    [
        ("", REFUNDS, "a name of 1 to 60 characters"),
        ("x" * 61, REFUNDS, "a name of 1 to 60 characters"),
        ("all", "", "set a filter first"),
        ("odd", "status=nonsense&next=//evil.example&src=x", "set a filter first"),
        ("long", "token=" + "%E2%80%A6" * 200, "too long"),
    ],
)
def test_what_cannot_be_saved(app: Flask, sandbox: Gateway, name: str, query: str, words: str) -> None:
    visitor = signed_in(app, Role.VIEWER)
    assert words in keep(visitor, name, query)
    assert saved(visitor) == {}


def test_there_is_a_bound(app: Flask, sandbox: Gateway) -> None:
    visitor = signed_in(app, Role.VIEWER)
    for n in range(MOST_FILTERS):
        visitor.post("/admin/transfers/filters", {"name": f"n{n}", "query": REFUNDS})
    assert "remove one first" in keep(visitor, "one more")
    assert "Filter replaced" in keep(visitor, "n0", "status=8")


def test_a_span_ends_now(app: Flask, sandbox: Gateway, clock: MovableClock) -> None:
    """So a saved filter means the same tomorrow."""
    visitor = signed_in(app, Role.VIEWER)
    keep(visitor, "today", "within=24h&since=2020-01-01T00:00")
    assert saved(visitor) == {"today": "/admin/transfers/?within=24h"}
    page = visitor.get(saved(visitor)["today"]).text
    assert rows_of(page)
    assert '<option value="24h" selected>' in page
    assert 'name="since" value=""' in page
    with app.app_context():
        for _ in range(2):
            assert read_saved(sandbox, "within=24h").filters.since == clock.now - timedelta(hours=24)
            clock.forward(minutes=5)
    answer = visitor.get("/admin/transfers/?within=1y").text
    assert "is not one of the periods" in answer
