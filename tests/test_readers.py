"""Every page has one kind and one reader, and its first line names both."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))
READER = "newcomers|integrators|operators|maintainers"
KIND = "Tutorial|How-to|Reference|Explanation"
FIRST = re.compile(rf"\*\*(?:{KIND}) for (?:{READER})\.\*\* After this page you can .*\.")


@pytest.mark.parametrize("page", PAGES)
def test_page_names_kind_and_reader_in_first_line(page: str) -> None:
    title, first = (DOCS / page).read_text().splitlines()[:2]
    assert title.startswith("# ")
    assert FIRST.fullmatch(first)


def test_the_index_leads_to_every_page() -> None:
    """But for decisions, operations and the rules of the interface, which have lists of their own."""
    index = (DOCS / "README.md").read_text()
    apart = ("README.md", "api/", "decisions/", "interface/")
    assert [page for page in PAGES if f"]({page}" not in index and not page.startswith(apart)] == []


def test_decisions_are_short() -> None:
    assert {
        page.name: lines for page in DECISIONS if (lines := len(page.read_text().splitlines())) > 60
    } == {}


def test_decisions_have_their_parts() -> None:
    for page in DECISIONS:
        text = page.read_text()
        assert text.startswith(f"# {int(page.name[:4])}. "), page.name
        assert re.findall(r"^## (Context|Choice|Cost)$", text, re.MULTILINE) == ["Context", "Choice", "Cost"]


def test_first_decision_lists_later_decisions() -> None:
    first, *others = DECISIONS
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", first.read_text())
    assert sorted(listed) == [page.name for page in others]
