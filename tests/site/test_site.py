"""The built site: it is whole, its links and anchors lead somewhere, and it loads nothing from elsewhere."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from os.path import relpath
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from app.api.docs.views import MISSING_PAGE
from app.values.codes import Reason
from scripts.docs_site.build import ROOT, STAMP, THEME, build, ensure_site, fingerprint, generate
from scripts.docs_site.failure import CannotBuild

VENDOR = THEME / "assets" / "vendor"

OF_THE_GATEWAY = {"/docs/try/", "/openapi.json"}
"""Addresses that the gateway serves beside the site."""


@dataclass
class Links(HTMLParser):
    """What a page links to, what it loads, and its anchors."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        has = dict(attrs)
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag == "a" and has.get("href"):
            self.links.append(str(has["href"]))
        for name in ("src", "href"):
            if tag in ("script", "img", "link", "iframe", "source", "use") and has.get(name):
                self.loaded.append(str(has[name]))


def pages(site: Path) -> dict[str, Links]:
    read: dict[str, Links] = {}
    for path in sorted(site.rglob("*.html")):
        if path.name != MISSING_PAGE:
            read[path.relative_to(site).as_posix()] = links = Links()
            links.feed(path.read_text())
    return read


@pytest.fixture(scope="module")
def read(site: Path) -> dict[str, Links]:
    """The pages of the site: it takes a second to read them."""
    return pages(site)


def dead_links(site: Path, read: dict[str, Links]) -> Iterator[str]:
    """Links and loaded files of the site that lead nowhere, and whatever is loaded from elsewhere."""
    for name, page in read.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or link.startswith("//"):
                if link in page.loaded and parts.scheme != "data":
                    yield f"{name}: loads {link}"
                continue
            if parts.path.startswith("/"):
                yield f"{name}: {link} leaves a gateway that is below a path"
            if urljoin(f"/docs/{name}", parts.path) in OF_THE_GATEWAY:
                continue
            target = (site / name).parent / unquote(parts.path) if parts.path else site / name
            target = target / "index.html" if target.is_dir() else target
            inner = relpath(target, site)
            if not target.is_file() or inner.startswith(".."):
                yield f"{name}: {link}"
            elif parts.fragment and inner in read and unquote(parts.fragment) not in read[inner].ids:
                yield f"{name}: {link} has no such anchor"


def test_every_link_leads_somewhere(site: Path, read: dict[str, Links]) -> None:
    assert list(dead_links(site, read)) == []


def test_links_of_missing_page_begin_at_root(site: Path) -> None:
    """It is shown at any address, so a relative link could lead anywhere."""
    page = Links()
    page.feed((site / MISSING_PAGE).read_text())
    links = {link for link in (*page.links, *page.loaded) if not link.startswith("#")}
    assert "/docs/quick-start/" in links
    for link in links - OF_THE_GATEWAY:
        assert link.startswith("/docs/"), link
        target = site / link.removeprefix("/docs/")
        assert (target / "index.html" if target.is_dir() else target).is_file(), link


def test_every_page_exists_and_is_searchable(site: Path, read: dict[str, Links]) -> None:
    searched = {
        item["location"].partition("#")[0] for item in json.loads((site / "search.json").read_text())["items"]
    }
    for path in (ROOT / "docs").rglob("*.md"):
        inner = path.relative_to(ROOT / "docs").with_suffix("")
        folder = "" if inner.name == "README" and inner.parent == Path() else f"{inner}/"
        folder = folder.replace("README/", "")
        assert f"{folder}index.html" in read
        assert folder in searched


def test_no_anchor_is_there_twice(read: dict[str, Links]) -> None:
    for name, page in read.items():
        twice = {each for each in page.ids if page.ids.count(each) > 1}
        assert not twice, f"{name}: {twice}"


def test_every_error_reason_has_anchor(read: dict[str, Links]) -> None:
    assert set(Reason) <= set(read["errors/index.html"].ids)


def test_no_page_shows_unread_markdown(site: Path, read: dict[str, Links]) -> None:
    """GitHub and the generator read Markdown differently: what one of them leaves is seen as its marks."""
    for name in read:
        html = (site / name).read_text()
        text = re.sub(r"<(pre|code|script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
        text = re.sub(r"<[^>]*>", "", text)
        for line in text.splitlines():
            assert not re.search(r"\]\(|^\s*(?:[-*] |#+ |\||```|===)|\{ ?#|\*\*", line), f"{name}: {line}"


def test_site_is_rebuilt_only_after_changes(tmp_path: Path) -> None:
    for name, text in {
        "README.md": "# Read [it](proto/a.proto).\n",
        "CHANGELOG.md": "# Changes\n",
        "CONTRIBUTING.md": "# Contribute\n",
        "SECURITY.md": "# Report\n",
        "docs/a.md": "# A\n",
        "docs/images/a.svg": "<svg/>",
        "proto/a.proto": "message A {}",
        "proto/b.proto": "nobody links to it",
        "scripts/docs_site/theme/site.css": "p {}",
        "requirements-dev.txt": "zensical==1",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    before = fingerprint(tmp_path)
    for path in sorted(each for each in tmp_path.rglob("*") if each.is_file()):
        text = path.read_text()
        path.write_text(f"{text}\nmore\n")
        assert (fingerprint(tmp_path) == before) is (path.name == "b.proto"), path
        path.write_text(text)
    assert fingerprint(tmp_path) == before


def test_current_site_is_left_alone(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / STAMP).write_text(fingerprint(ROOT))
    assert ensure_site(site) is False
    assert [path.name for path in site.iterdir()] == [STAMP]


def test_broken_link_leaves_old_site(tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(
        ROOT, root, ignore=shutil.ignore_patterns(".*", "app", "bench", "build", "instance", "*.png")
    )
    page = root / "docs" / "errors.md"
    page.write_text(page.read_text() + "\n[nothing](refunds.md#nothing)\n")
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text("before")
    with pytest.raises(CannotBuild, match="nothing"):
        build(site, root, "stamp")
    assert (site / "index.html").read_text() == "before"


def test_search_index_loads_before_requests(read: dict[str, Links]) -> None:
    for name, page in read.items():
        loaded = [link.rpartition("/")[2] for link in page.loaded]
        (bundle,) = [link for link in loaded if link.startswith("bundle.")]
        assert loaded.index("search.js") < loaded.index(bundle), name


def test_pages_with_pictures_load_their_script(site: Path, read: dict[str, Links]) -> None:
    drawn = {name for name in read if '<pre class="mermaid">' in (site / name).read_text()}
    loading = {
        name for name, page in read.items() if any(link.endswith("pictures.js") for link in page.loaded)
    }
    assert drawn
    assert loading == drawn


def test_drawing_library_is_named_by_its_content() -> None:
    """So browsers may cache it for ever, and nobody has changed it."""
    (library,) = VENDOR.glob("*.js")
    (digest,) = re.findall(r"mermaid-[\d.]+\.([0-9a-f]{8})\.js", library.name)
    assert hashlib.sha256(library.read_bytes()).hexdigest().startswith(digest)
    assert f'"vendor/{library.name}"' in (VENDOR.parent / "pictures.js").read_text()
    assert (VENDOR / "mermaid-LICENSE.txt").read_text().startswith("The MIT License")


def test_crash_of_generator_is_named(tmp_path: Path) -> None:
    """A traceback is no help, and its last line is."""
    (tmp_path / "zensical.toml").write_text("[project\n")
    with pytest.raises(CannotBuild, match=r"^tomli\._parser\.TOMLDecodeError: Expected '\]'"):
        generate(tmp_path)
