"""The snippets of the pages: every block of code, those below headings named for languages, what they print.

A test module that runs blocks has them in its ``RUN``; ``test_every_snippet`` finds those that nobody runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent
from typing import Any

from scripts.docs_site.pages import LANGUAGES, lines_of

ROOT = Path(__file__).resolve().parents[2]
FENCES = {"curl": "sh", "TypeScript": "ts", "Python": "python"}
TYPED = {"docs/tutorial.md"}
"""Pages whose languages are not for the sandbox: a test of their own types them."""

KEY = "gwk_…"
"""Where a reader puts their API key."""

ANYTHING = "…"
"""In a shown answer: any text; at the end of a list: further entries."""

_HEADING = re.compile(r"^#+ (.*)$")
_FENCE = re.compile(r"^```(\w*)$")
_PRINTED = re.compile(r"^\s*(?:console\.log|print)\(.*\);?\s+(?://|#) (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Snippet:
    """One block of code. ``answer`` is the JSON that the page shows for it, where it is a curl."""

    page: str
    line: int
    language: str
    code: str
    answer: str | None = None

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def printed(self) -> str:
        """The lines that the page says it prints; several of one statement have commas between them."""
        return "\n".join(line for shown in _PRINTED.findall(self.code) for line in shown.split(", "))


@dataclass(frozen=True)
class Block:
    """A block of code, its language and the heading that it stands below."""

    heading: str
    fence: str
    line: int
    code: str
    page: str = ""

    @property
    def name(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """Every page that readers copy from."""
    found = [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "SECURITY.md",
        *(ROOT / "docs").rglob("*.md"),
    ]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def blocks_of(page: str, *fences: str) -> list[Block]:
    """The blocks of a page, such as ``docs/audit.md``: all, or those of some languages."""
    found = [replace(block, page=page) for block in blocks((ROOT / page).read_text())]
    return [block for block in found if not fences or block.fence in fences]


def block_of(page: str, beginning: str) -> Block:
    """The one block of a page whose code begins so."""
    (found,) = [block for block in blocks_of(page) if block.code.startswith(beginning)]
    return found


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    heading, fence, start, code = "", None, 0, list[str]()
    for number, (line, in_code) in enumerate(lines_of(text), 1):
        if not in_code:
            heading = titled[1] if (titled := _HEADING.match(line)) else heading
        elif fence is None:
            mark = _FENCE.match(line.strip())
            fence, start, code = (mark[1] if mark else ""), number, []
        elif line.strip() == "```":
            found.append(Block(heading, fence, start, dedent("\n".join(code))))
            fence = None
        else:
            code.append(line)
    return found


def tabs() -> Iterator[tuple[Block, Block | None]]:
    """Every block of code below the headings of languages, and the answer that the page shows for a curl."""
    for page in pages():
        if page in TYPED:
            continue
        found = blocks_of(page)
        for at, block in enumerate(found):
            if block.heading in LANGUAGES and block.fence != "json":
                assert block.fence == FENCES[block.heading], f"{block.name}: {block.fence}"
                yield block, shown_answer(found[at + 1 :]) if block.heading == "curl" else None


def snippets() -> list[Snippet]:
    """Every snippet of every page of the documentation, in their order."""
    return [
        Snippet(block.page, block.line, block.heading, block.code, answer.code if answer else None)
        for block, answer in tabs()
    ]


def shown_answer(following: list[Block]) -> Block | None:
    """The JSON that follows before the next curl."""
    for block in following:
        if block.heading == "curl" and block.fence != "json":
            return None
        if block.fence == "json":
            return block
    return None


def first_event(lines: Iterable[bytes]) -> Any:
    """The data of the first of the server-sent events."""
    return next(json.loads(line.removeprefix(b"data: ")) for line in lines if line.startswith(b"data: "))


def fits(shown: Any, answered: Any) -> bool:
    """Whether what a page shows is a part of an answer: fields may be left out, and what ``…`` stands for."""
    if shown == ANYTHING:
        return True
    if isinstance(shown, dict):
        return isinstance(answered, dict) and all(
            name in answered and fits(value, answered[name]) for name, value in shown.items()
        )
    if isinstance(shown, list):
        more = bool(shown) and shown[-1] == ANYTHING
        wanted = shown[:-1] if more else shown
        if not isinstance(answered, list) or (
            len(answered) < len(wanted) if more else len(answered) != len(wanted)
        ):
            return False
        return all(fits(one, other) for one, other in zip(wanted, answered, strict=False))
    return json.dumps(shown) == json.dumps(answered)
