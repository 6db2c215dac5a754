"""The documentation in a browser: read, searched, on a phone, in both themes, without a request elsewhere."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from scripts.docs_site.build import ensure_site
from tests.browser.conftest import Visit
from tests.browser.looking import findings

OF_THE_GENERATOR = ("landmark-unique", "scrolls at 1280: CODE")
"""Its nested lists are landmarks without a name, and long lines of code scroll in their frame."""

PHONE = {"width": 390, "height": 844}


@pytest.fixture(autouse=True, scope="module")
def site() -> None:
    """The site that the server serves."""
    ensure_site()


def scheme(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).colorScheme"))


@pytest.mark.soak("seconds of a browser; tests/site reads the pages")
def test_from_the_root_to_an_operation(visit: Visit) -> None:
    page = visit.open("/")
    assert page.url.endswith("/docs/")
    page.get_by_role("link", name="quick start").first.click()
    expect(page.get_by_role("heading", name="Quick start", level=1)).to_be_visible()
    page.get_by_role("link", name="The operations", exact=True).first.click()
    page.locator("article").get_by_role("link", name="getTransferStatus", exact=True).click()
    expect(page.get_by_role("heading", name="getTransferStatus: status of a transfer")).to_be_visible()
    page.get_by_text("Python", exact=True).first.click()
    expect(page.get_by_text("import httpx").first).to_be_visible()


@pytest.mark.soak("seconds of a browser; tests/api has the index")
def test_a_word_is_found(visit: Visit) -> None:
    page = visit.open("/docs/")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("combobox").fill("amount_under_minimum")
    found = page.get_by_role("option", name="amount_under_minimum").first
    expect(found).to_be_visible()
    found.click()
    page.wait_for_url("**/docs/errors/**")


@pytest.mark.soak("seconds of a browser; tests/site reads the pages")
def test_light_and_dark(visit: Visit) -> None:
    page = visit.open("/docs/")
    assert scheme(page) == "light"
    page.emulate_media(color_scheme="dark")
    page.reload()
    assert scheme(page) == "dark"
    page.get_by_title("switch to light").click()
    assert scheme(page) == "light"
    page.reload()
    assert scheme(page) == "light"
    # One choice for the console, the page to try requests and this one.
    assert page.evaluate("localStorage.getItem('console-theme')") == "light"
    visit.open("/docs/try/")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


@pytest.mark.soak("seconds of a browser")
def test_the_navigation_of_a_phone(visit: Visit) -> None:
    visit.page.set_viewport_size(PHONE)
    page = visit.open("/docs/errors/")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    link = page.get_by_role("link", name="Quick start")
    expect(link).not_to_be_in_viewport()
    page.locator("label[for=__drawer].md-header__button").click()
    page.locator("label[for=__nav_1][tabindex]").click()
    expect(link.last).to_be_in_viewport()
    link.last.click()
    page.wait_for_url("**/docs/quick-start/")


@pytest.mark.parametrize(
    "path", ["", "quick-start/", "life-of-a-transfer/", "api/estimateAmt/", "errors/", "refund-guide/"]
)
@pytest.mark.soak("every kind of page in a browser")
def test_how_a_page_looks(visit: Visit, path: str) -> None:
    page = visit.open(f"/docs/{path}")
    assert [each for each in findings(page) if not each.startswith(OF_THE_GENERATOR)] == []


@pytest.mark.soak("seconds of a script of a megabyte; its files are looked at in tests/api")
def test_a_request_is_tried(visit: Visit) -> None:
    page = visit.open("/docs/try/")
    page.get_by_role("button", name="TRY").first.click()
    expect(page.get_by_text("Response Status: OK:200")).to_be_visible()
    expect(page.get_by_text("999395562471907988034").first).to_be_visible()
