"""What a page of the repository becomes for the generator."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.docs_site.failure import CannotBuild
from scripts.docs_site.finish import finish
from scripts.docs_site.nav import as_toml, navigation
from scripts.docs_site.pages import Library, anchors, pictured, spaced, with_ids

OTHERS = {"README.md": "readme.md"}


@pytest.fixture
def library(tmp_path: Path) -> Library:
    for name, text in {
        "README.md": "# Readme\n## Two words\n",
        "proto/a.proto": "message A {}\n",
        "docs/README.md": "# Home\n",
        "docs/b.md": '# B\n<a id="own"></a>\n## Its heading\n',
        "docs/deep/c.md": "# C\n",
    }.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return Library(tmp_path, OTHERS)


def linked(library: Library, source: str, text: str) -> str:
    (library.root / source).write_text(f"# Page\n\n{text}\n")
    return library.page(source).splitlines()[2]


@pytest.mark.parametrize(
    ("source", "link", "expected"),
    [
        ("docs/a.md", "b.md", "b.md"),
        ("docs/a.md", "b.md#own", "b.md#own"),
        ("docs/a.md", "b.md#its-heading", "b.md#own"),
        ("docs/a.md", "#page", "#page"),
        ("docs/a.md", "../README.md#two-words", "readme.md#two-words"),
        ("docs/a.md", "README.md", "index.md"),
        ("docs/a.md", "../proto/a.proto", "files/proto/a.proto"),
        ("docs/deep/a.md", "../b.md", "../b.md"),
        ("docs/deep/a.md", "../../proto/a.proto", "../files/proto/a.proto"),
        ("README.md", "docs/deep/c.md", "deep/c.md"),
        ("README.md", "docs", "index.md"),
        ("docs/a.md", "https://example.org/b.md", "https://example.org/b.md"),
    ],
)
def test_links_lead_to_places_of_the_site(library: Library, source: str, link: str, expected: str) -> None:
    assert linked(library, source, f"See [it]({link}).") == f"See [it]({expected})."


def test_files_that_pages_link_to_are_copied(library: Library) -> None:
    linked(library, "docs/a.md", "[`a.proto`](../proto/a.proto)")
    assert library.copied == {"proto/a.proto"}


def test_picture_is_shown_as_reader_chose(library: Library) -> None:
    """GitHub follows the system; the site has a switch, and shows one of two pictures."""
    text = (
        '<picture><source media="(prefers-color-scheme: dark)" srcset="docs/images/a-dark.png">'
        '<img src="docs/images/a.png" alt="What it shows" width="73%"></picture>'
    )
    for name in ("a.png", "a-dark.png"):
        (library.root / "docs" / "images").mkdir(exist_ok=True)
        (library.root / "docs" / "images" / name).write_bytes(b"")
    assert linked(library, "README.md", text) == (
        "![What it shows](images/a.png#only-light){ loading=lazy }"
        "![What it shows](images/a-dark.png#only-dark){ loading=lazy }"
    )
    assert library.plain("README.md").splitlines()[2] == "![What it shows](images/a.png)"
    block = f"```\n{text}\n```\n"
    assert pictured(block) == block


def test_dead_link_is_an_error(library: Library) -> None:
    with pytest.raises(CannotBuild, match=r"none\.txt"):
        linked(library, "docs/a.md", "[a](../none.txt)")


def test_headings_have_the_anchors_of_the_repository() -> None:
    text = '# A `b` & c\n<a id="own"></a>\n## Named\n## Twice\n## Twice\n'
    assert anchors(text) == {
        "a-b--c": "a-b--c",
        "named": "own",
        "own": "own",
        "twice": "twice",
        "twice-1": "twice-1",
    }
    assert with_ids(text).splitlines() == [
        "# A `b` & c { #a-b--c }",
        "## Named { #own }",
        "## Twice { #twice }",
        "## Twice { #twice-1 }",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Words:\n- one\n- two\n", "Words:\n\n- one\n- two\n"),
        ("Words:\n1. one\n2. two\n", "Words:\n\n1. one\n2. two\n"),
        ("- one\n  more\n- two\n", "- one\n  more\n- two\n"),
        ("- one\n\nWords:\n- two\n", "- one\n\nWords:\n\n- two\n"),
        ("In the year\n1999. nothing begins\n", "In the year\n1999. nothing begins\n"),
    ],
)
def test_lists_begin_after_an_empty_line(text: str, expected: str) -> None:
    assert spaced(text) == expected


PLAN = '[[section]]\ntitle = "One"\npages = ["docs/README.md", "docs/*.md", {"Try" = "/try/"}]\n'
REST = '[[section]]\ntitle = "Two"\npages = [{"Run" = "README.md"}, "docs/deep/c.md"]\n'


def test_the_navigation_lists_every_page_once(library: Library, tmp_path: Path) -> None:
    plan = tmp_path / "nav.toml"
    plan.write_text(PLAN + REST)
    made = navigation(library, plan)
    assert made == [
        {"One": [{"Home": "index.md"}, {"B": "b.md"}, {"Try": "/try/"}]},
        {"Two": [{"Run": "readme.md"}, {"C": "deep/c.md"}]},
    ]
    assert as_toml(made).startswith('[{ "One" = [{ "Home" = "index.md" }, { "B" = "b.md" }')


@pytest.mark.parametrize(
    ("plan", "named"),
    [
        (PLAN, "README.md, docs/deep/c.md"),
        (PLAN + REST.replace('"docs/deep', '"docs/b.md", "docs/deep'), "docs/b"),
    ],
)
def test_page_not_listed_once_is_error(library: Library, tmp_path: Path, plan: str, named: str) -> None:
    (tmp_path / "nav.toml").write_text(plan)
    if "docs/b" in named:
        plan = plan.replace('"docs/*.md", ', '"docs/b.md", ')
        (tmp_path / "nav.toml").write_text(plan)
    with pytest.raises(CannotBuild, match=named):
        navigation(library, tmp_path / "nav.toml")


def test_scripts_become_files(tmp_path: Path) -> None:
    for name in ("index.html", "deep/index.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('<p>a</p><script>let a = "<b>";</script><script src="x.js"></script>')
    finish(tmp_path)
    (script,) = (tmp_path / "assets" / "inline").iterdir()
    assert script.read_text() == 'let a = "<b>";'
    assert (
        f'<p>a</p><script src="assets/inline/{script.name}"></script>'
        in (tmp_path / "index.html").read_text()
    )
    assert f'src="../assets/inline/{script.name}"' in (tmp_path / "deep" / "index.html").read_text()


@pytest.mark.parametrize(
    ("link", "relative"),
    [
        ("/docs/try/", "../../try/"),
        ("/docs/deep/er/", "./"),
        ("/openapi.json#top", "../../../openapi.json#top"),
        ("/", "../../../"),
        ("//example.org/a", "//example.org/a"),  # another host
        ("https://example.org/a", "https://example.org/a"),
        ("../a/", "../a/"),
    ],
)
def test_links_from_the_root_become_relative(tmp_path: Path, link: str, relative: str) -> None:
    page = tmp_path / "deep/er/index.html"
    page.parent.mkdir(parents=True)
    page.write_text(f'<a class="b" href="{link}">a</a> <code>href="/docs/"</code>')
    finish(tmp_path)
    assert page.read_text() == f'<a class="b" href="{relative}">a</a> <code>href="/docs/"</code>'


@pytest.mark.parametrize(
    "page", ['<p style="color: red">a</p>', '<p onclick="a()">a</p>', "<style>p {}</style>"]
)
def test_style_in_page_is_error(tmp_path: Path, page: str) -> None:
    (tmp_path / "index.html").write_text(f"{page}<code>style=</code>")
    with pytest.raises(CannotBuild, match="not allowed"):
        finish(tmp_path)
