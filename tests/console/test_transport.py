"""Cookies and redirects over http and https, which trusted proxies report and not the Host header."""

from __future__ import annotations

import re
from http.cookies import SimpleCookie
from urllib.parse import urlsplit

import pytest
from flask import Flask, request
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.accounts.rules.roles import Role
from tests.applications import OpenApp
from tests.console.visitor import PASSWORD, Visitor, add_account, email_of

VIEWER = email_of(Role.VIEWER)
HSTS = "Strict-Transport-Security"
HTTPS = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.9"}


def cookies(answer: TestResponse) -> dict[str, str]:
    """Each cookie that is set, with its attributes."""
    return {header.split("=")[0]: header for header in answer.headers.getlist("Set-Cookie")}


def sign_in(client: FlaskClient, headers: dict[str, str]) -> list[TestResponse]:
    """The page and the answer, with the cookies that a browser sends. Cookies are handed on by hand."""
    page = client.get("/admin/sign-in", headers=headers)
    token = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
    assert token
    jar = SimpleCookie(page.headers["Set-Cookie"])
    sent = "; ".join(f"{name}={cookie.value}" for name, cookie in jar.items())
    fields = {"csrf_token": token[1], "email": VIEWER, "password": PASSWORD}
    return [page, client.post("/admin/sign-in", data=fields, headers=headers | {"Cookie": sent})]


@pytest.fixture
def behind_a_proxy(open_app: OpenApp) -> Flask:
    """The console behind one proxy that is trusted."""
    app = open_app(trusted_proxies=1)
    add_account(app, Role.VIEWER)
    return app


@pytest.mark.parametrize("host", ["[::1]", "gw.example"])
def test_https_proxy_makes_everything_secure(behind_a_proxy: Flask, host: str) -> None:
    client = behind_a_proxy.test_client(use_cookies=False)
    page, answer = sign_in(client, {"Host": host, **HTTPS})
    assert answer.status_code == 302
    assert answer.location == "/admin/"
    assert set(cookies(page)) == {"__Secure-console"}
    assert set(cookies(answer)) == {"__Secure-console", "__Secure-console_device_1"}
    for cookie in (*cookies(page).values(), *cookies(answer).values()):
        for part in ("; Secure", "; HttpOnly", "; SameSite=", "; Path=/admin"):
            assert part in cookie
    assert page.headers[HSTS] == answer.headers[HSTS] == "max-age=31536000"
    signed_in = {"Cookie": cookies(answer)["__Secure-console"].split(";")[0]}
    assert client.get("/admin/", headers={"Host": host, **HTTPS, **signed_in}).status_code == 200


def test_every_https_response_has_hsts(behind_a_proxy: Flask) -> None:
    client = behind_a_proxy.test_client()
    for path in ("/admin/", "/admin/nothing", "/admin", "/v2/getTransferConfigs", "/healthz", "/x"):
        assert client.get(path, headers=HTTPS).headers[HSTS]
        assert client.get(path, base_url="https://gw.example").headers[HSTS]
        for headers in ({}, {"X-Forwarded-Proto": "http"}, {"X-Forwarded-Proto": "https, http"}):
            assert HSTS not in client.get(path, headers=headers).headers, path


@pytest.mark.parametrize(
    ("proxies", "header", "known", "secure"),
    [
        (0, "https", False, True),  # only the caller claims it: the cautious choice
        (0, "http", False, False),
        (1, "https", True, True),
        (1, "HTTPS", True, True),
        (1, "http", False, False),
        (1, "https, http", False, True),
        (1, "http, https", True, True),
        (2, "https, http", True, True),  # both added theirs: the outer one saw the browser
        (2, "https", True, True),  # the inner one left it as it was
        (2, "http, https, http", True, True),
        (2, "ftp", False, False),
        (2, "", False, False),
        (2, ",,", False, False),
    ],
)
def test_whose_word_for_https_counts(
    open_app: OpenApp, proxies: int, header: str, known: bool, secure: bool
) -> None:
    headers = {"Host": "127.0.0.1:8000", "X-Forwarded-Proto": header}
    page = open_app(trusted_proxies=proxies).test_client().get("/admin/sign-in", headers=headers)
    ((name, cookie),) = cookies(page).items()
    assert (name == "__Secure-console") is known
    assert (HSTS in page.headers) is known
    assert ("; Secure" in cookie) is secure


def test_local_browser_signs_in_over_http(app: Flask) -> None:
    add_account(app, Role.VIEWER)
    for host in ("127.0.0.1:8000", "localhost:8000", "[::1]:8000"):
        page, answer = sign_in(app.test_client(use_cookies=False), {"Host": host})
        assert answer.status_code == 302
        assert set(cookies(answer)) == {"console", "console_device_1"}
        assert not any("Secure" in cookie for cookie in cookies(answer).values())
        assert HSTS not in page.headers


def test_http_cookie_fails_over_https(behind_a_proxy: Flask) -> None:
    """Whoever can write cookies over http cannot put anybody into a session of theirs."""
    client = behind_a_proxy.test_client(use_cookies=False)
    http, https = {"Host": "localhost"}, {"Host": "localhost", **HTTPS}
    for made, requested in ((http, https), (https, http)):
        set_cookies = cookies(sign_in(client, made)[1])
        cookie = next(set_cookies[name].split(";")[0] for name in set_cookies if name.endswith("console"))
        assert client.get("/admin/", headers=made | {"Cookie": cookie}).status_code == 200
        assert client.get("/admin/", headers=requested | {"Cookie": cookie}).status_code == 302


def test_no_redirect_leaves_the_scheme(behind_a_proxy: Flask) -> None:
    hosts = [{"Host": host} for host in ("evil.example", "GW.Example:80", "gw:8000")]
    for headers in ({}, HTTPS, *hosts, {"Host": "127.0.0.1:8000", **HTTPS}):
        for path in ("/admin", "/admin?x=1", "/admin/network", "/admin/audit", "/admin/chains"):
            answer = behind_a_proxy.test_client().get(path, headers=headers)
            if answer.status_code in (301, 302, 308):
                there = path.partition("?")[0] if answer.status_code == 308 else "/admin/"
                assert answer.location.startswith(there), (path, headers)
                assert not answer.location.startswith("//")
            else:
                assert answer.status_code == 404, (path, headers)


def test_routing_redirect_is_not_stored(open_app: OpenApp) -> None:
    """Its page would hold the Host header, and a browser may store a 308 for ever."""
    answer = open_app().test_client().get("/admin", headers={"Host": "elsewhere.example"})
    assert (answer.status_code, answer.headers["Location"]) == (308, "/admin/")
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


def test_redirect_to_two_slashes_stays_absolute(open_app: OpenApp) -> None:
    app = open_app(own=True)
    app.add_url_rule("/to", "to", lambda: ("", 302, {"Location": f"http://localhost/{request.args['rest']}"}))
    client = app.test_client()
    assert client.get("/to?rest=here").location == "/here"
    for rest in ("/evil.example/", "\\evil.example/"):
        answer = client.get("/to", query_string={"rest": rest})
        assert urlsplit(answer.location).netloc == "localhost"


def test_signed_in_forms_work_behind_proxy(behind_a_proxy: Flask) -> None:
    """CSRF's own check of the referrer must not take the inner http for the browser's scheme."""
    client = behind_a_proxy.test_client(use_cookies=False)
    _, answer = sign_in(
        client, {"Host": "gw.example", "Referer": "https://gw.example/admin/sign-in", **HTTPS}
    )
    assert answer.status_code == 302
    assert not Visitor(behind_a_proxy).inside
