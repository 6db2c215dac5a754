"""In a real browser: the number above a list of transfers is true."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import pytest
from playwright.sync_api import expect
from sqlalchemy import insert

from app import create_app
from app.accounts.rules.roles import Role
from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.transfers.models import Transfer
from app.values.codes import TransferHistoryStatus as Status
from tests.applications import close_connections, make_settings
from tests.browser.conftest import Visit
from tests.browser.looking import findings
from tests.console.visitor import add_account, email_of
from tests.databases import SharedSqlite
from tests.serving.server import Server

COMPLETED, REFUNDED, FAILED = 40_000, 481, 61
PICTURES = os.environ.get("PICTURES", "")
"""A folder for pictures of what was looked at; none are taken without it."""


@pytest.fixture(scope="module")
def server(running: Server, sandbox: SharedSqlite) -> Server:
    """The server with many transfers that are completed, and few that ended otherwise."""

    def fill() -> None:
        app = create_app(make_settings(sandbox.url))
        with app.app_context():
            add_account(app, Role.VIEWER)
            with writing(part_of(app, Database).engine) as connection:
                connection.execute(insert(Transfer), transfers())
            close_connections()

    sandbox.empty()
    sandbox.fill("tests.browser counts", fill)
    return running


def transfers() -> list[dict[str, object]]:
    statuses = [
        *[Status.TRANSFER_REFUNDED] * REFUNDED,
        *[Status.TRANSFER_FAILED] * FAILED,
        *[Status.TRANSFER_COMPLETED] * COMPLETED,
    ]
    now = datetime.now(UTC)
    return [
        {
            "transfer_id": sha256(b"%d" % n).digest(),
            "status": int(status),
            "refund_reason": 0,
            "updated_at": now - timedelta(minutes=n),
        }
        for n, status in enumerate(statuses)
    ]


@pytest.mark.slow
def test_number_above_a_list_is_true(visit: Visit) -> None:
    visit.sign_in(email_of(Role.VIEWER))
    for status, shown in (
        (Status.TRANSFER_REFUNDED, f"{REFUNDED} transfers"),
        (Status.TRANSFER_FAILED, f"{FAILED} transfers"),
        (Status.TRANSFER_COMPLETED, "At least 10 000 transfers"),
        (Status.TRANSFER_SUBMITTING, "0 transfers"),
    ):
        page = visit.open(f"/admin/transfers/?status={int(status)}")
        line = (page.locator("main p.count").text_content() or "").replace("\u202f", " ").replace("\xa0", " ")
        assert line.startswith(shown)
    page = visit.open(f"/admin/transfers/?status={int(Status.TRANSFER_REFUNDED)}")
    expect(page.locator("main .row-link").first).to_be_visible()
    if PICTURES:
        page.screenshot(path=str(Path(PICTURES) / "counts.png"))
    assert not findings(page)
