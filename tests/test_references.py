"""Every reference leads somewhere: links, anchors, names in modules, and the packages of docs/layout.md.

Pages are read whole, Python files by their comments and docstrings. ``dead_references(root)`` finds what
is not there; violations planted in a small tree prove that it finds each kind.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.repository import build, files

ROOT = Path(__file__).resolve().parent.parent

PAGES = {".md", ".toml", ".yaml", ".in", ".proto", ".sol", ".conf", ".env", ".service", ".sql", ".yml"}
PLAIN = {"Makefile", "run", ".gitignore"}
TOP = "app|bench|docs|migrations|proto|scripts|tests"

DOCUMENT = re.compile(r"(?<![\w./-])docs/[\w/-]+\.md(#[\w-]+)?")
LINK = re.compile(r"\]\(([^)\s]+)\)")
LABELLED = re.compile(r"\[[^\]]*\]\([^)\s]+\)")
ANCHOR = re.compile(r'<a id="([\w-]+)"></a>')
HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)
DOTTED = re.compile(
    r"(?<![\w./:@-])(?!app\.kubernetes\.io/)((?:app|bench|scripts|tests)(?:\.[A-Za-z_]\w*)+)(?![\w/(])"
)
MODULE = re.compile(r"(?<![\w./*{-])(\w+\.py)\b")
MEMBER = re.compile(r"`(\w+)(?:\(\))?`{1,2} (?:in|of) `{1,2}([\w/-]+\.py)`")
ROW = re.compile(r"^\| `(app/\w[\w/]*?)/?` \|", re.MULTILINE)


@dataclass(frozen=True)
class Tree:
    """The files of a repository."""

    root: Path

    @cached_property
    def files(self) -> list[Path]:
        return files(self.root)

    @cached_property
    def modules(self) -> set[str]:
        """File names of all Python modules."""
        return {path.name for path in self.files if path.suffix == ".py"}

    @cached_property
    def packages(self) -> set[str]:
        """Folders of the application that hold Python modules."""
        found = {path.parent for path in self.files if path.suffix == ".py"}
        return {
            path.relative_to(self.root).as_posix() for path in found if (self.root / "app") in path.parents
        }

    @cached_property
    def path(self) -> re.Pattern[str]:
        """A path from the root, or from app/ as ``latency/services``."""
        inner = {package.split("/")[1] for package in self.packages}
        return re.compile(rf"(?<![\w./%-])(?:{'|'.join([TOP, *sorted(inner)])})/[\w*][\w./*-]*")

    def has(self, path: str) -> bool:
        """Whether there is a file or folder at this path, seen from the root or from app/."""
        for base in (self.root, self.root / "app"):
            if "*" in path and any(base.glob(path)):
                return True
            if "*" not in path and ((base / path).exists() or (base / f"{path}.py").exists()):
                return True
        return False

    def defines(self, dotted: str) -> bool:
        """Whether the dotted name is a module, or something that a module defines."""
        parts = dotted.split(".")
        for length in range(len(parts), 0, -1):
            base = self.root.joinpath(*parts[:length])
            source = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
            if source.exists():
                return length == len(parts) or parts[length] in defined_in(source)
        return False


@cache
def defined_in(source: Path) -> set[str]:
    """The names that a module defines or imports at its top level."""
    names: set[str] = set()
    for node in ast.parse(source.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        else:
            names |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
    return names


def dead_references(root: Path) -> list[str]:
    """Every reference that leads nowhere, as ``path:line: what is wrong``."""
    tree = Tree(root)
    found: list[str] = []
    for path in tree.files:
        name = path.relative_to(root).as_posix()
        if path.suffix == ".py" and not any(faults(tree, path, path.read_text())):
            continue  # nothing in its comments either, which take ten times as long to find
        for number, line in said_in(path):
            found += [f"{name}:{number}: {fault}" for fault in faults(tree, path, line)]
    return [*found, *unnamed_packages(tree)]


def said_in(path: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines of a page, or of a Python file's comments and docstrings."""
    if path.suffix in PAGES or path.name in PLAIN:
        yield from enumerate(path.read_text().splitlines(), 1)
    elif path.suffix == ".py" and not path.name.endswith("_pb2.py"):
        yield from comments_of(path.read_text())


BEFORE_A_STATEMENT = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
BETWEEN_STATEMENTS = {tokenize.NL, tokenize.COMMENT}
"""Kinds of tokens: a string after these is no part of an expression."""


def comments_of(source: str) -> Iterator[tuple[int, str]]:
    """The numbered lines of comments, docstrings, and strings that are a statement."""
    lines, starts = source.splitlines(), True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
        elif token.type == tokenize.STRING and starts:
            for number in range(token.start[0], token.end[0] + 1):
                yield number, lines[number - 1]
        starts = token.type in BEFORE_A_STATEMENT or (starts and token.type in BETWEEN_STATEMENTS)


def faults(tree: Tree, path: Path, line: str) -> Iterator[str]:
    """What is wrong with the references in one line."""
    if path.suffix == ".md":
        yield from dead_links(path, line)
        line = LABELLED.sub("", line)
    for document in DOCUMENT.finditer(line):
        yield from dead_document(tree.root, *document[0].partition("#")[::2])
    for reference in tree.path.finditer(DOCUMENT.sub("", line)):
        named = reference[0].rstrip("./,:;-")
        if not tree.has(named):
            yield f"there is no {named}"
    for dotted in DOTTED.findall(line):
        if not tree.defines(dotted):
            yield f"there is no {dotted}"
    for member, module in MEMBER.findall(line):
        if (tree.root / module).exists() and member not in defined_in(tree.root / module):
            yield f"there is no {member} in {module}"
    for module in MODULE.findall(tree.path.sub("", line)):
        if module not in tree.modules:
            yield f"no module is called {module}"


def dead_links(page: Path, line: str) -> Iterator[str]:
    """Markdown links of a page to files or anchors that are not there."""
    for target in LINK.findall(line):
        parts = urlsplit(target)
        if not parts.scheme:
            yield from dead_document(page.parent, parts.path or page.name, parts.fragment)


def dead_document(folder: Path, name: str, anchor: str) -> Iterator[str]:
    """What is missing of a file and an anchor in it."""
    if not (folder / name).exists():
        yield f"there is no {name}"
    elif anchor and anchor not in anchors_of(folder / name):
        yield f"{name} has no anchor #{anchor}"


@cache
def anchors_of(page: Path) -> set[str]:
    """The anchors of a page: those written out, and those of its headings."""
    text = page.read_text()
    headings = (
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)
    )
    return {*ANCHOR.findall(text), *headings}


def unnamed_packages(tree: Tree) -> Iterator[str]:
    """Packages of the application without a line in the layout, with two, or with a line but not there."""
    layout = tree.root / "docs" / "layout.md"
    named = ROW.findall(layout.read_text()) if layout.exists() else []
    packages = {package for package in tree.packages if package.count("/") == 1}
    for package in sorted(packages - set(named)):
        yield f"docs/layout.md: {package}/ has no line in the table of packages"
    for package in sorted(set(named) - packages):
        yield f"docs/layout.md: there is no package {package}/"
    for package in sorted({package for package in named if named.count(package) > 1}):
        yield f"docs/layout.md: {package}/ has more than one line"


def test_no_reference_is_dead() -> None:
    assert list(dead_references(ROOT)) == []


RULES = sorted((ROOT / "docs" / "interface").glob("*.md"))
PLACE = re.compile(r'<a id="([\w-]+)"></a>\[[^\]]+\]\(([^)\s]+)\)')
"""An entry of docs/interface.md: an anchor, and where the rule is."""


@pytest.mark.parametrize("page", RULES, ids=lambda page: page.stem)
def test_every_interface_rule_is_linkable(page: Path) -> None:
    text = page.read_text()
    ids = ANCHOR.findall(text)
    assert len(ids) == len(set(ids))
    headings = re.findall(r"^(.*)\n##+ ", text, re.MULTILINE)
    assert headings
    assert all(ANCHOR.fullmatch(before) for before in headings)


def test_interface_leads_to_every_rule() -> None:
    index = (ROOT / "docs" / "interface.md").read_text()
    places = PLACE.findall(index)
    assert len(places) == len(ANCHOR.findall(index)) - 1, "an anchor of a heading, or one that leads nowhere"
    for page in RULES:
        name = f"interface/{page.name}"
        assert f"\n- **[{page.read_text().splitlines()[0].removeprefix('# ')}]({name})**: " in index
        led = {target for _, target in places}
        assert {f"{name}#{anchor}" for anchor in ANCHOR.findall(page.read_text())} <= led


LIVE = {
    "app/__init__.py": '"""Put together; see docs/layout.md#packages."""\n',
    "app/values/__init__.py": '"""Pure."""\n',
    "app/values/codes.py": '"""See docs/interface.md#errors. For ``app.transfers.rules.status.answer``."""\n',
    "app/transfers/__init__.py": "",
    "app/transfers/rules/status.py": (
        '"""As `values/codes` says, and tests/test_it.py."""\n\n'
        "def answer():\n    return 'app/nothing.py', 'docs/none.md'  # codes.py, app/*/codes.py\n"
    ),
    "tests/test_it.py": "PATHS = ['transfers/none.py', 'app.none.x']\n",
    "docs/layout.md": (
        "# Layout\n\n## Packages\n| package |\n| `app/values/` | x |\n| `app/transfers/` | x |\n\n"
        "[errors](interface.md#errors) [here](#packages) [out](https://example.org/app/x.md#y)\n`transfers/rules/status`\n"
    ),
    "docs/interface.md": '<a id="errors"></a>\n## The errors\nAsk POST /admin/none or `admin/`.\n',
    "README.md": (
        "[layout](docs/layout.md) and `app/values`, `transfers/rules/status.py`.\n"
        "`answer()` in `app/transfers/rules/status.py`.\n"
    ),
}
"""A small repository in which every reference leads somewhere."""


def test_complete_references_find_nothing(tmp_path: Path) -> None:
    build(tmp_path, LIVE)
    assert dead_references(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "text", "fault"),
    [
        ("app/values/new.py", '"""See docs/none.md."""\n', "new.py:1: there is no docs/none.md"),
        ("app/values/new.py", "# docs/interface.md#none\n", "docs/interface.md has no anchor #none"),
        ("docs/new.md", "[x](interface.md#none)\n", "interface.md has no anchor #none"),
        ("docs/new.md", "![x](images/none.png)\n", "there is no images/none.png"),
        ("docs/new.md", "All of `app/cellar/`.\n", "there is no app/cellar"),
        (
            "docs/new.md",
            "`gone` of `app/transfers/rules/status.py`.\n",
            "there is no gone in app/transfers/rules/status.py",
        ),
        (
            "app/values/new.py",
            '"""One.\n\nSee transfers/none.py\n"""\n',
            "new.py:3: there is no transfers/none.py",
        ),
        ("app/values/new.py", "X = 1\n" + '"""In ``none.py``."""\n', "new.py:2: no module is called none.py"),
        ("app/values/new.py", "# app.transfers.none.answer\n", "there is no app.transfers.none.answer"),
        ("app/cellar/wine.py", "", "app/cellar/ has no line"),
        ("docs/layout.md", LIVE["docs/layout.md"] + "| `app/attic/` | x |\n", "no package app/attic/"),
    ],
)
def test_a_dead_reference_is_found(tmp_path: Path, path: str, text: str, fault: str) -> None:
    build(tmp_path, LIVE | {path: text})
    found = dead_references(tmp_path)
    assert any(fault in each for each in found), found
