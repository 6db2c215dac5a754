"""What no sentence of a page has: no ids of chains, no names of ours, no times in another form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Final

WRONG: Final[Mapping[str, re.Pattern[str]]] = {
    "a chain by its id": re.compile(r"\bchains? \d+\b", re.I),
    "a route by ids": re.compile(r"\bof \S+(?:,| from) \d+ to \d+\b"),
    "an action's name": re.compile(
        r"\b(?:network|watch|two_persons|operators?|events|sign_in|anomaly|webhook|sandbox|transfer)\.[a-z]+_?[a-z]*\b"
    ),
    "a column's name": re.compile(r"\b[a-z]+(?:_[a-z]+)+\b"),
    "a switch as yes and no": re.compile(r"\b(?:yes|no) → (?:yes|no)\b"),
    "our word for opening validators": re.compile(r"\bopening set", re.I),
    "a time as machines write it": re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d"),
    "a time without a zone's script": re.compile(r"\d\d:\d\d UTC"),
}
"""What no sentence has."""

NOT_SENTENCES: Final = frozenset({"script", "style", "code", "pre", "textarea", "option", "input"})
VOID: Final = frozenset({"input", "br", "img", "meta", "link", "hr", "path"})


class Sentences(HTMLParser):
    """The texts of a page that people read as sentences: not code, typed texts and what is copied."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open: list[bool] = []
        self.feed(page[page.index("<main") : page.index("</main>")] if "<main" in page else page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attrs}
        left_out = tag in NOT_SENTENCES or "mono" in of.get("class", "").split()
        if tag not in VOID:
            self._open.append(left_out)
        if not left_out and "aria-label" in of:
            # No script puts the times of a label into the reader's zone, so they name theirs.
            self.found.append(of["aria-label"].replace(" UTC", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID and self._open:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if data.strip() and not any(self._open):
            self.found.append(" ".join(data.split()))


def wrong_words(page: str) -> Iterator[str]:
    for sentence in Sentences(page).found:
        for what, pattern in WRONG.items():
            if match := pattern.search(sentence):
                yield f"{what}: {match[0]!r} in {sentence[:160]!r}"


READ_BY_CLIENTS: Final = "transfer_disabled"
"""A field of the transfer configs, which the help of a form names."""


def complaints(pages: Mapping[str, str]) -> str:
    """What is wrong on any of them, each once."""
    found = {words: path for path, page in pages.items() for words in wrong_words(page)}
    wrong = [f"{path}: {words}" for words, path in found.items() if READ_BY_CLIENTS not in words]
    return "\n".join(wrong[:40])
