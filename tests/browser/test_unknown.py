"""What is not known, in a browser: it never looks good, has a look of its own, and says since when."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from flask import Flask
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import update

from app import create_app
from app.accounts.rules.roles import Role
from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.values.times import rfc3339
from app.watcher.models import ChainWatch
from tests.applications import close_connections, make_settings
from tests.browser.conftest import Visit
from tests.console.visitor import add_account, email_of
from tests.databases import SharedSqlite
from tests.feed.services.world import event, feed, write_network
from tests.serving.server import UNLIMITED, Server, serving
from tests.watcher.services.world import watch_a_chain

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
def sandbox(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[SharedSqlite]:
    """A database of its own, as it has another network than the other modules have."""
    database = SharedSqlite(sqlite_template, tmp_path_factory.mktemp("unknown") / "gateway.db")
    yield database
    database.close()


@pytest.fixture(scope="module")
def server(sandbox: SharedSqlite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with accounts and nothing else."""
    in_gateway(sandbox, lambda app: None, accounts=True)
    log = tmp_path_factory.mktemp("server") / "log"
    with serving(UNLIMITED, log, DATABASE_URL=sandbox.url, WEB_CONCURRENCY="1") as running:
        yield running


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


def test_nothing_is_known_then_one_fact_then_a_chain_is_not_read(visit: Visit, sandbox: SharedSqlite) -> None:
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
    visit.check_accessibility()

    def dead_watcher(app: Flask) -> None:
        watch_a_chain(app)
        ago = part_of(app, Database).clock() - timedelta(hours=1)
        with writing(part_of(app, Database).engine) as connection:
            connection.execute(update(ChainWatch).values(until=ago, read_at=ago))

    in_gateway(sandbox, dead_watcher)
    page.reload()
    row = page.get_by_role("row", name="Chain 1")
    reload_until(page, row, "not read")
    expect(row).to_contain_text(re.compile(r"not read\s+since \d"))
    page = visit.open("/admin/chains/1")
    expect(page.locator(".pill-unknown").first).to_have_text("not read")
    expect(page.locator("#reading")).to_contain_text("used last")
    expect(page.locator("#reading .pill-good")).to_have_count(0)
    visit.check_look()
    page = visit.open("/admin/")
    expect(tile(page, "Chains not read")).to_contain_text("3")
