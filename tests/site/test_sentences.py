"""No sentence of the documentation has more words than ``LONGEST``: many read it in a second language.

Sentences are those of paragraphs, items of lists and cells of tables, without code and addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.site.snippets import ROOT

DOCS = ROOT / "docs"
LISTS = {"licences.md"}
"""Made by a program: cells that list the names of packages."""
LONGEST = 30
"""Words that a sentence may have. A longer one is two."""

_CODE = re.compile(r"`[^`]+`")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_TAG = re.compile(r"<[^>]+>")
_END = re.compile(r"(?<=[.!?])[)\"*_]*\s+")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs)\.")
_QUOTED = re.compile(r"^\s*>\s?")
_START = re.compile(r"\s*(?:[-*+]|\d+\.)\s+")
_SEPARATOR = re.compile(r"\s*\|[\s|:-]+\|?\s*")


@dataclass(frozen=True)
class Sentence:
    """A sentence and the line that its paragraph, item or row starts at."""

    line: int
    text: str

    @property
    def words(self) -> int:
        return sum(any(character.isalnum() for character in word) for word in self.text.split())


def sentences(page: Path) -> list[Sentence]:
    """Every sentence of a page of Markdown, in its order."""
    return [
        Sentence(line, sentence.strip())
        for line, text in _pieces(page.read_text(encoding="utf-8"))
        for sentence in _END.split(_spoken(text))
        if sentence.strip()
    ]


def _spoken(text: str) -> str:
    """What is read of a piece: code is one word, of a link its text."""
    text = _LINK.sub(r"\1", _CODE.sub("code", text))
    return _ABBREVIATION.sub("that is", _TAG.sub("", text))


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Paragraphs, headings, items and cells, each with the line that it starts at."""
    start, lines, fenced = 0, list[str](), False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        row = line.lstrip().startswith("|")
        apart = fenced or fence or row or not line.strip() or line.startswith("#")
        if lines and (apart or _START.match(line)):
            yield start, " ".join(lines)
            lines = []
        if fence:
            fenced = not fenced
        elif fenced or not line.strip() or _SEPARATOR.fullmatch(line):
            continue
        elif row:
            for cell in _CODE.sub("code", line).replace(r"\|", "").strip().strip("|").split("|"):
                yield number, cell
        elif line.startswith("#"):
            yield number, line.lstrip("# ")
        else:
            start = start if lines else number
            item = _START.match(line)
            lines.append(_QUOTED.sub("", line[item.end() if item else 0 :], count=1).strip())


def too_long(folder: Path) -> list[str]:
    """Each sentence that has too many words, as ``page:line: how many: how it begins``."""
    pages = (page for page in sorted(folder.rglob("*.md")) if page.name not in LISTS)
    return [
        f"{page.relative_to(folder)}:{sentence.line}: {sentence.words} words: {sentence.text[:60]}"
        for page in pages
        for sentence in sentences(page)
        if sentence.words > LONGEST
    ]


def test_no_sentence_is_too_long() -> None:
    assert too_long(DOCS) == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_first_pages_have_short_sentences(page: str) -> None:
    assert [each for each in sentences(ROOT / page) if each.words > LONGEST] == []
