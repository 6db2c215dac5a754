"""A browser's worth of the console: cookies, the token of its forms, one connection."""

from __future__ import annotations

import re
from http.client import HTTPConnection, HTTPResponse
from http.cookies import SimpleCookie
from typing import Final
from urllib.parse import urlencode

from tests.load.served import Served
from tests.soak.stage import EMAIL, PASSWORD

_TOKEN: Final = re.compile(r'name="csrf_token"[^>]*value="([^"]+)"')
_TIMEOUT: Final = 30


class Browser:
    """An operator at the console.

    :raises AssertionError: of each method: the answer is none that an operator goes on with.
    """

    def __init__(self, served: Served) -> None:
        self._wire = HTTPConnection(served.host, served.port, timeout=_TIMEOUT)
        self._cookies: SimpleCookie = SimpleCookie()
        self._token = ""

    def sign_in(self) -> None:
        """With the password."""
        self.get("/admin/sign-in")
        self._post("/admin/sign-in", {"email": EMAIL, "password": PASSWORD})
        self.get("/admin/")  # the forms of the new session have another token

    def sign_out(self) -> None:
        """End the session, and close."""
        self._post("/admin/sign-out", {})
        self._wire.close()

    def get(self, path: str) -> str:
        """The page at this path."""
        response, page = self._request("GET", path)
        assert response.status == 200, f"{path}: {response.status}"
        if found := _TOKEN.search(page):
            self._token = found[1]
        return page

    def _post(self, path: str, fields: dict[str, str]) -> None:
        body = urlencode({"csrf_token": self._token, **fields})
        response, _ = self._request("POST", path, body)
        assert response.status == 302, f"{path}: {response.status}"

    def _request(self, method: str, path: str, body: str | None = None) -> tuple[HTTPResponse, str]:
        headers = {"Cookie": "; ".join(f"{name}={cookie.value}" for name, cookie in self._cookies.items())}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        self._wire.request(method, path, body, headers)
        response = self._wire.getresponse()
        page = response.read().decode()
        for line in response.headers.get_all("Set-Cookie") or ():
            self._cookies.load(line)
        return response, page
