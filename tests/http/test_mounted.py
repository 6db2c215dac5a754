"""The path below which callers reach the gateway."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from app.http.mounted import Mounted
from tests.applications import OpenApp

LONG = "/a.b/~c_d-1"


def placed(mounted: Mounted, path: str, named: str | None = None, script: str = "") -> tuple[str, str]:
    """The path of the gateway and that of the request, as Flask reads them afterwards."""
    environ: dict[str, Any] = {"SCRIPT_NAME": script, "PATH_INFO": path}
    if named is not None:
        environ["HTTP_X_FORWARDED_PREFIX"] = named
    mounted.place(environ)
    return environ["SCRIPT_NAME"], environ["PATH_INFO"]


@pytest.mark.parametrize(
    ("path", "rest"),
    [
        ("/bridge/v2/x", "/v2/x"),
        ("/bridge/", "/"),
        ("/bridge", ""),
        ("/v2/x", "/v2/x"),  # the proxy took it off
        ("/bridges/x", "/bridges/x"),
        ("/bridge//x", "//x"),
        ("/bridge/bridge/x", "/bridge/x"),  # once
    ],
)
def test_path_of_settings_is_taken_off(path: str, rest: str) -> None:
    assert placed(Mounted("/bridge"), path) == ("/bridge", rest)


def test_path_that_the_server_took_off_stays() -> None:
    assert placed(Mounted("/bridge"), "/v2/x", script="/bridge") == ("/bridge", "/v2/x")


@pytest.mark.parametrize(
    ("proxies", "named", "prefix"),
    [
        (1, "/bridge", "/bridge"),
        (1, "/bridge/", "/bridge"),
        (1, LONG, LONG),
        (1, "/forged, /bridge", "/bridge"),  # what a caller sent comes first
        (2, "/bridge, /inner", "/bridge"),
        (2, "/bridge", "/bridge"),
        (0, "/bridge", ""),
    ],
)
def test_last_trusted_proxy_names_the_path(proxies: int, named: str, prefix: str) -> None:
    assert placed(Mounted(trusted_proxies=proxies), "/v2/x", named) == (prefix, "/v2/x")


@pytest.mark.parametrize(
    "named",
    [
        "", "/", "bridge", "//example.org", "/a//b", "/..", "/a/./b", "/a b", "/%61", "/a\\b", '/a"', "/a?b",
        "/ä",
    ],
)  # fmt: skip
def test_malformed_path_is_ignored(named: str) -> None:
    assert placed(Mounted(trusted_proxies=1), "/v2/x", named) == ("", "/v2/x")
    assert placed(Mounted("/bridge", 1), "/v2/x", named) == ("/bridge", "/v2/x")


def test_proxy_wins_over_settings() -> None:
    assert placed(Mounted("/inner", 1), "/v2/x", "/bridge") == ("/bridge", "/v2/x")


@pytest.fixture
def below(open_app: OpenApp) -> Flask:
    return open_app(script_name="/bridge", doors=("api", "admin"), own=True)


def test_cookie_and_next_page_of_sign_in_are_below(below: Flask) -> None:
    answer = below.test_client().get("/bridge/admin/chains/")
    assert answer.location == "/bridge/admin/sign-in?next=/bridge/admin/chains/"
    (cookie,) = below.test_client().get("/bridge/admin/sign-in").headers.getlist("Set-Cookie")
    assert "; Path=/bridge/admin;" in cookie


def test_openapi_names_its_own_server(below: Flask) -> None:
    document = below.test_client().get("/bridge/openapi.json").get_json()
    assert [server["url"] for server in document["servers"]] == ["/bridge/"]
    assert "[openapi.json](/bridge/openapi.json)" in document["info"]["description"]


def test_unknown_path_leads_to_the_docs_below(below: Flask) -> None:
    answer = below.test_client().get("/bridge/nothing").get_json()
    assert "described at /bridge/docs/ and in /bridge/openapi.json" in answer["err"]["msg"]


def test_language_is_stored_for_the_pages_below(below: Flask) -> None:
    (cookie,) = below.test_client().get("/bridge/transfer/?lang=es").headers.getlist("Set-Cookie")
    assert "Path=/bridge/transfer/;" in cookie
