"""The dashboard reads itself again: parts alone, shared for some seconds, and no use of a session."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from app.console.dashboard import dashboard as view
from app.db.database import Database
from tests.console.forms import send
from tests.console.unfed import without_events
from tests.console.visitor import MovableClock, Visitor, signed_in

REFRESH = "/admin/refresh"


def test_the_parts_alone(app: Flask, network: Flask) -> None:
    visitor = signed_in(app, Role.VIEWER)
    whole, parts = visitor.get("/admin/").text, visitor.get(REFRESH).text
    sections = [text.split('"')[0] for text in whole.split('<section class="card" id="')[1:]]
    assert len(sections) >= 12
    assert [text.split('"')[0] for text in parts.split('<section class="card" id="')[1:]] == sections
    assert 'id="tiles"' in parts and 'id="as-of"' in parts
    assert "<html" not in parts and "sidebar" not in parts and "<script" not in parts


def test_chain_stopped_meanwhile_is_shown(app: Flask, network: Flask) -> None:
    operator = signed_in(app, Role.OPERATOR)
    assert 'aria-label="Stopped chains"' not in operator.get(REFRESH).text
    send(operator, "/admin/chains/56/stop", disabled_reason="RPC compromised", typed="bnb chain", confirm="1")
    told = operator.get(REFRESH).text
    assert 'id="incidents"' in told
    assert "BNB Chain stopped</strong>" in told
    assert "RPC compromised" in told


def test_refresh_needs_sign_in(app: Flask, network: Flask) -> None:
    answer = Visitor(app).get(REFRESH)
    assert answer.status_code == 302
    assert "refresh" not in answer.location, "parts without a page are nothing to come back to"


def test_refresh_keeps_no_session_open(app: Flask, network: Flask, clock: MovableClock) -> None:
    visitor = signed_in(app, Role.OPERATOR)
    for _ in range(7):
        assert visitor.get(REFRESH).status_code == 200
        clock.forward(minutes=8)
    clock.forward(minutes=5)
    answer = visitor.get(REFRESH)
    assert answer.status_code == 302
    assert "ended=" in answer.location
    assert visitor.get("/admin/").status_code == 302


def test_pages_share_recent_reads(
    app: Flask, network: Flask, database: Database, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.forward(minutes=1)  # what the test before shared is too old
    read: list[Any] = []
    board = view.Dashboard
    monkeypatch.setattr(view, "Dashboard", lambda *parts: read.append(parts) or board(*parts))
    one, other = signed_in(app, Role.VIEWER), signed_in(app, Role.ADMIN)
    read.clear()
    for visitor in (one, other, one):
        assert visitor.get(REFRESH).status_code == 200
    assert len(read) == 1
    # Whoever opens the page sees what is there now, and refreshing takes nobody back before that.
    without_events(database, 7)
    page = one.get("/admin/").text
    assert len(read) == 2 and "1 in total" in page
    clock.forward(seconds=view.REFRESH_SECONDS)
    assert "1 in total" in one.get(REFRESH).text
    assert len(read) == 3 and view.SHARED_FOR.total_seconds() < view.REFRESH_SECONDS


@pytest.mark.parametrize("period", ["day", "month", "year", "", "%00"])
def test_periods(app: Flask, network: Flask, period: str) -> None:
    answer = signed_in(app, Role.VIEWER).get(f"/admin/?period={period}")
    assert answer.status_code == 200
    shown = "month" if period == "month" else "day"
    assert f'data-refresh-from="/admin/refresh?period={shown}"' in answer.text
    assert f'href="/admin/?period={shown}#trend" aria-current="true"' in answer.text
