"""Somebody's work in a browser, counted: every click, every field, and how long the pages took."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from playwright.sync_api import Download, Locator, Page

from tests.browser.looking import go


@dataclass
class Work:
    """A page that is used through this alone, so that the figures are what really happened.

    A field is typed into, or chosen from; a key that does something by itself (``/``, Enter) is a key. What
    is ticked or pressed is a click.
    """

    page: Page
    clicks: int = 0
    fields: int = 0
    keys: int = 0
    seconds: float = 0
    """From the first step to the end: the pages' time, for nobody thinks or types slowly here."""

    def click(self, place: str | Locator) -> None:
        """Press what stays on the page, or tick a box."""
        self._at(place).click()
        self.clicks += 1

    def go(self, place: str | Locator) -> None:
        """Press what leads to another page, and wait for that page."""
        go(self._at(place))
        self.clicks += 1

    def fill(self, place: str | Locator, text: str) -> None:
        """Type into a field."""
        self._at(place).fill(text)
        self.fields += 1

    def choose(self, place: str | Locator, value: str) -> None:
        """Choose from a list."""
        self._at(place).select_option(value)
        self.fields += 1

    def press(self, key: str) -> None:
        """A key, wherever the focus is."""
        self.page.keyboard.press(key)
        self.keys += 1

    def paste(self, text: str) -> None:
        """Paste where the focus is."""
        self.page.keyboard.insert_text(text)
        self.fields += 1

    def download(self, place: str | Locator) -> Download:
        """Press what sends a file."""
        with self.page.expect_download() as download:
            self.click(place)
        return download.value

    def _at(self, place: str | Locator) -> Locator:
        return self.page.locator(place) if isinstance(place, str) else place


@dataclass
class Ledger:
    """What each job took."""

    lines: list[tuple[str, Work]] = field(default_factory=list)

    @contextmanager
    def job(self, name: str, page: Page) -> Iterator[Work]:
        """One job, from here to the end of the block."""
        work, started = Work(page), time.monotonic()
        yield work
        work.seconds = time.monotonic() - started
        self.lines.append((name, work))

    def table(self) -> str:
        """A line for each job."""
        rows = ["", "| job | clicks | fields | keys | seconds of the pages |", "|---|---:|---:|---:|---:|"]
        rows += [
            f"| {name} | {work.clicks} | {work.fields} | {work.keys} | {work.seconds:.1f} |"
            for name, work in self.lines
        ]
        return "\n".join(rows)
