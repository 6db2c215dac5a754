"""Prepares a generator's page for serving: without scripts and styles, so that its policy can forbid them.

Each inline script becomes a file that is named by its content and loaded at the same place. Columns of tables
are aligned by an attribute, and one without a name has no empty heading, which screen readers would read.
Long code in a table may break after its separators, and each list of pages has its shown name.

The page for a missing address is shown at any depth: its links begin at the gateway's root.
"""

from __future__ import annotations

import hashlib
import re
from functools import partial
from pathlib import Path
from posixpath import relpath
from typing import Final

from app.api.docs.views import MISSING_PAGE
from scripts.docs_site.failure import CannotBuild

SCRIPTS: Final = "assets/inline"

_INLINE: Final = re.compile(r"<script>(.+?)</script>", re.DOTALL)
_STYLED: Final = re.compile(r"<style|\sstyle=|\son[a-z]+=", re.IGNORECASE)
_ALIGNED: Final = re.compile(r' style="text-align: (left|center|right);"')
_CODE: Final = re.compile(r"<(code|pre)\b.*?</\1>", re.DOTALL)
_CELL: Final = re.compile(r"<t[dh]\b[^>]*>.*?</t[dh]>", re.DOTALL)
_CELL_CODE: Final = re.compile(r"(<code>)([^<]*)(</code>)")
_ROOTED: Final = re.compile(r'(<[^<>]*\s(?:href|src|action)=")(/(?!/)[^"#?]*)([^"]*")')
_CONFIGURED: Final = re.compile(r'("(?:base|search)":")/')
_SEPARATOR: Final = re.compile(r"(?<=\w)(?:[/,]|&amp;)(?=\w)")
_LISTED: Final = re.compile(
    r'(<nav class="md-nav"[^>]* aria-labelledby=")(__nav_\w+_label)("[^>]*>\s*<label class="md-nav__title")'
)


def finish(site: Path) -> None:
    """Rewrite every page of the built site in place.

    :raises CannotBuild: a page contains a style or a handler, which the policy forbids.
    """
    if (missing := site / "404.html").exists():
        missing.rename(site / MISSING_PAGE)
    for page in sorted(site.rglob("*.html")):
        text = _ALIGNED.sub(r' align="\1"', page.read_text(encoding="utf-8"))
        text = named(breakable(text.replace("<th></th>", "<td></td>")))
        inner = page.relative_to(site).as_posix()
        linked = rooted if inner == MISSING_PAGE else partial(relative, inner)
        page.write_text(linked(without_scripts(site, inner, text)), encoding="utf-8")
        if found := _STYLED.search(_CODE.sub("", re.sub(r">[^<]*<", "><", text))):
            raise CannotBuild(f"{inner}: {found[0].strip()} is not allowed in a page")


def relative(page: str, text: str) -> str:
    """The page with relative links in place of those from the gateway's root, which may be below a path."""
    folder = f"/docs/{page}".rpartition("/")[0]

    def turned(link: re.Match[str]) -> str:
        slash = "/" if link[2].endswith("/") else ""
        return f"{link[1]}{relpath(link[2], folder)}{slash}{link[3]}"

    return _ROOTED.sub(turned, text)


def rooted(text: str) -> str:
    """The page with links from the gateway's root in place of those from the root of the site."""

    def turned(link: re.Match[str]) -> str:
        of_gateway = link[2].startswith(("/docs/", "/openapi.json"))
        return f"{link[1]}{'' if of_gateway else '/docs'}{link[2]}{link[3]}"

    text = _ROOTED.sub(turned, text)
    return _CONFIGURED.sub(r"\1/docs/", text)


def breakable(text: str) -> str:
    """The page whose code in tables may break after a slash, a comma and an ampersand."""

    def in_code(code: re.Match[str]) -> str:
        return code[1] + _SEPARATOR.sub(r"\g<0><wbr>", code[2]) + code[3]

    return _CELL.sub(lambda cell: _CELL_CODE.sub(in_code, cell[0]), text)


def named(text: str) -> str:
    """The page whose lists of pages are named by their titles: their labels are only arrows."""
    return _LISTED.sub(r'\1\2_title\3 id="\2_title"', text)


def without_scripts(site: Path, page: str, text: str) -> str:
    """The page with its inline scripts as files, which are written here."""

    def moved(script: re.Match[str]) -> str:
        name = f"{hashlib.sha256(script[1].encode()).hexdigest()[:8]}.js"
        file = site / SCRIPTS / f"script.{name}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script[1], encoding="utf-8")
        address = relpath(f"{SCRIPTS}/{file.name}", str(Path(page).parent))
        if page == MISSING_PAGE:
            address = f"/{address}"
        return f'<script src="{address}"></script>'

    return _INLINE.sub(moved, text)
