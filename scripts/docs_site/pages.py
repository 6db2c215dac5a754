"""A page of the repository in the form for the generator.

GitHub and the generator read Markdown a little differently. A page is written for GitHub; here it is changed
so that the generator shows the same: headings keep GitHub's anchors, links that leave the folder of the
documentation lead to copies, headings named for languages become tabs, a picture for light and dark becomes
two, of which one is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Final
from urllib.parse import urlsplit

from scripts.docs_site.failure import CannotBuild

LANGUAGES: Final = ("curl", "TypeScript", "Python")
"""Headings of these names, each followed by code, are tabs on the site."""

_FENCE: Final = re.compile(r"^ *(```|~~~)")
_HEADING: Final = re.compile(r"^(#{1,6}) +(.*?) *$")
_ANCHOR: Final = re.compile(r'^<a id="([\w-]+)"></a>$')
_LINK: Final = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
_CODE: Final = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_ITEM: Final = re.compile(r"^ {0,3}(?:[-*+]|1[.)]) +\S")
_ANY_ITEM: Final = re.compile(r"^ {0,3}(?:[-*+]|\d+[.)]) +\S")
_FIELDS: Final = re.compile(r"^\[[^\]]+\]\(\.\./\.\./(scripts/docs_site/fields/\w+\.md)\)$", re.MULTILINE)
_PICTURE: Final = re.compile(
    r'<picture><source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">'
    r'<img src="(?P<light>[^"]+)" alt="(?P<alt>[^"]+)"(?: width="[^"]+")?></picture>'
)
_LANGUAGE: Final = re.compile(rf"^(#+) ({'|'.join(LANGUAGES)})$")


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading that occurs once on its page."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def anchors(text: str) -> dict[str, str]:
    """The anchors of a page, each with its anchor on the site's page.

    A heading with an explicit anchor before it has only that one on the site; every other has GitHub's.
    """
    named: dict[str, str] = {}
    headings: dict[str, str] = {}
    before = ""
    for line, code in lines_of(text):
        if code:
            continue
        if heading := _HEADING.match(line):
            of_github = numbered(slug(heading[2]), headings)
            headings[of_github] = before or of_github
        before = own[1] if (own := _ANCHOR.match(line)) else ""
        named |= {each: each for each in re.findall(r'<a id="([\w-]+)"></a>', line)}
    return headings | named


def numbered(name: str, taken: dict[str, str]) -> str:
    """The name, with a number after it if it is taken, as GitHub counts."""
    count, tried = 0, name
    while tried in taken:
        count += 1
        tried = f"{name}-{count}"
    return tried


def lines_of(text: str) -> Iterator[tuple[str, bool]]:
    """Each line with whether it belongs to a block of code."""
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        yield line, bool(fence or mark)
        if mark and not fence:
            fence = mark[1]
        elif mark and fence == mark[1]:
            fence = ""


@dataclass
class Library:
    """The content of the site: the repository's pages, and the files that they link to."""

    root: Path
    """The repository."""

    others: dict[str, str]
    """Pages outside of ``docs/`` that the site has, too, each with its place on the site."""

    copied: set[str] = field(default_factory=set)
    """Other files of the repository that pages link to. They are served unchanged, below ``files/``."""

    _anchors: dict[str, dict[str, str]] = field(default_factory=dict)

    def sources(self) -> list[str]:
        """The pages, as paths in the repository."""
        docs = sorted(path.relative_to(self.root).as_posix() for path in (self.root / "docs").rglob("*.md"))
        return [*docs, *self.others]

    def place(self, source: str) -> str:
        """Where a file of the repository is on the site.

        :raises CannotBuild: there is none.
        """
        path = self.root / source
        if path.is_dir():
            return self.place(f"{source}/README.md")
        if source in self.others:
            return self.others[source]
        if source.startswith("docs/"):
            inner = PurePosixPath(source).relative_to("docs")
            return str(inner.with_name("index.md") if inner.name == "README.md" else inner)
        if not path.is_file():
            raise CannotBuild(f"there is no {source}, to which a page links")
        self.copied.add(source)
        # The generator would treat it as a page of the site.
        return f"files/{source}.txt" if source.endswith(".md") else f"files/{source}"

    def page(self, source: str) -> str:
        """A page in the form for the generator. ``source`` is its path in the repository."""
        text = self._text(source)
        steps: tuple[Callable[[str], str], ...] = (
            tabbed,
            pictured,
            with_ids,
            spaced,
            lambda page: self._linked(source, page),
        )
        for step in steps:
            text = step(text)
        return text

    def plain(self, source: str) -> str:
        """A page as it is in the repository, with links to the places of the site."""
        return self._linked(source, _PICTURE.sub(r"![\g<alt>](\g<light>)", self._text(source)))

    def _text(self, source: str) -> str:
        """The text of a page, with the fields of the operation (``make fields``) where it links to them."""
        text = (self.root / source).read_text(encoding="utf-8")
        return _FIELDS.sub(lambda link: (self.root / link[1]).read_text(encoding="utf-8"), text)

    def _linked(self, source: str, text: str) -> str:
        return outside_code(text, lambda part: _LINK.sub(lambda link: self._target(source, link[1]), part))

    def _target(self, source: str, target: str) -> str:
        parts = urlsplit(target)
        if parts.scheme or target.startswith("/"):
            return target
        other = normpath(str(PurePosixPath(source).parent / parts.path)) if parts.path else source
        place, anchor = "", parts.fragment
        if parts.path:
            place = relpath(self.place(other), str(PurePosixPath(self.place(source)).parent))
        if anchor and other.endswith(".md"):
            if other not in self._anchors:
                self._anchors[other] = anchors((self.root / other).read_text(encoding="utf-8"))
            anchor = self._anchors[other].get(anchor, anchor)
        return f"{place}#{anchor}" if anchor else place


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """The text with a change made everywhere outside of code."""
    made: list[str] = []
    for line, code in lines_of(text):
        if code:
            made.append(line)
            continue
        at = 0
        parts: list[str] = []
        for span in _CODE.finditer(line):
            parts += [change(line[at : span.start()]), span[0]]
            at = span.end()
        made.append("".join([*parts, change(line[at:])]))
    return "\n".join(made) + "\n"


def pictured(text: str) -> str:
    """The text with each picture for light and dark as two, of which the generator shows one."""
    light = r"![\g<alt>](\g<light>#only-light){ loading=lazy }"
    dark = r"![\g<alt>](\g<dark>#only-dark){ loading=lazy }"
    return outside_code(text, lambda part: _PICTURE.sub(light + dark, part))


def with_ids(text: str) -> str:
    """The text with the anchor of every heading written out."""
    known = anchors(text)
    seen: dict[str, str] = {}
    made: list[str] = []
    for line, code in lines_of(text):
        heading = None if code else _HEADING.match(line)
        if heading:
            of_github = numbered(slug(heading[2]), seen)
            seen[of_github] = of_github
            own = _ANCHOR.match(made.pop()) if made and _ANCHOR.match(made[-1]) else None
            made.append(f"{line} {{ #{own[1] if own else known[of_github]} }}")
        else:
            made.append(line)
    return "\n".join(made) + "\n"


def spaced(text: str) -> str:
    """The text with an empty line before each list that follows a line of text."""
    made: list[str] = []
    in_list, after_text = False, False
    for line, code in lines_of(text):
        if not code and line.strip():
            if _ITEM.match(line) and after_text and not in_list:
                made.append("")
            indented = line.startswith("  ")
            in_list = bool(_ANY_ITEM.match(line)) or (in_list and (indented or after_text))
        after_text = bool(line.strip())
        made.append(line)
    return "\n".join(made) + "\n"


def tabbed(text: str) -> str:
    """The text with the code below headings named for languages as tabs."""
    made: list[str] = []
    tab = False
    for line, code in lines_of(text):
        language = None if code else _LANGUAGE.match(line)
        if language:
            made += ["", f'=== "{language[2]}"', ""]
            tab = True
        elif tab and (code or not line.strip()):
            made.append(f"    {line}".rstrip())
        else:
            tab = False
            made.append(line)
    return "\n".join(made) + "\n"
