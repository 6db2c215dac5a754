"""The first page stays up when a part of it fails, and says what failed."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from sqlalchemy.exc import OperationalError

from app.accounts.rules.roles import Role
from app.console.dashboard import dashboard as parts
from app.db.database import Database
from tests.console.unfed import without_events
from tests.console.visitor import signed_in

PARTS = (
    "status_counts", "stuck_transfers", "count_stuck", "waiting_refunds", "slowest_pairs", "pool_lines",
    "anomalies_to_acknowledge", "estimate_summary", "freshness", "trend",
)  # fmt: skip
WAY_TO_STOP = '<a class="button danger" href="/admin/chains/">Stop chain</a>'


@pytest.mark.every_database
def test_a_refund_without_events_is_listed(app: Flask, network: Flask, database: Database) -> None:
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
    assert '<span class="tile-number tile-warn">13</span><span>Refunds waiting' in page


@pytest.mark.parametrize("failing", PARTS)
def test_a_panel_fails_alone(
    app: Flask, network: Flask, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    visitor = signed_in(app, Role.OPERATOR)
    monkeypatch.setattr(parts, failing, lambda *_, **__: 1 / 0)
    answer = visitor.get("/admin/")
    assert answer.status_code == 200
    assert WAY_TO_STOP in answer.text
    assert "This panel could not be loaded. Something went wrong" in answer.text
    assert "ZeroDivisionError" not in answer.text
    # Latencies measure what is stuck; a list and its number are of one panel.
    failed = answer.text.count("This panel could not be loaded")
    assert failed <= 2 and answer.text.count('<section class="card"') >= 9


def test_outage_leaves_only_chain_stop(app: Flask, network: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other part of the dashboard fails."""
    visitor = signed_in(app, Role.OPERATOR)

    def down(*_: Any, **__: Any) -> Any:
        raise OperationalError("select", {}, Exception("gone"))

    for part in PARTS:
        monkeypatch.setattr(parts, part, down)
    answer = visitor.get("/admin/")
    assert answer.status_code == 200
    assert WAY_TO_STOP in answer.text
    assert answer.text.count("The database did not answer in time") == 12
    assert "not available" in answer.text
