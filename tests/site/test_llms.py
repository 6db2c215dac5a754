"""``llms.txt`` has the form of llmstxt.org, names every page once, and leads to Markdown."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from flask.testing import FlaskClient

from app.api.docs.views import find_file
from scripts.docs_site.build import OTHERS, ROOT

ENTRY = re.compile(r"- \[([^\]]+)\]\(([^)\s]+)\)(?:: (.+))?")
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
OF_THE_GATEWAY = {"docs/try/"}


@pytest.fixture(scope="module")
def text(site: Path) -> str:
    return (site / "llms.txt").read_text()


@pytest.fixture(scope="module")
def entries(text: str) -> dict[str, str]:
    """The description of each address."""
    found = [match for match in map(ENTRY.fullmatch, text.splitlines()) if match]
    made = {match[2]: match[3] or "" for match in found}
    assert len(made) == len(found), "an address is listed twice"
    return made


def test_list_has_the_form_of_llmstxt(text: str) -> None:
    title, _, summary, _, details, _, *rest = text.splitlines()
    assert re.fullmatch("# [^#].+", title)
    assert re.fullmatch("> .+", summary)
    assert not details.startswith(("#", "-"))
    sections = [line for line in rest if line.startswith("#")]
    assert len(sections) >= 4
    assert sections[-1] == "## Optional"
    for line in rest:
        assert not line or re.fullmatch("## .+", line) or ENTRY.fullmatch(line), line


def test_list_names_every_page_once(entries: dict[str, str]) -> None:
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")}
    placed = {re.sub(r"README\.md$", "index.md", page) for page in pages}
    assert set(entries) == placed | {f"docs/{place}" for place in OTHERS.values()} | OF_THE_GATEWAY


def test_every_link_of_a_page_as_markdown_leads_somewhere(site: Path, entries: dict[str, str]) -> None:
    followed = 0
    for address in entries.keys() - OF_THE_GATEWAY:
        page = (site / address.removeprefix("docs/")).read_text()
        code = re.sub(r"```.*?```|`[^`\n]*`", "", page, flags=re.DOTALL)
        for link in LINK.findall(code):
            target = urlsplit(urljoin(f"/{address}", link))
            if not target.netloc and target.path.startswith("/docs/") and target.path != "/docs/try/":
                assert find_file(site, target.path.removeprefix("/docs/")), f"{address}: {link}"
                followed += 1
    assert followed > 500


@pytest.mark.one_database
def test_gateway_serves_list_and_pages(site: Path, client: FlaskClient, entries: dict[str, str]) -> None:
    listed = client.get("/llms.txt")
    assert listed.status_code == 200
    assert listed.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert listed.text == (site / "llms.txt").read_text()
    for address in (*entries, "openapi.json"):
        assert client.get(f"/{address}").status_code == 200, address
    page = client.get("/docs/api/estimateAmt.md")
    assert page.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert page.text.startswith("# estimateAmt")
    assert client.get("/docs/llms.txt").headers["Location"] == "/llms.txt"


@pytest.mark.one_database
def test_list_is_missing_where_nothing_was_built(
    client: FlaskClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(client.application.extensions, "docs_site", tmp_path / "none")
    assert client.get("/llms.txt").status_code == 404
