"""What is not known, in a browser: it never looks good, has a look of its own, and says since when."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask
from playwright.sync_api import Locator, Page, expect

from app import create_app
from app.accounts.rules.roles import Role
from app.db.database import Database
from app.http.application import part_of
from app.values.times import rfc3339
from tests.applications import close_connections, make_settings
from tests.browser.conftest import Visit
from tests.console.visitor import add_account, email_of
from tests.databases import SharedSqlite
from tests.feed.services.world import event, feed, write_network
from tests.serving.server import Server

pytestmark = pytest.mark.system

_IS_GREEN = """tile => {
  const probe = document.createElement("i");
  probe.style.color = "var(--good)";
  document.body.append(probe);
  const good = getComputedStyle(probe).color;
  probe.remove();
  return getComputedStyle(tile).borderLeftColor === good;
}"""


@pytest.fixture(scope="module")
def server(running: Server, sandbox: SharedSqlite) -> Server:
    """The server with accounts and nothing else."""
    sandbox.empty()
    in_gateway(sandbox, lambda app: None, accounts=True)
    return running


def in_gateway(sandbox: SharedSqlite, act: Callable[[Flask], object], *, accounts: bool = False) -> None:
    """Act in a process of its own on the server's database."""
    app = create_app(make_settings(sandbox.url))
    with app.app_context():
        if accounts:
            for role in Role:
                add_account(app, role)
        act(app)
        close_connections()


def tile(page: Page, label: str) -> Locator:
    return page.locator("#tiles > .tile").filter(has_text=label)


def is_green(found: Locator) -> bool:
    return bool(found.evaluate(_IS_GREEN))


def reload_until(page: Page, found: Locator, text: str) -> None:
    """A process reads the configuration again within seconds."""
    for _ in range(20):
        if text in found.inner_text():
            return
        page.wait_for_timeout(500)
        page.reload()
    expect(found).to_contain_text(text)


def test_nothing_is_known_then_one_fact(visit: Visit, sandbox: SharedSqlite) -> None:
    visit.enter(email_of(Role.OPERATOR))
    page = visit.open("/admin/")
    tiles = page.locator("#tiles > .tile")
    expect(tiles).to_have_count(7)
    assert not any(is_green(each) for each in tiles.all()), "of empty tables nothing is known to be good"
    expect(page.locator("#tiles .tile-unknown")).to_have_count(7)
    expect(tile(page, "Last event")).to_contain_text("Never")
    expect(tile(page, "Open anomalies")).to_contain_text("not known: no event was ever reported")
    expect(tile(page, "Chains not read")).to_contain_text("no chain is configured")
    visit.check_look()

    def one_fact(app: Flask) -> None:
        write_network(part_of(app, Database).engine)
        feed(
            app, event("chain.head", chain_id=1, block=500) | {"at": rfc3339(part_of(app, Database).clock())}
        )

    in_gateway(sandbox, one_fact)
    page.reload()
    reload_until(page, tile(page, "Chains not read"), "2")
    assert is_green(tile(page, "Last event"))
    assert [is_green(each) for each in tiles.all()].count(True) == 1
    expect(tile(page, "Open anomalies")).to_contain_text("not known: 2 chains are not read")
    freshness = page.locator("#freshness")
    expect(freshness.locator(".pill-unknown")).to_have_count(2)
    expect(freshness.locator(".pill-unknown").first).to_have_css("border-top-style", "dashed")
    expect(freshness).to_contain_text("Not read so far")
    page = visit.open("/admin/chains/")
    expect(page.get_by_role("row", name="Chain 2")).to_contain_text("not reported so far")
    expect(page.get_by_role("row", name="Chain 1")).not_to_contain_text("not reported")
