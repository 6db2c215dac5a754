"""What operators do, in a browser, and what wallets are told by each of four workers afterwards."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from app.domain.operators import Role
from tests.admin.visitor import email_of
from tests.browser.conftest import Visit
from tests.serving.server import Server

OPERATOR = email_of(Role.OPERATOR)
CONFIG_MAX_AGE = 1.0
"""The default of CONFIG_MAX_AGE_SECONDS, which the servers of these tests have."""

ROUNDS = 12
"""Connections opened for each look: the kernel spreads them over the workers."""


def estimate(server: Server, src: int = 1, dst: int = 56, usr_addr: str = "") -> dict[str, Any]:
    """One estimate of 100 USDT on a connection of its own."""
    question = (
        f"src_chain_id={src}&dst_chain_id={dst}&token_symbol=USDT&amt=100000000&slippage_tolerance=5000"
    )
    answer = server.ask("GET", f"/v2/estimateAmt?{question}&usr_addr={usr_addr}")
    told: dict[str, Any] = json.loads(answer.read())
    return told


def code(told: dict[str, Any]) -> int:
    return told["err"]["code"] if told["err"] else 0


def soon_everywhere(ask: Callable[[], bool]) -> None:
    """Within the promised time whoever answers says so, whichever worker it is."""
    time.sleep(CONFIG_MAX_AGE)
    assert all(ask() for _ in range(ROUNDS))


def save(page: Page, name: str) -> None:
    """From the form over the page of effects to the list."""
    page.get_by_role("button", name="Look at what it will do").click()
    expect(page.get_by_role("heading", name="What it will do")).to_be_visible()
    page.get_by_role("button", name=name).click()
    expect(page.locator(".message-success")).to_be_visible()


def test_a_stopped_chain_is_refused_by_every_worker(visit: Visit, server: Server) -> None:
    assert all(code(estimate(server, 1, 137)) == 0 for _ in range(ROUNDS))
    page = visit.sign_in(OPERATOR)
    page.locator("summary", has_text="Stop a chain").click()
    page.locator(".menu-items a", has_text="Polygon").click()
    expect(page.get_by_text("stop at once")).to_be_visible()
    visit.check_accessibility()

    page.get_by_role("button", name="Stop this chain").click()
    assert code(estimate(server, 1, 137)) == 0, "without a reason and its name nothing happens"
    page.get_by_label("Reason").fill("The node of this chain forked")
    page.get_by_label("to confirm").fill("Poly")
    page.get_by_role("button", name="Stop this chain").click()
    expect(page.locator(".field-error").first).to_be_visible()
    assert code(estimate(server, 1, 137)) == 0
    page.get_by_label("to confirm").fill("Polygon")
    page.get_by_role("button", name="Stop this chain").click()
    expect(page.locator(".message-success")).to_be_visible()
    soon_everywhere(lambda: code(estimate(server, 1, 137)) == 500)

    visit.open("/admin/audit/")
    expect(page.locator("tbody tr").first).to_contain_text("chain 137")
    visit.open("/admin/chains/")
    page.get_by_role("link", name="Resume").first.click()


def test_blocked_addresses_are_told_so(visit: Visit, server: Server) -> None:
    addresses = [f"0x{number:040x}" for number in range(0xABC000, 0xABC005)]
    assert code(estimate(server, usr_addr=addresses[3])) == 0
    page = visit.sign_in(OPERATOR)
    visit.open("/admin/blocked_addresses/add")
    page.locator("textarea").first.fill("\n".join([*addresses, "not an address"]))
    page.get_by_role("button", name="Look at what it will do").click()
    expect(page.get_by_text("1 line is wrong")).to_be_visible()
    expect(page.get_by_role("row", name="6 not an address")).to_be_visible()
    assert code(estimate(server, usr_addr=addresses[3])) == 0, "nothing is saved while a line is wrong"
    page.get_by_role("button", name="Back to the list").click()
    page.locator("textarea").first.fill("\n".join(addresses))
    page.get_by_role("button", name="Look at what it will do").click()
    visit.check_accessibility()
    page.get_by_role("button", name="Block 5 addresses").click()
    expect(page.locator(".message-success")).to_be_visible()
    soon_everywhere(lambda: code(estimate(server, usr_addr=addresses[3].upper().replace("0X", "0x"))) == 1015)


def test_a_fee_is_edited_and_counts(visit: Visit, server: Server) -> None:
    visit.sign_in(OPERATOR)
    page = visit.open("/admin/routes/?search=USDT")
    page.locator("tr", has_text="Ethereum").filter(has_text="Polygon").first.locator("a").first.click()
    field = page.get_by_label("Base fee", exact=True)
    before = field.input_value()
    way = page.locator(".heading h1").inner_text()
    assert way == "Route of USDT from Ethereum to Polygon"
    field.fill(str(int(before) * 12))
    page.get_by_role("button", name="Look at what it will do").click()
    expect(page.get_by_text("12 times")).to_be_visible()
    page.get_by_role("button", name="Save the change").click()
    expect(page.locator(".message-success")).to_be_visible()
    visit.open("/admin/chains/")  # another test may have stopped it
    if page.locator("tr", has_text="Polygon").get_by_role("link", name="Resume").count():
        page.locator("tr", has_text="Polygon").get_by_role("link", name="Resume").click()
        page.locator("button.primary").first.click()
        expect(page.locator(".message-success")).to_be_visible()
    soon_everywhere(lambda: estimate(server, 1, 137)["base_fee"] == str(int(before) * 12))


def test_the_second_of_two_operators_is_told(visit: Visit, server: Server) -> None:
    context = visit.page.context.browser.new_context()  # type: ignore[union-attr]
    other = Visit(context.new_page(), server)
    visit.sign_in(OPERATOR)
    other.sign_in(email_of(Role.ADMIN))
    first, second = visit.open("/admin/chains/56"), other.open("/admin/chains/56")
    first.get_by_label("Block delay").fill("21")
    second.get_by_label("Block delay").fill("33")
    save(first, "Save the change")
    second.get_by_role("button", name="Look at what it will do").click()
    if second.get_by_role("button", name="Save the change").count():
        second.get_by_role("button", name="Save the change").click()
    expect(second.get_by_text("meanwhile").first).to_be_visible()
    expect(second.locator("main")).to_contain_text("21")
    other.check_accessibility()
    visit.open("/admin/chains/56")
    assert first.get_by_label("Block delay").input_value() == "21"
    assert other.complaints == []
    context.close()
