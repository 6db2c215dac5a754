"""What operators change in a browser, and what the API says of it in each worker."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from app.accounts.rules.roles import Role
from tests.browser.answers import code, in_time
from tests.browser.conftest import Visit
from tests.browser.looking import go, save
from tests.console.visitor import email_of
from tests.serving.server import Server


@pytest.mark.slow
def test_a_chain_is_stopped_and_resumed(visit: Visit, server: Server) -> None:
    in_time(server, lambda answer: code(answer) is None, src=10, dst=1)
    visit.sign_in(email_of(Role.OPERATOR))
    page = visit.open("/admin/chains/")
    go(page.get_by_role("link", name="Stop Optimism"))
    page.get_by_label("Reason").fill("a drill")
    page.get_by_label("to confirm").fill("Optimism")
    visit.check_accessibility()
    save(page.get_by_role("button", name="Stop Optimism"))
    assert "Audit record" in page.get_by_role("status").first.inner_text()
    in_time(server, lambda answer: code(answer) == 500, src=10, dst=1)
    go(page.get_by_role("link", name="Resume Optimism"))
    visit.check_accessibility()
    save(page.get_by_role("button", name="Resume Optimism"))
    in_time(server, lambda answer: code(answer) is None, src=10, dst=1)


@pytest.mark.slow
def test_a_fee_is_seen_in_the_estimate(visit: Visit, server: Server) -> None:
    visit.sign_in(email_of(Role.OPERATOR))
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
    go(page.get_by_role("button", name="Preview change"))
    assert "times the old one" in page.get_by_role("listitem").filter(has_text="High impact").inner_text()
    visit.check_accessibility()
    save(page.get_by_role("button", name="Save change"))
    in_time(server, lambda answer: answer.get("base_fee") == "12000000000000000000")


@pytest.mark.slow
def test_raising_cap_and_adding_tier(visit: Visit) -> None:
    visit.sign_in(email_of(Role.OPERATOR))
    page = visit.open("/admin/pools/?search=USDT")
    go(page.get_by_role("row").filter(has_text="Ethereum").get_by_role("link").first)
    pool = page.url
    page.get_by_label("Total cap", exact=True).fill("80 000 000.5")
    visit.check_accessibility()
    go(page.get_by_role("button", name="Preview change"))
    row = page.get_by_role("row").filter(has_text="Total cap")
    assert "USDT" in row.inner_text()
    assert "smallest units" in row.inner_text()
    save(page.get_by_role("button", name="Save change"))
    page.goto(pool)
    assert page.get_by_label("Total cap", exact=True).input_value() == "80000000.5"

    page = visit.open("/admin/routes/?search=USDT")
    go(page.get_by_role("row").filter(has_text="BNB Chain").get_by_role("link").first)
    tiers = page.get_by_role("group", name="Protocol fee tiers").locator("tbody tr")
    before = tiers.count()
    page.get_by_role("button", name="Add tier").click()
    expect(tiers).to_have_count(before + 1)
    page.keyboard.type("9 000 000")  # the new row has the focus
    tiers.last.get_by_label("Fee (%)").fill("0.01")
    visit.check_accessibility()
    go(page.get_by_role("button", name="Preview change"))
    expect(page.get_by_text(f"Protocol fee tiers, row {before + 1}, fee")).to_be_visible()
    go(page.get_by_role("button", name="Back to form"))
    expect(tiers).to_have_count(before + 1)
    tiers.last.get_by_role("button", name="Remove").click()
    go(page.get_by_role("button", name="Preview change"))
    expect(page.get_by_text("Nothing was changed, so there is nothing to save")).to_be_visible()


@pytest.mark.slow
def test_a_network_is_blocked_for_a_day(visit: Visit) -> None:
    visit.sign_in(email_of(Role.OPERATOR))
    page = visit.open("/admin/blocked_networks/")
    go(page.get_by_role("link", name="Block networks"))
    page.get_by_label("Networks, one per line").fill("198.51.100.77")
    page.get_by_label("in 24 hours").check()
    visit.check_accessibility()
    go(page.get_by_role("button", name="Preview change"))
    expect(page.get_by_text("198.51.100.77/32").first).to_be_visible()
    visit.check_accessibility()
    save(page.get_by_role("button", name="Block 1 network"))
    row = page.get_by_role("row").filter(has_text="198.51.100.77/32")
    assert "active" in row.inner_text()


@pytest.mark.slow
def test_a_preview_with_transfers_fits_a_phone(visit: Visit) -> None:
    visit.sign_in(email_of(Role.OPERATOR))
    page = visit.open("/admin/route_blocks/new")
    page.get_by_label("Token", exact=True).fill("USDT")
    page.get_by_label("From", exact=True).select_option("1")
    page.get_by_label("To", exact=True).select_option("56")
    page.set_viewport_size({"width": 390, "height": 844})
    go(page.get_by_role("button", name="Preview change"))
    expect(page.locator("main .effects")).to_contain_text("transfers in the last 24 hours")
    visit.check_accessibility()
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    assert not page.evaluate(wide)


@pytest.mark.slow
def test_addresses_are_blocked_in_bulk(visit: Visit, server: Server) -> None:
    visit.sign_in(email_of(Role.OPERATOR))
    page = visit.open("/admin/blocked_addresses/")
    go(page.get_by_role("link", name="Block addresses"))
    page.get_by_label("Addresses, one per line").fill(
        "0x00000000000000000000000000000000000000c1\nno address\n"
    )
    go(page.get_by_role("button", name="Preview change"))
    expect(page.get_by_text("1 line has an error")).to_be_visible()
    visit.check_accessibility()
    go(page.get_by_role("button", name="Back to form"))
    page.get_by_label("Addresses, one per line").fill("0x00000000000000000000000000000000000000c1")
    page.get_by_label("Reason").fill("a drill")
    go(page.get_by_role("button", name="Preview change"))
    save(page.get_by_role("button", name="Block 1 address"))
    in_time(server, lambda answer: code(answer) == 1015, usr="0x00000000000000000000000000000000000000C1")


@pytest.mark.slow
def test_second_editor_sees_the_conflict(visit: Visit) -> None:
    visit.sign_in(email_of(Role.OPERATOR))
    mine = visit.open("/admin/chains/137")
    theirs = mine.context.new_page()
    theirs.goto(mine.url)
    theirs.get_by_label("Block delay").fill("121")
    go(theirs.get_by_role("button", name="Preview change"))
    save(theirs.get_by_role("button", name="Save change"))
    mine.get_by_label("Name").fill("Polygon PoS")
    go(mine.get_by_role("button", name="Preview change"))
    expect(mine.get_by_role("heading", name="Changed while you were editing")).to_be_visible()
    visit.check_accessibility()
    go(mine.get_by_role("link", name="Reload current values"))
    assert mine.get_by_label("Block delay").input_value() == "121"
    assert mine.get_by_label("Name").input_value() == "Polygon"


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/admin/chains/", "/admin/transfers/?stuck=1"])
def test_all_rows_of_a_page_are_selected(visit: Visit, path: str) -> None:
    """And with a second press none."""
    visit.sign_in(email_of(Role.ADMIN))
    page = visit.open(path)
    boxes = page.locator('main tbody input[type="checkbox"]')
    button = page.get_by_role("button", name="Select all on this page")
    expect(boxes).not_to_have_count(0)
    for picked in (True, False):
        button.click()
        assert all(each.is_checked() is picked for each in boxes.all())


@pytest.mark.slow
def test_all_differences_are_selected_or_none(visit: Visit) -> None:
    """Each button does what it says, whatever was selected before."""
    visit.sign_in(email_of(Role.ADMIN))
    rows = visit.page.request.get(f"{visit.base}/admin/document/network.json").json()
    for chain in rows["chains"][:3]:
        chain["block_delay"] += 1
    page = visit.open("/admin/document/")
    page.locator('main textarea[name="text"]').fill(json.dumps(rows))
    go(page.get_by_role("button", name="Compare document"))
    boxes = page.locator('input[name="row"]')
    expect(boxes).to_have_count(3)

    def ticked() -> int:
        return sum(box.is_checked() for box in boxes.all())

    assert ticked() == 3
    page.get_by_role("button", name="Select all").click()
    assert ticked() == 3
    page.get_by_role("button", name="Select none").click()
    assert ticked() == 0
    boxes.first.check()
    page.get_by_role("button", name="Select all").click()
    assert ticked() == 3
    visit.check_accessibility()
