"""What nginx with the shipped configuration answers by itself is the envelope, whatever it could not read."""

from __future__ import annotations

import json
import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from http.client import HTTPResponse

import pytest

from serving.reserved import every_field
from tests.deploy.files import free_port
from tests.deploy.nginx import OPERATORS, PLACES, PLAIN, PUBLIC, Nginx, proxying
from tests.programs import program

pytestmark = pytest.mark.system

HOST = "\r\nHost: localhost\r\n"
LONG_HEADER = f"X: {'x' * 8000}\r\n"
UNREAD = {
    "a path with a NUL": f"GET /admin%00 HTTP/1.1{HOST}\r\n",
    "a path with half an escape": f"GET /%zz HTTP/1.1{HOST}\r\n",
    "a path above the root": f"GET /../.. HTTP/1.1{HOST}\r\n",
    "a whole URL with a NUL": f"GET http://localhost/%00 HTTP/1.1{HOST}\r\n",
    "no path": f"OPTIONS * HTTP/1.1{HOST}\r\n",
    "no request line": "hello\r\n\r\n",
    "a method in lower case": f"get / HTTP/1.1{HOST}\r\n",
    "another version": f"GET / HTTP/3.0{HOST}\r\n",
    "no version": f"GET / HTTP/x{HOST}\r\n",
    "no host": "GET / HTTP/1.1\r\n\r\n",
    "two hosts": f"GET / HTTP/1.1{HOST}Host: other\r\n\r\n",
    "a host with a slash": "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
    "a NUL in a header": f"GET / HTTP/1.1{HOST}X: a\0b\r\n\r\n",
    "a long header": f"GET / HTTP/1.1{HOST}X: {'x' * 17_000}\r\n\r\n",
    "many headers": f"GET / HTTP/1.1{HOST}{LONG_HEADER * 10}\r\n",
    "a length that is no number": f"POST / HTTP/1.1{HOST}Content-Length: x\r\n\r\n",
    "two lengths": f"POST / HTTP/1.1{HOST}Content-Length: 1\r\nContent-Length: 1\r\n\r\n ",
    "a length and chunks": f"POST / HTTP/1.1{HOST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    "an unknown transfer": f"POST / HTTP/1.1{HOST}Transfer-Encoding: gzip\r\n\r\n",
    "tunnels": f"CONNECT localhost:443 HTTP/1.1{HOST}\r\n",
}


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nginx]:
    """One without gateways behind it."""
    closed = {place: free_port() for place in PLACES.values()}
    with proxying(tmp_path_factory.mktemp("nginx"), closed) as running:
        yield running


def answer(nginx: Nginx, port: int, request: str, *, encrypted: bool) -> tuple[HTTPResponse, bytes]:
    """The answer to bytes that no library sends."""
    with socket.create_connection(("127.0.0.1", nginx.ports[port]), 20) as plain:
        certificate = nginx.folder / "gateway-place/tls/fullchain.pem"
        context = ssl.create_default_context(cafile=certificate)
        caller = context.wrap_socket(plain, server_hostname="localhost") if encrypted else plain
        caller.sendall(request.encode())
        response = HTTPResponse(caller, method=request.split(" ", maxsplit=1)[0])
        response.begin()
        return response, response.read()


def assert_is_envelope(response: HTTPResponse, body: bytes, status: int, message: str) -> None:
    refused = json.loads(body)
    assert (response.status, refused.pop("err")) == (status, {"code": 500, "msg": message})
    assert refused == {name: zero for name, zero in every_field().items() if name != "err"}
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["X-Gateway-Reason"] == "bad_request"
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert response.headers["Cache-Control"] == "no-store"
    assert re.fullmatch("[0-9a-f]{32}", response.headers["X-Request-Id"])


@pytest.mark.parametrize("port", [PUBLIC, OPERATORS, PLAIN])
@pytest.mark.parametrize("request_", UNREAD.values(), ids=UNREAD)
def test_unreadable_request_has_the_envelope(nginx: Nginx, port: int, request_: str) -> None:
    response, body = answer(nginx, port, request_, encrypted=port != PLAIN)
    assert_is_envelope(response, body, 400, "the request cannot be read")


@pytest.mark.parametrize("port", [PUBLIC, OPERATORS, PLAIN])
def test_long_request_line_has_the_envelope(nginx: Nginx, port: int) -> None:
    request = f"GET /{'x' * 17_000} HTTP/1.1{HOST}\r\n"
    response, body = answer(nginx, port, request, encrypted=port != PLAIN)
    remedy = "omit what is not needed, or send the fields in the body of a POST"
    assert_is_envelope(response, body, 414, f"the request line is too long; {remedy}")


@pytest.mark.parametrize("port", [PUBLIC, OPERATORS])
def test_http_on_https_port_has_the_envelope(nginx: Nginx, port: int) -> None:
    response, body = answer(nginx, port, f"GET / HTTP/1.1{HOST}\r\n", encrypted=False)
    assert_is_envelope(response, body, 400, "this port takes https only")
    response, body = answer(nginx, port, "hello\r\n\r\n", encrypted=False)
    assert_is_envelope(response, body, 400, "the request cannot be read")


def test_broken_chunks_have_the_envelope(nginx: Nginx) -> None:
    request = f"POST /v2/getTransferStatus HTTP/1.1{HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n"
    response, body = answer(nginx, PUBLIC, request, encrypted=True)
    assert_is_envelope(response, body, 400, "the request cannot be read")


def test_refused_head_request_has_headers_only(nginx: Nginx) -> None:
    response, body = answer(nginx, PUBLIC, f"HEAD /%00 HTTP/1.1{HOST}\r\n", encrypted=True)
    assert (response.status, response.headers["X-Gateway-Reason"], body) == (400, "bad_request", b"")


def test_unread_path_is_in_the_log_with_the_id(nginx: Nginx) -> None:
    response, _ = answer(nginx, PUBLIC, UNREAD["a path with a NUL"], encrypted=True)
    (line,) = nginx.logged(response.headers["X-Request-Id"])
    assert (line["path"], line["status"]) == ("/unread", 400)


def test_paths_of_refusals_are_not_public(nginx: Nginx) -> None:
    for path in ("/unread", "/unread/long"):
        response, body = nginx.request("GET", path)
        assert (response.status, json.loads(body)["err"]["code"]) == (404, 500)


def test_http_leads_to_https_with_any_body(nginx: Nginx) -> None:
    request = f"POST /ingest/v1/events?a=b HTTP/1.1{HOST}Content-Length: 50000000\r\n\r\n"
    response, _ = answer(nginx, PLAIN, request, encrypted=False)
    assert (response.status, response.headers["Location"]) == (308, "https://localhost/ingest/v1/events?a=b")


def test_http_2_refusals_have_the_envelope(nginx: Nginx) -> None:
    url = f"https://localhost:{nginx.ports[PUBLIC]}/admin%00"
    certificate = str(nginx.folder / "gateway-place/tls/fullchain.pem")
    command = [
        program("curl"),
        "--silent",
        "--http2",
        "--cacert",
        certificate,
        "-w",
        "\n%{http_version} %{http_code}",
    ]
    done = subprocess.run([*command, url], capture_output=True, text=True, check=True)
    body, _, end = done.stdout.rpartition("\n")
    assert end == "2 400"
    assert json.loads(body)["err"] == {"code": 500, "msg": "the request cannot be read"}
