"""From one page to the next, and what is wrong with a page as it is drawn.

A click returns before the page that it leads to is there, so what is asked next may be answered by the page
that is left. What leads to another page is pressed by ``go``, or done within ``leaving``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import axe_playwright_python
from playwright.sync_api import Locator, Page, ViewportSize, expect

AXE: Final = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
"""The checker, as its wheel has it."""

_OPTIONAL: Final = ("label-content-name-mismatch", "target-size")
"""Rules that axe-core leaves out unless they are named: names by which buttons are spoken to (WCAG 2.5.3),
and how large what is pressed has to be (2.5.8)."""

_ALL_RULES: Final = {
    "resultTypes": ["violations"],
    "rules": {name: {"enabled": True} for name in _OPTIONAL},
}
COLOURS: Final = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
}
"""The rules that the other theme can break: nothing but colours differs."""


@dataclass(frozen=True, slots=True)
class Screen:
    """A width in CSS pixels, and how many pixels of the screen each has."""

    name: str
    width: int
    scale: int = 1


DESKTOP_WIDTH: Final = 1280
SCREENS: Final = (
    Screen("390", 390),
    Screen("200 %", DESKTOP_WIDTH // 2, scale=2),
    Screen("768", 768),
    Screen("1280", DESKTOP_WIDTH),
)
"""A phone, a desktop at a zoom of 200 %, a tablet, a desktop: the last is what the tests leave behind."""

_HEIGHT: Final = 860

_WIDER: Final = """() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  return [...document.querySelectorAll("body *")]
    .filter(each => each.getBoundingClientRect().right > root.clientWidth + 1)
    .slice(-3).map(each => each.outerHTML.slice(0, 120));
}"""
"""The innermost elements that widen the page."""

_SCROLLS: Final = """() => [...document.querySelectorAll("main *")]
  .filter(each => each.checkVisibility() && each.scrollWidth > each.clientWidth + 1
    && ["auto", "scroll"].includes(getComputedStyle(each).overflowX)
    && !["TEXTAREA", "PRE"].includes(each.tagName))
  .map(each => `${each.getAttribute("aria-label") || each.className || each.tagName}: `
    + `${each.scrollWidth} in ${each.clientWidth}`)"""
"""What is open and has to be pushed sideways. Code and typed text may be: they have lines of their own."""


@contextmanager
def leaving(page: Page) -> Iterator[None]:
    """What is done within leads to another page, which is loaded at the end, its scripts included."""
    page.wait_for_load_state()  # else the page that is left could still be said to be loaded
    with page.expect_event("load"):
        yield


def go(place: Locator) -> None:
    """Press what leads to another page, and wait until that page is loaded."""
    with leaving(place.page):
        place.click()


def saved(page: Page) -> None:
    """The page says that the change was made."""
    expect(page.locator("main .message-success").first).to_be_visible()


def save(place: Locator) -> None:
    """Press what saves a change: the next page says that it was made."""
    go(place)
    saved(place.page)


def accessibility(page: Page, options: dict[str, Any] = _ALL_RULES) -> list[str]:
    """Findings of axe-core of every severity, a line each."""
    page.wait_for_load_state()
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate("options => axe.run(options).then(results => results.violations)", options)
    return [
        f"{item['id']} ({item['impact']}): {[node['html'][:120] for node in item['nodes'][:3]]}"
        for item in found
    ]


def findings(page: Page) -> list[str]:
    """Everything that is wrong with the page in both themes and at every width. It is left as it was."""
    found = accessibility(page)
    page.emulate_media(color_scheme="dark")
    found += [f"dark: {each}" for each in accessibility(page, COLOURS)]
    page.emulate_media(color_scheme="light")
    devices = page.context.new_cdp_session(page)
    for screen in SCREENS:
        size = {"width": screen.width, "height": _HEIGHT, "deviceScaleFactor": screen.scale, "mobile": False}
        devices.send("Emulation.setDeviceMetricsOverride", size)
        if wider := page.evaluate(_WIDER):
            found.append(f"wider than {screen.name}: {wider}")
        if screen.width == DESKTOP_WIDTH:
            found += [f"scrolls at {screen.name}: {each}" for each in page.evaluate(_SCROLLS)]
    devices.detach()
    return found


PHONE = ViewportSize(width=390, height=844)
