"""Signs in to the console as a browser does."""

from __future__ import annotations

import re
from http.client import HTTPConnection
from urllib.parse import urlencode

from tests.serving.server import Server


def guess(server: Server, email: str, password: str) -> int:
    """Sign in as a browser does; the status of the answer."""
    connection = HTTPConnection(server.host, server.port, timeout=20)
    connection.request("GET", "/admin/sign-in")
    page = connection.getresponse()
    token = re.search(r'name="csrf_token" value="([^"]+)"', page.read().decode())
    assert token
    cookie = page.headers["Set-Cookie"].split(";")[0]
    body = urlencode({"csrf_token": token[1], "email": email, "password": password})
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie}
    connection.request("POST", "/admin/sign-in", body, headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status
