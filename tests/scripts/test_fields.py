"""The pages of operations have the fields of the OpenAPI document."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.docs_site.build import OTHERS
from scripts.docs_site.pages import Library
from scripts.fields import FIELDS, OPERATIONS, ROOT, tables

MADE = tables()


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.stem)
def test_fields_are_those_of_the_document(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == MADE[path], "run `make fields`"


def test_every_operation_has_its_fields() -> None:
    pages = {page.name for page in OPERATIONS.parent.glob("*.md")} - {OPERATIONS.name}
    assert pages == {path.name for path in MADE} == {path.name for path in FIELDS.iterdir()}


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.stem)
def test_no_page_lists_an_object_twice(path: Path) -> None:
    heads = re.findall(r"^\| (.+) \| type \| \|$", MADE[path], re.MULTILINE)
    assert len(heads) == len(set(heads))


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.stem)
def test_site_shows_fields_where_the_page_links_them(path: Path) -> None:
    library = Library(ROOT, OTHERS)
    source = f"docs/api/{path.name}"
    first, *_ = re.findall(r"^\| `[^|]+\| [^|]+ \|", MADE[path], re.MULTILINE)
    assert first in library.page(source)
    assert first in library.plain(source)
