"""Operators' jobs in a browser: stop and resume chains, roll a fee back, restore a time, connect a chain."""

from __future__ import annotations

import json
import re
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.accounts.rules.roles import Role
from tests.browser.answers import code, estimate, in_time
from tests.browser.conftest import Visit
from tests.browser.looking import go, save
from tests.console.visitor import email_of
from tests.serving.server import Server

NEW = 8454
MOST_CLICKS = 15
MOST_CLICKS_TO_UNDO = 3
MOST_TABS_TO_STOP = 16


class Clicks:
    """Counts what somebody presses to get to the next page."""

    def __init__(self, page: Page) -> None:
        self.page, self.count = page, 0

    def press(self, role: Any, name: str | re.Pattern[str]) -> None:
        go(self.page.get_by_role(role, name=name, exact=True))
        self.count += 1


@pytest.mark.slow
def test_chains_are_stopped_and_resumed_together(visit: Visit, server: Server) -> None:
    visit.sign_in(email_of(Role.OPERATOR))
    page = visit.open("/admin/chains/")
    for name in ("Optimism", "Polygon"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    go(page.get_by_role("button", name="Stop selected"))
    visit.check_look()
    expect(page.locator("[name=disabled_reason]")).to_be_focused()
    page.keyboard.type("RPC compromised")
    page.get_by_label("to confirm").fill("STOP 2 CHAINS")
    save(page.get_by_role("button", name="Stop 2 chains"))
    banner = page.get_by_role("region", name="Stopped chains")
    assert "Optimism stopped" in banner.inner_text()
    assert "by operator@example.org: RPC compromised" in banner.inner_text()
    visit.check_look()
    in_time(server, lambda answer: code(answer) == 500, src=10, dst=1)
    for name in ("Optimism", "Polygon"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    go(page.get_by_role("button", name="Resume selected"))
    visit.check_look()
    save(page.get_by_role("button", name="Resume 2 chains"))
    assert "Optimism stopped" not in banner.inner_text()
    in_time(server, lambda answer: code(answer) is None, src=10, dst=1)


@pytest.mark.slow
def test_a_fee_is_rolled_back(visit: Visit, server: Server) -> None:
    visit.sign_in(email_of(Role.ADMIN))
    page = visit.open("/admin/chains/137")
    page.get_by_label("Block delay").fill("121")
    go(page.get_by_role("button", name="Preview change"))
    page.get_by_label("Reason").fill("ticket 9")
    then = datetime.now(UTC)
    save(page.get_by_role("button", name="Save change"))
    page = visit.open("/admin/chains/137")
    go(page.get_by_role("link", name="History"))
    expect(page.get_by_text("ticket 9")).to_be_visible()
    visit.check_look()
    go(page.get_by_role("link", name="Restore this version").first)
    visit.check_look()
    save(page.get_by_role("button", name="Save change"))
    go(page.get_by_role("link", name="Audit record"))
    visit.check_look()
    go(page.get_by_role("link", name="Open row"))
    assert page.get_by_label("Block delay").input_value() == "120"

    time.sleep(0.01)
    page.goto(f"{visit.base}/admin/history/at?time={then:%Y-%m-%dT%H:%M:%S.%f}Z")
    expect(page.get_by_text("Nothing in the configuration differs"), "there and back").to_be_visible()
    visit.check_look()


@pytest.mark.slow
def test_a_change_of_many_routes_is_undone(visit: Visit, server: Server) -> None:
    visit.sign_in(email_of(Role.OPERATOR))
    visit.open("/admin/routes/base-fees?dst_chain_id=56&how=factor&factor=2")
    records = []
    for _ in range(2):
        page = visit.open("/admin/routes/base-fees?dst_chain_id=56&how=factor&factor=2")
        go(page.get_by_role("button", name="Preview change"))
        save(page.get_by_role("button", name=re.compile("^Save [0-9]+ base fees$")))
        page = visit.open("/admin/audit/")
        records.append(page.locator("main tbody a.row-link").first.inner_text())
    page.goto(f"{visit.base}/admin/history/undo/{records[0]}")
    expect(page.get_by_text("Some of its rows were changed later")).to_be_visible()
    visit.check_look()
    for record in reversed(records):
        before = estimate(server)["base_fee"]
        page = visit.open("/admin/audit/")
        clicks = Clicks(page)
        clicks.press("link", record)
        clicks.press("link", "Undo")
        visit.check_look()
        save(page.get_by_role("button", name=re.compile("^Undo [0-9]+ changes$")))
        assert clicks.count + 1 <= MOST_CLICKS_TO_UNDO
        in_time(server, lambda answer, before=before: answer["base_fee"] != before)
    expect(page.get_by_role("link", name="Undo", exact=True)).to_be_visible()
    visit.check_look()


@pytest.mark.slow
def test_a_list_is_filtered_while_one_types(visit: Visit) -> None:
    visit.sign_in(email_of(Role.OPERATOR))
    page = visit.open("/admin/chains/")
    rows = page.locator("main tbody tr")
    every = rows.count()
    page.get_by_role("searchbox", name="Search", exact=True).last.press_sequentially("poly")
    expect(rows.filter(visible=True)).to_have_count(1)
    expect(page.locator("main .count")).to_have_text(f"1 of {every} rows")
    for _ in range(MOST_TABS_TO_STOP):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('aria-label')") == "Stop Polygon":
            break
    visit.check_look()
    go(page.locator("*:focus"))
    expect(page.get_by_role("heading", name="Stop Polygon?")).to_be_visible()


@pytest.mark.slow
def test_document_is_applied_in_part(visit: Visit, server: Server) -> None:
    visit.sign_in(email_of(Role.ADMIN))
    page = visit.open("/admin/document/")
    visit.check_look()
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    rows = json.loads(download.value.path().read_text())
    rows["chains"][0]["block_delay"] += 1
    rows["tokens"][0]["name"] = "Other"
    page.get_by_label("File").set_input_files(
        {"name": "network.json", "mimeType": "application/json", "buffer": json.dumps(rows).encode()}
    )
    go(page.get_by_role("button", name="Compare"))
    expect(page.get_by_text("2 rows differ")).to_be_visible()
    visit.check_look()
    page.get_by_role("checkbox").last.uncheck()
    go(page.get_by_role("button", name="Preview selected"))
    visit.check_look()
    save(page.get_by_role("button", name="Apply 1 difference"))
    assert "apply 1 of 2 differences" in page.get_by_role("status").first.inner_text()


@pytest.mark.slow
def test_a_chain_is_connected_and_estimated(visit: Visit, server: Server) -> None:
    visit.sign_in(email_of(Role.OPERATOR))
    page = visit.open("/admin/")
    clicks = Clicks(page)
    clicks.press("link", re.compile("^Chains( [0-9]+ waiting)?$"))
    clicks.press("link", "Connect a chain")
    visit.check_look()
    page.get_by_label("Copy from").select_option(label="Optimism (10)")
    clicks.press("button", "Continue")
    visit.check_look()
    for label, text in (
        ("Chain ID", str(NEW)),
        ("Name", "New chain"),
        ("Block explorer", "https://explorer.example"),
    ):
        page.get_by_label(label, exact=True).fill(text)
    for symbol in ("USDT", "USDC", "WETH"):
        contract = page.get_by_label(f"Contract of {symbol}", exact=True)
        if contract.count():
            contract.fill(f"0x{len(symbol):040x}")
            page.get_by_label(f"Opening liquidity of {symbol}", exact=True).fill("100000")
    clicks.press("button", "Preview change")
    visit.check_look()
    clicks.press("button", "Connect chain")
    in_time(server, lambda answer: code(answer) is None, src=1, dst=NEW)
    expect(page).to_have_url(re.compile(f"src={NEW}"))
    page.reload()
    clicks.press("button", "Estimate")
    assert clicks.count <= MOST_CLICKS
    assert estimate(server, NEW, 1)["estimated_receive_amt"] != "0"
