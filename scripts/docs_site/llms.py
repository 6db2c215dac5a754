"""``llms.txt``: the pages of the documentation as a list for language models (https://llmstxt.org).

Its links are relative to the gateway's address, and lead to the pages as Markdown, which is below ``/docs/``.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

from scripts.docs_site.nav import Entry
from scripts.docs_site.pages import Library

NAME: Final = "llms.txt"

_PURPOSE: Final = re.compile(r"^\*\*([\w-]+ for \w+)\.\*\* After this page you can (.+?)\.$", re.MULTILINE)
_DETAILS: Final = (
    "The links lead to Markdown. [openapi.json](openapi.json) describes every operation for programs. "
    "Begin with the operations; the rules behind every answer are in docs/interface.md."
)
_CAN_BE_LEFT_OUT: Final = "Optional"
"""The heading that the format has for what a reader with little room leaves out."""


def llms_text(library: Library, menu: list[Entry], settings: Path) -> str:
    """The list, in the order of the site's navigation. Its last section is the one that can be left out.

    :param settings: of the site, with its name and description.
    """
    site = tomllib.loads(settings.read_text(encoding="utf-8"))
    sources = {library.place(source): source for source in library.sources()}
    lines = [f"# {site['site_name']}", "", f"> {site['site_description']}", "", _DETAILS]
    for section in menu:
        ((title, entries),) = section.items()
        lines += ["", f"## {_CAN_BE_LEFT_OUT if section is menu[-1] else title}", ""]
        for entry in entries:
            ((name, place),) = entry.items()
            address = place.removeprefix("/") if place.startswith("/") else f"docs/{place}"
            lines.append(f"- [{name}]({address}){_purpose(library, sources.get(place))}")
    return "\n".join(lines) + "\n"


def _purpose(library: Library, source: str | None) -> str:
    """What a page says of itself in its first line: what one can do after it, its kind and its reader."""
    text = "" if source is None else (library.root / source).read_text(encoding="utf-8")
    found = _PURPOSE.search(re.sub(r"\]\([^)]*\)", "]", text).replace("`", ""))
    return f": {found[2]} ({found[1].lower()})" if found else ""


def write_pages(library: Library, site: Path) -> None:
    """Write every page as Markdown next to its place on the site, with links to the others as Markdown."""
    for source in library.sources():
        page = site / library.place(source)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(library.plain(source), encoding="utf-8")
