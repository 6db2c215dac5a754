"""The documentation in a browser: read, searched, on a phone, in both themes, without a request elsewhere."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Literal

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from config import DOCS_SITE
from scripts.docs_site.build import OTHERS, ROOT, ensure_site
from scripts.docs_site.pages import Library
from tests.browser.conftest import Visit
from tests.browser.looking import PHONE, accessibility, findings

pytestmark = pytest.mark.system

OF_THE_GENERATOR = ("scrolls at 1280: CODE",)
"""Long lines of code scroll in their frame."""

LARGE: ViewportSize = {"width": 1440, "height": 900}
NARROW: ViewportSize = {"width": 360, "height": 800}

COLOUR_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

MOST_SEEN = 7
"""So many operations are in view on a phone when the page to try them opens."""

SLOW = 30_000
"""Milliseconds for scripts of a megabyte, on a machine that does other things, too."""

FIELDS: tuple[Literal["textbox", "combobox", "listbox"], ...] = ("textbox", "combobox", "listbox")

BROKEN_WORDS = """() => {
  const found = [], range = document.createRange();
  for (const cell of document.querySelectorAll(".md-typeset td, .md-typeset th")) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      for (const word of texts.currentNode.data.matchAll(/[\\p{L}\\p{N}_]+/gu)) {
        range.setStart(texts.currentNode, word.index);
        range.setEnd(texts.currentNode, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].filter(each => each.width).map(each => each.top));
        if (lines.size > 1) found.push(word[0]);
      }
    }
  }
  return found;
}"""
"""Words in tables that are on more than one line."""

MANY = 30
"""The site has more pages with tables than this."""

MERMAID = re.compile("^```mermaid$(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE_WITH_PICTURES = "life-of-a-transfer/"
LEAST_TEXT = 10.9
"""CSS pixels: the smallest letters of a picture on a phone."""

OPEN_SHADOWS = """
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) {
    return attach.call(this, { ...options, mode: "open" });
  };
"""
"""The generator draws where neither axe-core nor a test may look otherwise."""

LEAST_CONTRAST = 4.5
"""Of words and what is behind them (WCAG 1.4.3)."""

PICTURES = """() => {
  const light = colour => {
    const [red, green, blue] = colour.match(/[\\d.]+/g).slice(0, 3).map(Number).map(part => part / 255)
      .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  };
  const ground = light(getComputedStyle(document.body).backgroundColor);
  const contrast = each => {
    const own = light(getComputedStyle(each).fill);
    return Math.max(own, ground) / Math.min(own, ground);
  };
  return [...document.querySelectorAll("div.mermaid")].map(frame => {
    const picture = frame.shadowRoot.querySelector("svg"), box = picture.getBoundingClientRect();
    const named = name => picture.getElementById(picture.getAttribute(name))?.textContent.trim() ?? "";
    const words = [...picture.querySelectorAll("text, tspan, p, b")]
      .filter(each => !each.children.length && each.textContent.trim());
    const outside = words.map(each => [each.textContent, each.getBoundingClientRect()])
      .filter(([, { left, right }]) => left < box.left - 1 || right > box.right + 1);
    const scale = box.width / picture.viewBox.baseVal.width;
    return {
      title: named("aria-labelledby"),
      description: named("aria-describedby"),
      right: box.right,
      smallest: Math.min(...words.map(each => parseFloat(getComputedStyle(each).fontSize))) * scale,
      outside: outside.map(([text]) => text),
      faintest: Math.min(...words.filter(each => each instanceof SVGElement).map(contrast), 21),
    };
  });
}"""
"""What can be read in each picture, and which of its words are cut off. axe-core does not see the colours of
words that are drawn (SVG): they are compared with the page, which is behind them."""


TABLES = """() => [...document.querySelectorAll("article table")].flatMap(table => {
  const frame = table.closest(".md-typeset__scrollwrap");
  const name = table.innerText.slice(0, 30);
  if (!frame) return [`${name}: has no frame`];
  const hidden = frame.scrollWidth - frame.clientWidth;
  frame.scrollLeft = frame.scrollWidth;
  const { left, right } = frame.getBoundingClientRect();
  const reached = table.getBoundingClientRect().right <= right + 1;
  frame.scrollLeft = 0;
  const cells = [...table.querySelectorAll("td, th")];
  const clipped = cells.filter(each => each.scrollWidth > each.clientWidth + 1);
  const outside = left < 0 || right > document.documentElement.clientWidth + 1;
  return [
    ...(outside ? [`${name}: its frame is outside`] : []),
    ...(reached ? [] : [`${name}: its end cannot be reached`]),
    ...(clipped.length ? [`${name}: ${clipped[0].innerText.slice(0, 30)} is cut`] : []),
    ...(hidden > 1 ? [`${name}: scrolls`] : []),
    ...(hidden > 1 && !frame.hasAttribute("data-more") ? [`${name}: does not show that it goes on`] : []),
  ];
})"""
"""What is wrong with each table of a page, and which tables are wider than their frames."""


def pages_with_tables() -> list[str]:
    """The paths of such pages below ``/docs/``."""
    pages = sorted(page for page in DOCS_SITE.rglob("index.html") if "<table>" in page.read_text())
    return [f"{page.parent.relative_to(DOCS_SITE)}/".removeprefix("./") for page in pages]


def pages_with_pictures() -> dict[str, int]:
    """How many pictures each page has, by its path below ``/docs/``."""
    library = Library(ROOT, OTHERS)
    found: dict[str, int] = {}
    for source in library.sources():
        if count := len(MERMAID.findall((ROOT / source).read_text())):
            found[f"{library.place(source).removesuffix('.md')}/".replace("index/", "")] = count
    return found


def drawn(visit: Visit, path: str) -> Page:
    """A page whose pictures are drawn, and can be looked into."""
    visit.page.add_init_script(OPEN_SHADOWS)  # once more for each page: it does the same
    page = visit.open(f"/docs/{path}")
    expect(page.locator("pre.mermaid")).to_have_count(0, timeout=SLOW)
    expect(page.locator("div.mermaid")).to_have_count(pages_with_pictures()[path])
    return page


@pytest.fixture(autouse=True, scope="module")
def site() -> None:
    """The site that the server serves."""
    ensure_site()


def scheme(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).colorScheme"))


def test_from_the_root_to_an_operation(visit: Visit) -> None:
    page = visit.open("/")
    assert page.url.endswith("/docs/")
    page.get_by_role("link", name="quick start").first.click()
    expect(page.get_by_role("heading", name="Quick start", level=1)).to_be_visible()
    page.get_by_role("link", name="API operations", exact=True).first.click()
    page.locator("article").get_by_role("link", name="getTransferStatus", exact=True).click()
    expect(page.get_by_role("heading", name="getTransferStatus: status of a transfer")).to_be_visible()
    page.get_by_text("Python", exact=True).first.click()
    expect(page.get_by_text("import httpx").first).to_be_visible()


def test_error_is_found(visit: Visit) -> None:
    """By its word and its code. The index is read at the first search, what draws pictures only for them."""
    read: list[str] = []
    visit.page.on("response", lambda answer: read.append(answer.url.rpartition("/")[2]))
    page = visit.open("/docs/quick-start/")
    page.wait_for_load_state("networkidle")
    assert "theme.js" in read
    assert not [name for name in read if name.startswith(("search.json", "mermaid", "pictures"))]
    with page.expect_response("**/search.json"):
        page.get_by_role("button", name="Search").click()
    for searched in ("1005", "amount_under_minimum"):
        page.get_by_role("combobox").fill(searched)
        found = page.get_by_role("option").first
        expect(found).to_contain_text(searched, timeout=SLOW)
        expect(found).to_contain_text("Errors")
    found.click()
    page.wait_for_url("**/docs/errors/**")
    expect(page.locator("article").get_by_text(searched).first).to_be_visible()


def test_missing_page_leads_on(visit: Visit) -> None:
    page = visit.page
    answer = page.goto(f"{visit.base}/docs/no/such/page/")
    assert answer
    assert answer.status == HTTPStatus.NOT_FOUND
    expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
    assert [each.partition(":")[0] for each in visit.complaints] == ["console error"]  # of the status
    visit.complaints.clear()
    page.get_by_role("link", name="index of the documentation").click()
    page.wait_for_url("**/docs/")


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


def test_front_page_leads_on(visit: Visit) -> None:
    """It shows two pictures in the colours of the page; on a large screen the three ways on are in view."""
    page = visit.open("/docs/")
    for size, theme in ((PHONE, "light"), (LARGE, "dark")):
        page.set_viewport_size(size)
        page.get_by_title(f"switch to {theme}").click()
        shown = [each for each in page.locator("article img").all() if each.is_visible()]
        names = [str(each.get_attribute("src")).partition("#")[0] for each in shown]
        assert names == [f"images/dashboard-{theme}.png", f"images/followed-{theme}.png"]
        for each in shown:
            box = each.bounding_box()
            assert box
            assert box["width"] > size["width"] / 8
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        page.evaluate("scrollTo(0, 0)")
        expect(page.get_by_role("link", name="the quick start")).to_be_in_viewport()
    for name in ("I use it", "I operate it", "I maintain it"):
        expect(page.get_by_role("heading", name=name)).to_be_in_viewport()


def test_phone_has_navigation(visit: Visit) -> None:
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


def test_tabs_stay_in_their_frame(visit: Visit) -> None:
    page = visit.open("/docs/quick-start/")
    for size in (PHONE, LARGE):
        page.set_viewport_size(size)
        frame = page.locator(".tabbed-set").first.bounding_box()
        tabs = page.locator(".tabbed-labels").first.bounding_box()
        assert frame
        assert tabs
        assert frame["x"] <= tabs["x"]
        assert tabs["x"] + tabs["width"] <= frame["x"] + frame["width"]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "api/estimateAmt/",
        *(pytest.param(path, marks=pytest.mark.slow) for path in ("quick-start/", "errors/")),
    ],
)
def test_how_a_page_looks(visit: Visit, path: str) -> None:
    page = visit.open(f"/docs/{path}")
    assert [each for each in findings(page) if not each.startswith(OF_THE_GENERATOR)] == []


def test_every_picture_is_described() -> None:
    for source in Library(ROOT, OTHERS).sources():
        for picture in MERMAID.findall((ROOT / source).read_text()):
            assert "accTitle: " in picture, source
            assert "accDescr: " in picture, source


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=() if path == PAGE_WITH_PICTURES else pytest.mark.slow)
        for path in pages_with_pictures()
    ],
)
def test_how_pictures_look(visit: Visit, path: str) -> None:
    """A block that Mermaid cannot read is an error of the page's script, which ``visit`` notes."""
    page = drawn(visit, path)
    assert [each for each in findings(page) if not each.startswith(OF_THE_GENERATOR)] == []
    page.set_viewport_size(PHONE)
    frame = page.locator("div.mermaid .node rect, div.mermaid rect").first
    colours = set()
    for theme in COLOUR_SCHEMES:
        page.get_by_title(f"switch to {theme}").click()
        colours.add(frame.evaluate("each => getComputedStyle(each).fill"))
        for picture in page.evaluate(PICTURES):
            assert picture["title"], picture
            assert picture["description"], picture
            assert picture["right"] <= PHONE["width"], picture
            assert picture["smallest"] >= LEAST_TEXT, picture
            assert picture["outside"] == [], picture
            assert picture["faintest"] >= LEAST_CONTRAST, picture
    assert len(colours) == len(COLOUR_SCHEMES), "a picture has the theme of its page"


@pytest.mark.parametrize(
    "path",
    [
        "errors/",
        *(
            pytest.param(path, marks=pytest.mark.slow)
            for path in ("api/estimateAmt/", "sandbox/", "interface/status/", "operations/", "metrics/")
        ),
    ],
)
def test_narrow_phone_breaks_no_table_word(visit: Visit, path: str) -> None:
    visit.page.set_viewport_size(NARROW)
    page = visit.open(f"/docs/{path}")
    assert page.locator("article table").count()
    assert page.evaluate(BROKEN_WORDS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    assert accessibility(page) == []


@pytest.mark.slow
@pytest.mark.parametrize("size", [LARGE, PHONE], ids=["1440", "390"])
def test_no_table_is_cut(visit: Visit, size: ViewportSize) -> None:
    """On a large screen every table is as wide as it needs to be; on a phone it scrolls, and shows that."""
    visit.page.set_viewport_size(size)
    wrong: list[str] = []
    paths = pages_with_tables()
    assert len(paths) > MANY
    for path in paths:
        page = visit.open(f"/docs/{path}")
        expect(page.locator("article table").first).to_be_visible()
        expect(page.locator("article :not(.md-typeset__table) > table")).to_have_count(0)
        found = page.evaluate(TABLES)
        wrong += [f"{path}: {each}" for each in found if size is LARGE or not each.endswith(": scrolls")]
    assert wrong == []


def operation(page: Page, name: str) -> Locator:
    """An operation of the page to try requests, open."""
    place = page.locator(f"#operations-Transfers-{name}")
    place.locator(".opblock-summary-control").click(timeout=SLOW)
    expect(place.get_by_role("button", name="Execute")).to_be_visible()
    return place


@pytest.mark.parametrize(
    "size", [pytest.param(NARROW, id="narrow"), pytest.param(LARGE, id="wide", marks=pytest.mark.slow)]
)
def test_request_is_tried(visit: Visit, size: ViewportSize) -> None:
    """From the list of operations to the answer, which is in view, also below another operation's answer."""
    visit.page.set_viewport_size(size)
    page = visit.open("/docs/try/")
    assert page.title() == "Try the operations - Transfer gateway"
    names = page.locator(".opblock-summary-path")
    expect(names.nth(MOST_SEEN)).to_be_in_viewport(timeout=SLOW)
    assert names.nth(0).inner_text() == "/v2/estimateAmt"
    assert page.locator(".opblock.is-open").count() == 0
    locked = page.locator(".opblock").filter(has=page.locator(".authorization__btn"))
    assert set(locked.locator(".opblock-summary-path").all_inner_texts()) == {"/v2/webhooks"}
    expect(page.get_by_role("button", name="Authorize")).to_be_hidden()

    estimate = operation(page, "estimateAmt")
    expect(estimate.get_by_role("textbox", name="src_chain_id")).to_have_value("1")
    box = estimate.get_by_role("textbox", name="token_symbol").bounding_box()
    assert box
    assert size is LARGE or box["width"] > size["width"] / 2
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert accessibility(page) == []
    for role in FIELDS:
        assert page.get_by_role(role, name=re.compile("^$")).count() == 0

    for name, answered in {
        "estimateAmt": "999395562471907988034",
        "getTransferStatus": '"status": 5',
    }.items():
        place = estimate if name == "estimateAmt" else operation(page, name)
        place.get_by_role("button", name="Execute").click()
        answer = place.locator(".live-responses-table")
        expect(answer.locator(".response-col_status").last).to_contain_text("200")
        expect(answer.locator("pre", has_text=answered).first).to_be_in_viewport()
        expect(answer.locator(".response-col_status").last).to_be_in_viewport(ratio=0.1)
    assert page.get_by_text("[^").count() == 0, "a reader needs no regular expressions"
