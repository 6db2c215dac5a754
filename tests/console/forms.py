"""Reading the forms of a page as a browser does, to send them back changed."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the fuzzer's processes only read forms, and need no application
    from werkzeug.test import TestResponse

    from tests.console.visitor import Visitor

EVERYTHING = {"every_type": "y", "every_chain": "y"}
"""What a new ingest token allows, in its form."""


class _Forms(HTMLParser):
    """The fields of every form that is posted, with what a browser would send for them."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[dict[str, str]] = []
        self.actions: list[str] = []
        self._select: str | None = None
        self._textarea: str | None = None
        self._inside = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        name = given.get("name", "")
        if tag == "form":
            self._inside = given.get("method") == "post"
            if self._inside:
                self.forms.append({})
                self.actions.append(given.get("action", ""))
        if not self._inside or "disabled" in given:
            return
        form = self.forms[-1]
        if tag == "input" and name:
            if given.get("type") not in ("checkbox", "radio", "file") or "checked" in given:
                form[name] = given.get("value", "")
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select and ("selected" in given or self._select not in form):
            form[self._select] = given.get("value", "")
        elif tag == "textarea":
            self._textarea = name
            form[name] = ""

    def handle_data(self, data: str) -> None:
        if self._textarea is not None:
            self.forms[-1][self._textarea] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._textarea is not None:
            # A browser takes the first line break for the tag's own.
            form, name = self.forms[-1], self._textarea
            lines = form[name].replace("\r\n", "\n").removeprefix("\n")
            form[name] = lines.replace("\n", "\r\n")
            self._textarea = None
        elif tag == "select":
            self._select = None
        elif tag == "form":
            self._inside = False


def forms_in(page: str) -> list[tuple[str, list[tuple[str, str]]]]:
    """Every form that is posted: where it goes to, empty for the page itself, and its fields."""
    reader = _Forms()
    reader.feed(page)
    return [
        (action, list(fields.items())) for action, fields in zip(reader.actions, reader.forms, strict=True)
    ]


def form_of(page: TestResponse) -> dict[str, str]:
    """What the page's own form would send: the last one, after that of signing out."""
    reader = _Forms()
    reader.feed(page.text)
    return {name: value for name, value in reader.forms[-1].items() if name != "csrf_token"}


def send(visitor: Visitor, path: str, page: Any = None, **changes: Any) -> TestResponse:
    """The form of a page, filled in and sent.

    :param page: the response that has the form, where it was already requested.
    """
    shown: TestResponse = page or visitor.get(path)
    assert shown.status_code == 200, shown.text
    return visitor.post(path, form_of(shown) | changes)


def save(visitor: Visitor, path: str, typed: str = "", **changes: Any) -> TestResponse:
    """A form filled in, sent, looked at and confirmed, by a typed name where the preview requires one.

    A ``change_reason`` is entered in the preview.
    """
    reason = {name: changes.pop(name) for name in ("change_reason",) if name in changes}
    preview = send(visitor, path, **changes)
    assert 'name="confirm"' in preview.text, preview.text
    assert ('name="typed"' in preview.text) == bool(typed), preview.text
    return send(visitor, path, preview, confirm="1", **reason | ({"typed": typed} if typed else {}))


def pre(page: str, name: str) -> str:
    """The text of a part that can be copied."""
    found = re.search(rf'<pre id="{name}"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert found
    return unescape(found[1])
