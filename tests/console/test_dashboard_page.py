"""The dashboard: a failing panel harms no other, and refreshing reads panels without using a session."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert
from sqlalchemy.exc import OperationalError

from app.accounts.rules.roles import Role
from app.console.dashboard import dashboard as parts
from app.db.database import Database
from app.db.engine import writing
from app.transfers.models import Transfer
from tests.builders.clock import MovableClock
from tests.console.forms import send
from tests.console.visitor import NOW, Visitor, signed_in

PARTS = (
    "status_counts", "stuck_transfers", "count_stuck", "waiting_refunds", "slowest_pairs", "pool_lines",
    "anomalies_to_acknowledge", "estimate_summary", "freshness", "trend",
)  # fmt: skip
WAY_TO_STOP = '<a class="button danger" href="/admin/chains/">Stop chain</a>'


@pytest.mark.every_database
def test_refund_without_events_is_listed(app: Flask, network: Flask, database: Database) -> None:
    (transfer_id,) = without_events(database, 7)
    viewer = signed_in(app, Role.VIEWER)
    answer = viewer.get("/admin/")
    assert answer.status_code == 200
    (refunds,) = [part for part in answer.text.split("<section") if 'id="refunds"' in part]
    assert f'href="/admin/transfers/{transfer_id}"' in refunds
    assert "25 USDT" in refunds
    page = viewer.get(f"/admin/transfers/{transfer_id}")
    assert page.status_code == 200 and "Transfer without events" in page.text
    assert "Refund being signed" in page.text and "25 USDT" in page.text


def test_refund_count_exceeds_rows_shown(app: Flask, network: Flask, database: Database) -> None:
    without_events(database, *[7] * 13)
    page = signed_in(app, Role.VIEWER).get("/admin/").text
    (refunds,) = [part for part in page.split("<section") if 'id="refunds"' in part]
    assert refunds.count("row-link") == 4 and "13 in total" in refunds
    assert '<span class="tile-number tile-warn">13</span><span>Waiting refunds' in page


def test_panel_fails_alone(operator: Visitor) -> None:
    for failing in PARTS:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(parts, failing, lambda *_, **__: 1 / 0)
            answer = operator.get("/admin/")
        assert answer.status_code == 200, failing
        assert WAY_TO_STOP in answer.text
        assert "This panel could not be loaded. Something went wrong" in answer.text, failing
        assert "ZeroDivisionError" not in answer.text
        # Latencies measure what is stuck; a list and its number are of one panel.
        failed = answer.text.count("This panel could not be loaded")
        assert failed <= 2 and answer.text.count('<section class="card"') >= 9, failing


def test_outage_leaves_only_chain_stop(monkeypatch: pytest.MonkeyPatch, operator: Visitor) -> None:
    """Every other part of the dashboard fails."""

    def down(*_: Any, **__: Any) -> Any:
        raise OperationalError("select", {}, Exception("gone"))

    for part in PARTS:
        monkeypatch.setattr(parts, part, down)
    answer = operator.get("/admin/")
    assert answer.status_code == 200
    assert WAY_TO_STOP in answer.text
    assert answer.text.count("The database did not answer in time") == 12
    assert "not available" in answer.text


REFRESH = "/admin/refresh"


def test_refresh_returns_panels_only(network: Flask, viewer: Visitor) -> None:
    whole, parts = viewer.get("/admin/").text, viewer.get(REFRESH).text
    sections = [text.split('"')[0] for text in whole.split('<section class="card" id="')[1:]]
    assert len(sections) >= 12
    assert [text.split('"')[0] for text in parts.split('<section class="card" id="')[1:]] == sections
    assert 'id="tiles"' in parts and 'id="as-of"' in parts
    assert "<html" not in parts and "sidebar" not in parts and "<script" not in parts


def test_chain_stopped_meanwhile_is_shown(operator: Visitor) -> None:
    assert 'aria-label="Stopped chains"' not in operator.get(REFRESH).text
    send(operator, "/admin/chains/56/stop", disabled_reason="RPC compromised", typed="bnb chain", confirm="1")
    reported = operator.get(REFRESH).text
    assert 'id="incidents"' in reported
    assert "BNB Chain stopped</strong>" in reported
    assert "RPC compromised" in reported


def test_refresh_needs_sign_in(app: Flask, network: Flask) -> None:
    answer = Visitor(app).get(REFRESH)
    assert answer.status_code == 302
    assert "refresh" not in answer.location, "parts without a page are nothing to come back to"


def test_automatic_refresh_does_not_extend_session(clock: MovableClock, operator: Visitor) -> None:
    for _ in range(7):
        assert operator.get(REFRESH).status_code == 200
        clock.forward(minutes=8)
    clock.forward(minutes=5)
    answer = operator.get(REFRESH)
    assert answer.status_code == 302
    assert "ended=" in answer.location
    assert operator.get("/admin/").status_code == 302


def test_pages_share_recent_reads(
    app: Flask, network: Flask, database: Database, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.forward(minutes=1)  # what the test before shared is too old
    read: list[Any] = []
    board = parts.Dashboard

    def counted(*of: Any) -> Any:
        read.append(of)
        return board(*of)

    monkeypatch.setattr(parts, "Dashboard", counted)
    one, other = signed_in(app, Role.VIEWER), signed_in(app, Role.ADMIN)
    read.clear()
    for visitor in (one, other, one):
        assert visitor.get(REFRESH).status_code == 200
    assert len(read) == 1
    # Whoever opens the page sees what is there now, and refreshing takes nobody back before that.
    without_events(database, 7)
    page = one.get("/admin/").text
    assert len(read) == 2 and "1 in total" in page
    clock.forward(seconds=parts.REFRESH_SECONDS)
    assert "1 in total" in one.get(REFRESH).text
    assert len(read) == 3 and parts.SHARED_FOR.total_seconds() < parts.REFRESH_SECONDS


def test_periods(network: Flask, viewer: Visitor) -> None:
    for period in ("day", "month", "year", "", "%00"):
        answer = viewer.get(f"/admin/?period={period}")
        assert answer.status_code == 200, period
        shown = "month" if period == "month" else "day"
        assert f'data-refresh-from="/admin/refresh?period={shown}"' in answer.text
        assert f'href="/admin/?period={shown}#trend" aria-current="true"' in answer.text


def without_events(database: Database, *statuses: int) -> list[str]:
    """Transfers of which there are no events, at these statuses for two hours."""
    at = NOW - timedelta(hours=2)
    ids = [n.to_bytes(32, "big") for n in range(1, len(statuses) + 1)]
    moments = {"status_since": at, "updated_at": at}
    where = {"src_chain_id": 1, "dst_chain_id": 56, "symbol": "USDT", "amount": 25 * 10**6}
    with writing(database.engine) as connection:
        for transfer_id, status in zip(ids, statuses, strict=True):
            row = {"transfer_id": transfer_id, "status": status, "refund_reason": 0} | moments | where
            connection.execute(insert(Transfer).values(row))
    return [f"0x{transfer_id.hex()}" for transfer_id in ids]
