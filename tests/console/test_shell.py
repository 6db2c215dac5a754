"""The console as a whole: its address, its error pages, its lists and what every page shares."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_admin import Admin, expose
from werkzeug.test import TestResponse

from app import create_app
from app.accounts.rules.roles import Role
from app.console.shell.formats import browser_name, neutral_cell
from app.console.shell.views import ConsoleView
from config import ALL_DOORS
from tests.applications import OpenApp, make_settings
from tests.console.visitor import Visitor, email_of, lose_database, signed_in


def test_address_without_slash_redirects(app: Flask) -> None:
    answer = Visitor(app).get("/admin")
    assert answer.status_code == 308
    assert answer.location.endswith("/admin/")


def test_missing_page_is_explained(admin: Visitor) -> None:
    for path in ("/admin/nothing", "/admin/operators/0", "/admin/audit/99999999999999999999"):
        answer = admin.get(path)
        assert answer.status_code == 404, path
        assert "Page not found" in answer.text
        assert "Try again" not in answer.text and 'href="/admin/">Go to the dashboard' in answer.text


def test_database_outage_is_explained(monkeypatch: pytest.MonkeyPatch, viewer: Visitor) -> None:
    lose_database(monkeypatch)
    answer = viewer.get("/admin/audit/?subject=56")
    assert answer.status_code == 503
    assert "The database is not available" in answer.text
    assert "refused" not in answer.text
    assert 'href="/admin/audit/?subject=56">Try again</a>' in answer.text
    assert viewer.get("/admin/static/console.css").status_code == 200


def test_fault_page_hides_details(app: Flask, monkeypatch: pytest.MonkeyPatch, viewer: Visitor) -> None:
    monkeypatch.setattr("app.console.dashboard.dashboard.Dashboard", lambda _: 1 / 0)
    answer = viewer.get("/admin/")
    assert answer.status_code == 500
    assert "Something went wrong" in answer.text
    assert "division" not in answer.text


@pytest.fixture
def doors(tmp_path: Path) -> Any:
    url = f"sqlite:///{tmp_path / 'none.db'}"
    return lambda **changes: create_app(make_settings(url, **{"doors": ALL_DOORS} | changes)).test_client()


def test_console_without_secret_key_answers_503(doors: Any) -> None:
    answer = doors(secret_key="").get("/admin/")
    assert answer.status_code == 503
    assert "SECRET_KEY" in answer.text


def test_process_without_interface_has_no_console(doors: Any) -> None:
    answer = doors(doors=("api",)).get("/admin/")
    assert answer.status_code == 404
    assert answer.is_json


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"), ("+1+1", "'+1+1"), ("-1+1", "'-1+1"), ("@SUM(A1)", "'@SUM(A1)"), ("\t=1", "'\t=1"),
        ("-15", "-15"), ("-1.5", "-1.5"), ("-1.", "'-1."), ("-٣", "'-٣"), (None, ""),
        (7, "7"), ("plain", "plain"), ("a=b", "a=b"),
    ],
)  # fmt: skip
def test_no_cell_is_a_formula(value: object, cell: str) -> None:
    assert neutral_cell(value) == cell


def test_route_without_rule_stops_the_start() -> None:
    class Forgotten(ConsoleView):
        @expose("/")
        def index(self) -> str:
            return ""

    app, view = Flask(__name__), Forgotten()
    Admin(app).add_view(view)
    with pytest.raises(RuntimeError, match="no access rule for index"):
        view.access_rules(app)


@pytest.mark.parametrize(
    ("doors", "public_url", "link"),
    [
        (("admin",), "", None),
        (("admin",), "https://gateway.example", "https://gateway.example/docs"),
        (("api", "admin"), "https://gateway.example", "/docs"),
    ],
)
def test_docs_link_leads_somewhere(
    open_app: OpenApp, doors: tuple[str, ...], public_url: str, link: str | None
) -> None:
    page = signed_in(open_app(doors=doors, public_url=public_url), Role.VIEWER).get("/admin/").text
    assert (">Docs</a>" in page) == (link is not None)
    assert link is None or f'href="{link}">Docs' in page


LINUX = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)"
MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)"


BROWSERS = {
    f"{LINUX} Chrome/126.0.0.0 Safari/537.36": "Chrome on Linux",
    f"{LINUX} HeadlessChrome/126.0.0.0 Safari/537.36": "Chrome on Linux",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0": "Firefox on Windows",
    "Mozilla/5.0 (Windows NT 10.0) Chrome/126.0 Safari/537.36 Edg/126.0": "Edge on Windows",
    f"{MAC} Version/17.5 Safari/605.1.15": "Safari on macOS",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Mobile Safari/604.1": "Safari on iPhone",
    "Mozilla/5.0 (Linux; Android 14) Chrome/126.0 Mobile Safari/537.36": "Chrome on Android",
    "curl/8.5.0": "curl",
    "Mozilla/5.0": "Unknown browser",
    "": "Unknown browser",
    "<script>alert(1)</script>": "Unknown browser",
}


def test_browser_is_named() -> None:
    assert {agent: browser_name(agent) for agent in BROWSERS} == BROWSERS


def test_sessions_name_their_browser(app: Flask) -> None:
    visitor = Visitor(app)
    visitor.environ["HTTP_USER_AGENT"] = agent = f"{LINUX} Chrome/126.0.0.0 Safari/537.36"
    signed_in(app, Role.VIEWER)
    assert visitor.sign_in(email_of(Role.VIEWER)).status_code == 302
    page = visitor.get("/admin/account/").text
    assert f'<span title="{agent}">Chrome on Linux</span>' in page


def test_rows_lead_to_their_history(operator: Visitor, admin: Visitor) -> None:
    for path, visitor in (("chains", operator), ("routes", operator), ("operators", admin)):
        page = visitor.get(f"/admin/{path}/").text
        links = re.findall(r'<td class="row-history"><a href="([^"]+)"', page)
        assert links, path
        answer = visitor.get(links[0].replace("&amp;", "&"))
        assert answer.status_code == 200, (path, links[0])
        assert 'class="empty"' not in answer.text


def test_console_ignores_browser_language(app: Flask) -> None:
    """Flask-Admin, Flask-Security and Flask-WTF would translate themselves where Flask-Babel is installed."""
    spanish = {"headers": {"Accept-Language": "es", "Cookie": "lang=es"}}
    visitor = signed_in(app, Role.OPERATOR)
    for path in ("/admin/tokens/", "/admin/tokens/new", "/admin/transfers/", "/admin/account/"):
        assert words(visitor.get(path, headers={"Accept-Language": "es"})) == words(visitor.get(path)), path
    refused = {"email": email_of(Role.OPERATOR), "password": "wrong"}
    assert words(Visitor(app).post("/admin/sign-in", refused, **spanish)) == words(
        Visitor(app).post("/admin/sign-in", refused)
    )
    form = {"headers": {"Accept-Language": "es"}}
    assert words(visitor.post("/admin/tokens/new", {}, **form)) == words(
        visitor.post("/admin/tokens/new", {})
    )


def words(answer: TestResponse) -> list[str]:
    """The words of a page, without markup."""
    assert answer.status_code in (200, 400, 401), answer.status_code
    text = re.sub(r"<(script|style).*?</\1>", " ", answer.text, flags=re.DOTALL)
    found = re.sub(r"<[^>]+>", " ", text).split()
    assert len(found) > 10
    return found


EXPORTS = ("/admin/audit/export.csv", "/admin/transfers/export.csv")


def test_every_export_cell_is_guarded(app: Flask, sandbox: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that wrote its cells past the guard would show the bare value here."""
    monkeypatch.setattr("app.console.shell.formats.neutral_cell", lambda value: "guarded")
    admin = signed_in(app, Role.ADMIN)
    rules = [rule.rule for rule in app.url_map.iter_rules() if rule.rule.startswith("/admin/")]
    files = {rule for rule in rules if "csv" in rule or "<export_type>" in rule}
    assert files == set(EXPORTS), "every file is looked at here"
    for path in EXPORTS:
        answer = admin.get(path)
        assert (answer.status_code, answer.mimetype) == (200, "text/csv"), path
        _, *rows = csv.reader(io.StringIO(answer.text))
        assert {cell for row in rows for cell in row} == {"guarded"}, path
