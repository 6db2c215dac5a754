"""Changes of the network in a browser: what scripts, focus and keyboard add to ``tests/console``."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from app.accounts.rules.roles import Role
from tests.browser.conftest import Visit
from tests.browser.looking import go, save
from tests.console.visitor import email_of

pytestmark = pytest.mark.system

NEW = 8454
MOST_CLICKS_TO_CONNECT = 10
MOST_TABS_TO_STOP = 16
CHOSEN_CHAINS = [
    # the form, its chains, where tokens are chosen, and those of Arbitrum or, with two chains, also of Base
    ("pools/new", "[name=chain_id]", "select[name=symbol]", {"USDC", "USDT", "WETH", "AI"}),
    ("routes/new", "[name=src_chain_id], [name=dst_chain_id]", "select[name=symbol]", {"USDC", "WETH"}),
    ("routes/base-fees", "[name=dst_chain_id]", "select[name=symbol]", {"USDC", "USDT", "WETH", "AI"}),
    (
        "route_blocks/new", "[name=src_chain_id], [name=dst_chain_id]", "#field-symbol ~ datalist",
        {"USDC", "WETH"},
    ),
    ("estimates/", "[name=src], [name=dst]", "select[name=token]", {"USDC", "WETH"}),
]  # fmt: skip
LACKED_BY_BASE = ["AI", "BUSD", "OOKI", "SDN", "USDT"]
LACKED_BY_POLYGON = ["AI", "BUSD", "OOKI", "SDN"]


def test_selected_chains_are_stopped_together(visit: Visit) -> None:
    visit.enter(email_of(Role.OPERATOR))
    page = visit.open("/admin/chains/")
    for name in ("Optimism", "Fantom"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    go(page.get_by_role("button", name="Stop selected"))
    expect(page.locator("[name=disabled_reason]")).to_be_focused()
    page.keyboard.type("RPC compromised")
    page.get_by_label("to confirm").fill("STOP 2 CHAINS")
    save(page.get_by_role("button", name="Stop 2 chains"))
    banner = page.get_by_role("region", name="Stopped chains")
    assert "by operator@example.org: RPC compromised" in banner.inner_text()
    visit.check_accessibility()


def test_chain_is_connected_with_few_clicks(visit: Visit) -> None:
    visit.enter(email_of(Role.OPERATOR))
    page = visit.open("/admin/")
    pressed: list[str] = []

    def press(selector: str) -> None:
        go(page.locator(selector).first)
        pressed.append(selector)

    press("nav a[href='/admin/chains/']")
    press("main a[href='/admin/connect/']")
    page.get_by_label("Copy from").select_option(label="Optimism (10)")
    press("main form .form-actions button.primary")
    texts = {"Chain ID": str(NEW), "Name": "New chain", "Block explorer": "https://explorer.example"}
    for label, text in texts.items():
        page.get_by_label(label, exact=True).fill(text)
    for number, contract in enumerate(page.locator("main input[name^=token][name$=address]").all()):
        contract.fill(f"0x{number + 1:040x}")
    for liquidity in page.locator("main input[name^=token][name$=liquidity]").all():
        liquidity.fill("100000")
    press("main form .form-actions button.primary")
    visit.check_accessibility()
    press("button[name=confirm]")
    expect(page).to_have_url(re.compile(f"/admin/estimates/.*{NEW}"))
    press("main form button.primary")
    expect(page.locator("main .outcome.message-success")).to_be_visible()
    assert len(pressed) <= MOST_CLICKS_TO_CONNECT


def test_chosen_chains_limit_tokens(visit: Visit) -> None:
    visit.enter(email_of(Role.OPERATOR))
    for path, chains, tokens, wanted in CHOSEN_CHAINS:
        page = visit.open(f"/admin/{path}")
        offered = f"Array.from(document.querySelector('main {tokens}').options, each => each.value)"
        every = page.evaluate(offered)
        for chain, number in zip(page.locator("main").locator(chains).all(), ("42161", "8453"), strict=False):
            chain.select_option(number)
        assert set(page.evaluate(offered)) - {""} == wanted, path
        assert len(every) > len(wanted) + 1
        page.locator("main").locator(chains).last.select_option("1")
        assert {"USDT", "WETH"} < set(page.evaluate(offered)), f"{path}: wider again"
    page = visit.open("/admin/tokens/new")
    page.locator("[name=chain_id]").select_option("8453")
    offered = "Array.from(document.querySelector('main datalist').options, each => each.value)"
    assert page.evaluate(offered) == LACKED_BY_BASE
    page = visit.open("/admin/tokens/")
    page.locator("main [name=chain]").select_option("137")
    shown = page.locator("main [name=symbol] option").all_inner_texts()
    assert shown == ["Choose …", *LACKED_BY_POLYGON]


def test_list_filters_while_typing(visit: Visit) -> None:
    visit.enter(email_of(Role.OPERATOR))
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
    visit.check_accessibility()
    go(page.locator("*:focus"))
    expect(page.get_by_role("heading", name="Stop Polygon?")).to_be_visible()


def test_uploaded_document_is_applied_in_part(visit: Visit) -> None:
    visit.enter(email_of(Role.ADMIN))
    page = visit.open("/admin/document/")
    with page.expect_download() as download:
        page.get_by_role("link", name="Export").click()
    rows = json.loads(download.value.path().read_text())
    for chain in rows["chains"][:3]:
        chain["block_delay"] += 1
    page.get_by_label("File").set_input_files(
        {"name": "network.json", "mimeType": "application/json", "buffer": json.dumps(rows).encode()}
    )
    go(page.get_by_role("button", name="Compare"))
    expect(page.get_by_text("3 rows differ")).to_be_visible()
    boxes = page.locator('input[name="row"]')
    for pressed, checked in ((None, 3), ("Select none", 0), ("Select all", 3)):
        if pressed:
            page.get_by_role("button", name=pressed).click()
        assert sum(box.is_checked() for box in boxes.all()) == checked
    boxes.last.uncheck()
    visit.check_look()
    go(page.get_by_role("button", name="Preview selected"))
    save(page.get_by_role("button", name="Apply 2 differences"))


def test_amount_is_shown_in_other_units(visit: Visit) -> None:
    visit.enter(email_of(Role.OPERATOR))
    page = visit.open("/admin/routes/?search=USDT")
    go(page.get_by_role("row").filter(has_text="0.605437…").get_by_role("link").first)
    fee = page.get_by_label("Base fee", exact=True)
    fee.fill("12 000 000")
    unit = page.get_by_label("Base fee: unit", exact=True)
    assert unit.locator("option:checked").inner_text() == "USDT", "never smallest units by themselves"
    expect(page.get_by_text("= 12\u2009000\u2009000 USDT")).to_be_visible()
    unit.select_option("smallest")
    assert fee.input_value() == "12" + "0" * 24, "the same amount in the other unit"
    fee.fill("12 000 000 000 000 000 000")
    expect(page.get_by_text("= 12 USDT")).to_be_visible()
    unit.select_option("tokens")
    assert fee.input_value() == "12"


def test_tiers_are_added_and_removed(visit: Visit) -> None:
    visit.enter(email_of(Role.OPERATOR))
    page = visit.open("/admin/routes/?search=USDT")
    go(page.get_by_role("row").filter(has_text="BNB Chain").get_by_role("link").first)
    tiers = page.get_by_role("group", name="Protocol fee tiers").locator("tbody tr")
    before = tiers.count()
    page.get_by_role("button", name="Add tier").click()
    expect(tiers).to_have_count(before + 1)
    page.keyboard.type("9 000 000")  # the new row has the focus
    tiers.last.get_by_label("Fee (%)").fill("0.01")
    go(page.get_by_role("button", name="Preview change"))
    expect(page.get_by_text(f"Protocol fee tiers, row {before + 1}, fee")).to_be_visible()
    go(page.get_by_role("button", name="Back to form"))
    expect(tiers).to_have_count(before + 1)
    tiers.last.get_by_role("button", name="Remove").click()
    go(page.get_by_role("button", name="Preview change"))
    expect(page.get_by_text("Nothing was changed, so there is nothing to save")).to_be_visible()


def test_all_rows_of_a_page_are_selected(visit: Visit) -> None:
    """And with a second press none."""
    visit.enter(email_of(Role.ADMIN))
    page = visit.open("/admin/transfers/?stuck=1")
    boxes = page.locator('main tbody input[type="checkbox"]')
    button = page.get_by_role("button", name="Select all on this page")
    expect(boxes).not_to_have_count(0)
    for picked in (True, False):
        button.click()
        assert all(each.is_checked() is picked for each in boxes.all())
