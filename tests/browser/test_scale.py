"""The console with 60 chains: the first page fits on two screens, with what is wrong first."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, ViewportSize, expect
from sqlalchemy import create_engine, text

from app.accounts.rules.roles import Role
from tests.browser.conftest import Visit
from tests.browser.looking import PHONE
from tests.console.visitor import email_of
from tests.databases import SharedSqlite

pytestmark = pytest.mark.system

CHAINS = 60
SCREEN = ViewportSize(width=1440, height=900)


@pytest.fixture
def wide(visit: Visit, sandbox: SharedSqlite) -> Page:
    """Signed in, with 60 chains that nobody reads and pools that are at their caps."""
    engine = create_engine(sandbox.url)
    with engine.begin() as connection:
        known = connection.scalar(text("SELECT count(*) FROM chains")) or 0
        for table in ("chains", "tokens", "pools"):
            columns = [row[1] for row in connection.execute(text(f"PRAGMA table_info({table})"))]
            columns = [name for name in columns if name not in ("id", "chain_id", "name", "symbol")]
            named = ", ".join(columns)
            own = {"chains": "name", "tokens": "name, symbol", "pools": "symbol"}[table]
            values = {
                "chains": "'Chain number ' || :n",
                "tokens": "'Tether', symbol",
                "pools": "symbol",
            }[table]
            for n in range(CHAINS - known):
                connection.execute(
                    text(
                        f"INSERT INTO {table} (chain_id, {own}, {named}) SELECT :id, {values}, {named} "
                        f"FROM {table} WHERE chain_id = 1 LIMIT 1"
                    ),
                    {"id": 9000 + n, "n": n} if table == "chains" else {"id": 9000 + n},
                )
        connection.execute(text("UPDATE pools SET total_cap = liquidity_added"))
        for n in range(CHAINS):
            connection.execute(
                text(
                    "INSERT OR IGNORE INTO anomalies (kind, subject, detail, event_ids, first_at, last_at) "
                    "VALUES ('paid_twice', :subject, 'Two payouts', '[]', '2026-01-01', '2026-01-01')"
                ),
                {"subject": f"pool:{n}:USDT"},
            )
        connection.execute(text("UPDATE network_parts SET version = version + 1"))
    engine.dispose()
    visit.page.set_viewport_size(SCREEN)
    visit.enter(email_of(Role.ADMIN))
    return visit.page


def height(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollHeight"))


def test_dashboard_has_two_screens_at_most(visit: Visit, wide: Page) -> None:
    page = visit.open("/admin/")
    expect(page.locator("#freshness summary").first).to_contain_text("more chains")
    assert height(page) <= 2 * SCREEN["height"]
    closed = page.locator(".board > section:has(> .panel:not([open]))")
    assert closed.count() >= 5
    for panel in ("stuck", "refunds", "anomalies", "freshness", "pools"):
        expect(page.locator(f"#{panel} > .panel")).to_have_count(0)
    page.get_by_role("link", name="Stuck: user must act").click()
    expect(page.locator("#waiting > .panel")).to_have_attribute("open", "")
    page.set_viewport_size(PHONE)
    visit.open("/admin/")
    assert height(page) <= 6_000
    page.set_viewport_size(SCREEN)
    summary = page.locator("#trend > .panel > summary")
    summary.focus()
    page.keyboard.press("Enter")
    box = page.locator("#trend-chart").bounding_box()
    assert box and box["height"] > 100


@pytest.mark.slow
def test_open_panels_are_accessible(visit: Visit, wide: Page) -> None:
    page = visit.open("/admin/")
    page.evaluate("document.querySelectorAll('.board details').forEach(each => { each.open = true; })")
    visit.check_look()


@pytest.mark.parametrize(
    "path",
    [
        "/admin/refunds/",
        pytest.param("/admin/transfers/?token=USDT&sort=largest&least=1", marks=pytest.mark.slow),
    ],
)
def test_lists_are_usable_on_every_screen(visit: Visit, wide: Page, path: str) -> None:
    page = visit.open(path)
    expect(page.locator("main .row-link").first).to_be_visible()
    visit.check_look()
