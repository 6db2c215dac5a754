"""An operator who is signed in to the console, over a wire of the fuzzer."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from tests.console.forms import forms_in
from tests.fuzz.exchange import Answer, Wire
from tests.fuzz.input import Corpus, Input, http_request

SIGN_IN = b"/admin/sign-in"

STARTS = (
    "/admin/", "/admin/chains/1", "/admin/blocked_addresses/new", "/admin/document/", "/admin/pools/new",
    "/admin/account/", "/admin/api_keys/new",
)  # fmt: skip
"""Where links are followed from; most have forms."""


class Operator:
    """A session. ``cookie`` and ``token`` are what its requests are made with."""

    def __init__(self, wire: Wire, corpus: Corpus) -> None:
        self.cookie, self.token = b"", ""
        self._wire, self._corpus = wire, corpus

    def sign_in(self) -> None:
        """Begin a new session."""
        self.cookie = b""
        self.get(SIGN_IN)
        fields = {"csrf_token": self.token, "email": self._corpus.email, "password": self._corpus.password}
        kind = b"Content-Type: application/x-www-form-urlencoded"
        answer = self._send(
            http_request(b"POST", SIGN_IN, [*self._headers(), kind], urlencode(fields).encode())
        )
        assert answer.status == 302, answer.body[:2000]
        self.get(b"/admin/")

    def get(self, path: bytes) -> str:
        """The page at a path."""
        page = self._send(http_request(b"GET", path, self._headers())).body.decode()
        for _, fields in forms_in(page):
            self.token = dict(fields).get("csrf_token", self.token)
        return page

    def _headers(self) -> list[bytes]:
        return [b"Cookie: " + self.cookie] if self.cookie else []

    def _send(self, raw: bytes) -> Answer:
        (answer,) = self._wire.send(Input("operator", raw)).answers
        self.store_cookie(answer)
        return answer

    def store_cookie(self, answer: Answer) -> None:
        """Take a cookie that an answer sets."""
        for value in re.findall(rb"(?i)\r\nset-cookie: (console=[^;]*)", answer.head):
            self.cookie = value


def found_pages(operator: Operator, most: int) -> tuple[list[str], list[tuple[str, list[tuple[str, str]]]]]:
    """Pages of the console that links lead to, a few of each kind, and the forms on them."""
    left, kinds = list(STARTS), set(STARTS)
    forms: dict[tuple[str, tuple[str, ...]], list[tuple[str, str]]] = {}
    pages: list[str] = []
    while left and len(pages) < most:
        path = left.pop(0)
        pages.append(path)
        page = operator.get(path.encode())
        for action, fields in forms_in(page):
            if "sign-out" not in (action or path):
                forms.setdefault((action or path, tuple(name for name, _ in fields)), fields)
        for link in re.findall(r'href="(/admin/[^"#]*)"', page):
            plain = link.replace("&amp;", "&")
            kind = re.sub(r"\d+|0x[0-9a-f]+|=[^&]*", "*", plain)
            if kind not in kinds and "static" not in kind:
                kinds.add(kind)
                left.append(plain)
    return pages, [(action, fields) for (action, _), fields in forms.items()]
