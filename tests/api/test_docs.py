"""The addresses of the documentation: answers, caching, and what a page may load."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.api.docs.views import MISSING_PAGE
from tests.api.shapes import assert_refused

PAGES = {
    "index.html": "<p>home</p>",
    "errors/index.html": "<p>errors</p>",
    "assets/site.css": "p {}",
    "assets/main.0123abcd.min.css": "p {}",
    "assets/inline/script.0123abcd.js": "1",
    "files/proto/a.proto": "message A {}",
    ".stamp": "secret",
    MISSING_PAGE: '<script src="/docs/assets/a.js"></script> <a href="/docs/">home</a> <br class="a"/>',
}

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
NOWHERE = ("/docs/none", "/docs/none/at/all/", "/docs/try/none", "/docs/try/no/thing")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    for name, text in PAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (tmp_path / "outside.html").write_text("outside")
    return folder


@pytest.fixture
def reader(site: Path, app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> FlaskClient:
    monkeypatch.setitem(app.extensions, "docs_site", site)
    return client


@pytest.mark.parametrize(
    ("path", "location"),
    [("/", "/docs/"), ("/docs", "/docs/"), ("/docs/errors", "/docs/errors/")],
)
def test_addresses_redirect(reader: FlaskClient, path: str, location: str) -> None:
    answer = reader.get(path, headers={"Host": "evil.example"})
    assert (answer.status_code, answer.headers["Location"]) == (302, location)
    assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        (BROWSER, 302),
        ("*/*", 302),
        ("application/json", 404),
        ("application/json, text/plain, */*", 404),
        ("application/json, text/plain;q=0.5", 404),
    ],
)
def test_root_answers_json_where_accepted(reader: FlaskClient, accept: str, status: int) -> None:
    answer = reader.get("/", headers={"Accept": accept})
    assert answer.status_code == status
    if status == 404:
        assert_refused(answer, 404, "path_not_found", None)


@pytest.mark.parametrize(("path", "text"), [("/docs/", "home"), ("/docs/errors/", "errors")])
def test_page_revalidates_and_restricts_scripts(reader: FlaskClient, path: str, text: str) -> None:
    """It runs only scripts of this gateway."""
    answer = reader.get(path)
    assert (answer.status_code, answer.text) == (200, f"<p>{text}</p>")
    assert answer.content_type.startswith("text/html")
    assert answer.headers["Cache-Control"] == "no-cache"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    rules = dict(rule.strip().split(" ", 1) for rule in answer.headers["Content-Security-Policy"].split(";"))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert rules["script-src"] == rules["connect-src"] == rules["worker-src"] == "'self'"
    assert re.fullmatch(r"'self' 'sha256-[\w+/]{43}='", rules["style-src"])
    again = reader.get(path, headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")


def test_page_with_picture_may_write_styles(reader: FlaskClient, site: Path) -> None:
    """What draws the picture writes them. A hash next to the keyword would turn the keyword off."""
    page = site / "errors" / "index.html"
    assert "'unsafe-inline'" not in reader.get("/docs/errors/").headers["Content-Security-Policy"]
    page.write_text('<pre class="mermaid"><code>flowchart TB</code></pre>')
    policy = reader.get("/docs/errors/").headers["Content-Security-Policy"]
    assert "; style-src 'self' 'unsafe-inline'; " in policy
    assert "; script-src 'self'; " in f"; {policy}"


@pytest.mark.parametrize(
    ("path", "cached", "kind"),
    [
        ("/docs/assets/site.css", "no-cache", "text/css"),
        ("/docs/assets/main.0123abcd.min.css", "public, max-age=31536000, immutable", "text/css"),
        ("/docs/assets/inline/script.0123abcd.js", "public, max-age=31536000, immutable", "text/javascript"),
        ("/docs/files/proto/a.proto", "no-cache", "text/plain"),
    ],
)
def test_content_named_file_is_cached_forever(reader: FlaskClient, path: str, cached: str, kind: str) -> None:
    answer = reader.get(path)
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == cached
    assert answer.content_type.startswith(kind)


def test_large_files_are_compressed(reader: FlaskClient, site: Path) -> None:
    text = "p { color: red }\n" * 200
    (site / "assets" / "site.css").write_text(text)
    plain = reader.get("/docs/assets/site.css", headers={"Accept-Encoding": "br, identity"})
    packed = reader.get("/docs/assets/site.css", headers={"Accept-Encoding": "br, gzip"})
    assert (plain.text, gzip.decompress(packed.data).decode()) == (text, text)
    assert (plain.headers.get("Content-Encoding"), packed.headers["Content-Encoding"]) == (None, "gzip")
    assert packed.content_length == len(packed.data) < len(text) / 4
    for answer in (plain, packed):
        assert answer.headers["Vary"] == "Accept-Encoding"
        assert answer.content_type.startswith("text/css")
    assert plain.headers["ETag"] != packed.headers["ETag"]
    again = {"Accept-Encoding": "gzip", "If-None-Match": packed.headers["ETag"]}
    assert reader.get("/docs/assets/site.css", headers=again).status_code == 304
    (site / "assets" / "site.css").write_text(text.replace("red", "blue"))
    changed = reader.get("/docs/assets/site.css", headers=again)
    assert gzip.decompress(changed.data).decode() == text.replace("red", "blue")


@pytest.mark.parametrize(
    ("path", "encoding"),
    [
        ("/docs/", None),
        ("/docs/try/", "gzip"),
        ("/docs/try/swagger-ui-5.35.0.e6a89869.js", "gzip"),
        ("/docs/try/try.css", "gzip"),
    ],
)
def test_which_files_are_compressed(reader: FlaskClient, path: str, encoding: str | None) -> None:
    answer = reader.get(path, headers={"Accept-Encoding": "gzip, deflate, br"})
    assert answer.status_code == 200
    assert answer.headers.get("Content-Encoding") == encoding
    assert reader.head(path, headers={"Accept-Encoding": "gzip"}).data == b""
    assert "Content-Encoding" not in reader.get(path, headers={"Accept-Encoding": "gzip;q=0"}).headers


@pytest.mark.parametrize(
    "path",
    [
        "/docs/none",
        "/docs/.stamp",
        "/docs/../outside.html",
        "/docs/errors/..%2f..%2f..%2foutside.html",
        "/docs/assets/",
        "/docs/errors/index.html/",
        "/docs/try/none",
        "/docs/%00",
        f"/docs/{MISSING_PAGE}",
        f"/docs/{'a' * 300}",
        f"/docs/{'a/' * 3000}",
    ],
)
def test_missing_files_are_refused(reader: FlaskClient, path: str) -> None:
    assert_refused(reader.get(path), 404, "path_not_found", None)


@pytest.mark.parametrize("path", NOWHERE)
@pytest.mark.parametrize("accept", [BROWSER, "text/html", "text/html, */*"])
def test_browser_gets_page_for_missing_address(reader: FlaskClient, path: str, accept: str) -> None:
    answer = reader.get(path, headers={"Accept": accept})
    assert (answer.status_code, answer.mimetype) == (404, "text/html")
    assert answer.text == PAGES[MISSING_PAGE]
    assert answer.headers["X-Gateway-Reason"] == "path_not_found"
    assert answer.headers["Cache-Control"] == "no-store"
    assert (
        answer.headers["Content-Security-Policy"] == reader.get("/docs/").headers["Content-Security-Policy"]
    )


@pytest.mark.parametrize("path", NOWHERE)
@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "application/json, text/html;q=0.9"])
def test_program_gets_json_for_missing_address(reader: FlaskClient, path: str, accept: str | None) -> None:
    answer = reader.get(path, headers={"Accept": accept} if accept else {})
    assert_refused(answer, 404, "path_not_found", None)


def test_missing_page_links_below_a_path(reader: FlaskClient) -> None:
    at = {"SCRIPT_NAME": "/gateway"}
    answer = reader.get("/docs/none/", headers={"Accept": "text/html"}, environ_overrides=at)
    assert answer.text == PAGES[MISSING_PAGE].replace('"/docs/', '"/gateway/docs/')


def test_docs_page_explains_how_to_build_site(
    app: Flask, client: FlaskClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(app.extensions, "docs_site", tmp_path / "none")
    answer = client.get("/docs/")
    assert answer.status_code == 200
    assert "make docs" in answer.text
    assert '<a href="try/">' in answer.text
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    assert client.get("/docs/try/").status_code == 200
    other = client.get("/docs/errors/")
    assert (other.status_code, other.headers["Location"]) == (302, "/docs/")
