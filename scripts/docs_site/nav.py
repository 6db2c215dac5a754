"""The entries of the site's navigation: sections of pages, in the order of ``theme/nav.toml``.

An entry is a page, a pattern such as ``docs/decisions/*.md``, or a name with a page or an address of the
gateway. A pattern lists what no other entry lists. A page without a name has its first heading as its name.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from scripts.docs_site.failure import CannotBuild
from scripts.docs_site.pages import Library

Entry = dict[str, Any]


def navigation(library: Library, plan: Path) -> list[Entry]:
    """The sections, each with its pages by title.

    :raises CannotBuild: a page is listed twice or not at all.
    """
    sections = tomllib.loads(plan.read_text(encoding="utf-8"))["section"]
    named = [
        page for section in sections for page, _ in map(_page_and_name, section["pages"]) if "*" not in page
    ]
    listed: list[str] = []
    made: list[Entry] = []
    for section in sections:
        entries: list[Entry] = []
        for page, name in map(_page_and_name, section["pages"]):
            if page.startswith("/"):
                entries.append({name: page})
                continue
            found = [page] if "*" not in page else matching(library, page, named)
            listed += found
            entries += [{name or title(library, source): library.place(source)} for source in found]
        made.append({section["title"]: entries})
    wrong = {page for page in listed if listed.count(page) > 1} | set(library.sources()) ^ set(listed)
    if wrong:
        raise CannotBuild(f"{plan}: must list each page once: {', '.join(sorted(wrong))}")
    return made


def _page_and_name(page: str | dict[str, str]) -> tuple[str, str]:
    """The page or address of an entry, and its name there."""
    if isinstance(page, str):
        return page, ""
    ((name, address),) = page.items()
    return address, name


def matching(library: Library, pattern: str, named: list[str]) -> list[str]:
    """The pages of a pattern that are not named themselves."""
    found = sorted(path.relative_to(library.root).as_posix() for path in library.root.glob(pattern))
    return [page for page in found if page not in named]


def title(library: Library, source: str) -> str:
    """The first heading of a page, without marks of code."""
    text = (library.root / source).read_text(encoding="utf-8")
    heading = re.search(r"^# +(.*?) *$", text, re.MULTILINE)
    if not heading:
        raise CannotBuild(f"{source}: has no heading")
    return heading[1].replace("`", "")


def as_toml(entries: list[Entry]) -> str:
    """The navigation as a value of TOML: its tables of one name have JSON's strings."""
    return f"[{', '.join(_entry(*item) for entry in entries for item in entry.items())}]"


def _entry(name: str, value: str | list[Entry]) -> str:
    inner = as_toml(value) if isinstance(value, list) else json.dumps(value)
    return f"{{ {json.dumps(name, ensure_ascii=False)} = {inner} }}"
