"""Signs in to the console as a browser does."""

from __future__ import annotations

import re
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from urllib.parse import urlencode

from tests.serving.crowd import Listener

SIGN_IN = "/admin/sign-in"


class Browser:
    """Its cookies, and the address that it comes from."""

    def __init__(self, server: Listener, address: str | None = None) -> None:
        """
        :param address: what a trusted proxy says, None where there is none.
        """
        self.server = server
        self.address = address
        self.cookies: dict[str, str] = {}

    def request(self, method: str, path: str, fields: dict[str, str] | None = None) -> tuple[int, str]:
        """One request on a connection of its own; the status and the text of its answer."""
        connection = HTTPConnection(self.server.host, self.server.port, timeout=90)
        headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        if self.address:
            headers["X-Forwarded-For"] = self.address
        if fields is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, urlencode(fields) if fields is not None else None, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        for line in answer.headers.get_all("Set-Cookie") or ():
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        return answer.status, text

    def token(self, page: str = SIGN_IN) -> str:
        """The form token of a page."""
        found = re.search(r'name="csrf_token" value="([^"]+)"', self.request("GET", page)[1])
        assert found
        return found[1]

    def sign_in(self, email: str, password: str, token: str | None = None) -> int:
        """The status of the answer; 302 leads on."""
        fields = {"csrf_token": token or self.token(), "email": email, "password": password}
        return self.request("POST", SIGN_IN, fields)[0]

    def sign_out(self) -> None:
        """Sign out. What the browser is known by stays."""
        assert (
            self.request("POST", "/admin/sign-out", {"csrf_token": self.token("/admin/account/")})[0] == 302
        )


def guess(server: Listener, email: str, password: str) -> int:
    """Sign in with a browser that nobody knows; the status of the answer."""
    return Browser(server).sign_in(email, password)
