"""No sentence of the documentation has more words than ``LONGEST``: many read it in a second language."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site.sentences import LONGEST, Sentence, sentences
from tests.site.snippets import ROOT

DOCS = ROOT / "docs"
LISTS = {"licences.md"}
"""Made by a program: cells that list the names of packages."""

LONG = " ".join(["word"] * LONGEST)


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


def test_long_sentence_is_found_anywhere(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "b.md").write_text(f"{LONG} more.\n")
    (tmp_path / "a.md").write_text(
        f"# Title\n{LONG}. {LONG}\nmore.\n\n- {LONG}\n- {LONG}\n  more\n\n"
        f"| a | {LONG} more |\n|---|---|\n| {LONG} | more |\n\n```\n{LONG} more\n```\n1. {LONG} `one word`\n"
    )
    assert [each.split(": word word")[0] for each in too_long(tmp_path)] == [
        "a.md:2: 31 words",
        "a.md:6: 31 words",
        "a.md:9: 31 words",
        "a.md:16: 31 words",
        "folder/b.md:1: 31 words",
    ]


def test_what_a_sentence_is(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text(
        '<a id="x"></a>\n## Head\nOne [two three](a.md#b), `four. five` six!\nSeven (eight). 9 − 10.\n'
    )
    assert sentences(page) == [
        Sentence(2, "Head"),
        Sentence(3, "One two three, code six!"),
        Sentence(3, "Seven (eight)."),
        Sentence(3, "9 − 10."),
    ]
    assert [each.words for each in sentences(page)] == [1, 5, 2, 2]
