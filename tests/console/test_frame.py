"""What every page shares: titles, dates, headings, names of browsers, history, the way back from an error."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.accounts.rules.roles import Role
from app.console.shell.formats import browser_name, when
from tests.console.visitor import Visitor, email_of, lose_database, signed_in

LINUX = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)"
MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (f"{LINUX} Chrome/126.0.0.0 Safari/537.36", "Chrome on Linux"),
        (f"{LINUX} HeadlessChrome/126.0.0.0 Safari/537.36", "Chrome on Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0",
            "Firefox on Windows",
        ),
        (
            "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/126.0 Safari/537.36 Edg/126.0",
            "Edge on Windows",
        ),
        (f"{MAC} Version/17.5 Safari/605.1.15", "Safari on macOS"),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Mobile Safari/604.1",
            "Safari on iPhone",
        ),
        (
            "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/126.0 Mobile Safari/537.36",
            "Chrome on Android",
        ),
        ("curl/8.5.0", "curl"),
        ("Mozilla/5.0", "Unknown browser"),
        ("", "Unknown browser"),
        ("<script>alert(1)</script>", "Unknown browser"),
    ],
)
def test_a_browser_has_a_name(agent: str, name: str) -> None:
    assert browser_name(agent) == name


def test_sessions_name_their_browser(app: Flask) -> None:
    visitor = Visitor(app)
    visitor.environ["HTTP_USER_AGENT"] = agent = f"{LINUX} Chrome/126.0.0.0 Safari/537.36"
    signed_in(app, Role.VIEWER)
    assert visitor.sign_in(email_of(Role.VIEWER)).status_code == 302
    page = visitor.get("/admin/account/").text
    assert f'<span title="{agent}">Chrome on Linux</span>' in page


def test_one_format_of_times() -> None:
    shown = when(datetime(2026, 11, 22, 1, 2, 3, tzinfo=UTC))
    assert shown == (
        '<time datetime="2026-11-22T01:02:03Z" title="2026-11-22 01:02:03 UTC">2026-11-22 01:02:03</time>'
    )


def test_titles_and_headings(operator: Visitor) -> None:
    page = operator.get("/admin/routes/").text
    assert "<title>Routes – Gateway console</title>" in page
    found = re.findall(r'<th scope="col".*?>\s*(?:<a [^>]*>|<span[^>]*>)?([^<]+)', page)
    headings = [text.strip() for text in found]
    assert "Base fee" in headings
    assert [text for text in headings if re.search(r" [A-Z][a-z]", text)] == []


def test_rows_lead_to_their_history(app: Flask, operator: Visitor) -> None:
    admin = signed_in(app, Role.ADMIN)
    for path, visitor in (("chains", operator), ("routes", operator), ("operators", admin)):
        page = visitor.get(f"/admin/{path}/").text
        links = re.findall(r'<td class="row-history"><a href="([^"]+)"', page)
        assert links, path
        answer = visitor.get(links[0].replace("&amp;", "&"))
        assert answer.status_code == 200, (path, links[0])
        assert 'class="empty"' not in answer.text


def test_outage_page_has_styles_and_retry(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    visitor = signed_in(app, Role.VIEWER)
    lose_database(monkeypatch)
    answer = visitor.get("/admin/audit/?subject=56")
    assert answer.status_code == 503
    assert 'href="/admin/audit/?subject=56">Try again</a>' in answer.text
    assert visitor.get("/admin/static/console.css").status_code == 200


def test_missing_page_offers_no_retry(app: Flask) -> None:
    answer = signed_in(app, Role.VIEWER).get("/admin/nothing")
    assert answer.status_code == 404
    assert "Try again" not in answer.text and 'href="/admin/">Go to the dashboard' in answer.text


def test_accounts_in_the_log_have_labels(app: Flask) -> None:
    admin = signed_in(app, Role.ADMIN)
    fields = {"email": "new@example.org", "password": "four random words here", "role": "viewer"}
    answer = admin.post("/admin/operators/new", fields, follow_redirects=True)
    assert "Account new@example.org created with the role viewer." in answer.text
    listed = admin.get("/admin/audit/?action=operator.create&subject=new@example.org").text
    assert '<option selected value="operator.create">operator: create</option>' in listed
    record = admin.get(re.findall(r'class="row-link" href="([^"]+)"', listed)[0]).text
    assert "May sign in" in record and "must_change_password" not in record


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
    """What a page says, without the markup and what changes by the second."""
    assert answer.status_code in (200, 400, 401), answer.status_code
    text = re.sub(r"<(script|style).*?</\1>", " ", answer.text, flags=re.DOTALL)
    found = re.sub(r"<[^>]+>", " ", text).split()
    assert len(found) > 10
    return found
