"""The host and the route of a request are found as Flask finds them, but read once."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask, Request
from werkzeug.exceptions import HTTPException
from werkzeug.test import create_environ, run_wsgi_app

from app.http.application import GatewayFlask

STOCK, OURS = Flask("stock"), GatewayFlask("ours")


def found(app: Flask, environ: dict[str, Any]) -> object:
    """What routing and redirects go by."""
    request = Request(environ)
    try:
        adapter = app.create_url_adapter(request)
    except HTTPException as error:
        return type(error)
    assert adapter is not None
    return request.host, {name: value for name, value in vars(adapter).items() if name != "map"}


@pytest.mark.parametrize(
    "host",
    [
        "gateway.example", "GateWay.Example", "gateway.example:80", "gateway.example:443", "127.0.0.1:8000",
        "[::1]", "[::1]:8000", "a b", "a/b", "gateway.example:", "gateway.example:99999", "x" * 300,
        "b\xfccher.example", "gateway_1.example", "", ".", "a..b", "xn--bcher-kva.example", None,
    ],
)  # fmt: skip
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_host_is_read_like_flask(host: str | None, scheme: str) -> None:
    environ = create_environ("/v2/x", base_url=f"{scheme}://localhost/")
    environ.pop("HTTP_HOST")
    if host is not None:
        environ["HTTP_HOST"] = host
    assert found(OURS, environ) == found(STOCK, environ)


@pytest.mark.parametrize(
    "change",
    [
        {"PATH_INFO": "/caf\xc3\xa9"},
        {"PATH_INFO": "/\xff\xfe"},
        {"PATH_INFO": ""},
        {"QUERY_STRING": "a=\xe9&b=%20"},
        {"SCRIPT_NAME": "/below"},
        {"REQUEST_METHOD": "PATCH"},
        {"HTTP_CONNECTION": "keep-alive, Upgrade", "HTTP_UPGRADE": "websocket"},
        {"HTTP_CONNECTION": "close"},
    ],
)
def test_requests_are_read_like_flask(change: dict[str, str]) -> None:
    environ = create_environ("/v2/x?a=1") | change
    assert found(OURS, environ) == found(STOCK, environ)


@pytest.mark.parametrize("left_out", ["SCRIPT_NAME", "PATH_INFO", "QUERY_STRING"])
def test_missing_wsgi_variables_are_like_flasks(left_out: str) -> None:
    environ = create_environ("/v2/x?a=1")
    environ.pop(left_out)
    assert found(OURS, environ) == found(STOCK, environ)


@pytest.mark.parametrize("host", ["[", "[x]", "::1]", "[::1"])
def test_brackets_that_hold_no_address(host: str) -> None:
    """Flask fails where it builds a URL with some of them; here each is refused before."""
    answered = run_wsgi_app(GatewayFlask("ours"), create_environ("/") | {"HTTP_HOST": host})
    assert answered[1] == "400 BAD REQUEST"
