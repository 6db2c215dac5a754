"""Follows the links of the console's pages, after something has happened there."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urljoin, urlsplit

from flask import Flask
from werkzeug.routing import MapAdapter

from app.accounts.rules.roles import Role
from app.credentials.services.issuing import issue, new_key, new_token
from app.db.database import Database
from app.http.application import part_of
from app.webhooks.services.subscriptions import send_test
from tests.actors import TESTER
from tests.applications import editing_of
from tests.console.forms import form_of, save, send
from tests.console.visitor import Visitor, add_account, email_of
from tests.webhooks.services.hooks import to_subjects


class Links(HTMLParser):
    """The addresses that a page leads to, and the fields of its forms that read."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.fields: set[str] = set()
        self._reads = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._reads = of.get("method", "get").lower() == "get"
        reads_form = tag == "form" and self._reads and "action" in of
        self.found += [of[name] for name in ("href", "src") if name in of]
        self.found += [of["action"]] if reads_form else []
        self.found += [text for name, text in of.items() if name.startswith("data-") and "/admin/" in text]
        if self._reads and tag in ("input", "select") and of.get("name"):
            self.fields.add(of["name"])


@dataclass
class Walk:
    """Follows links from the dashboard on. Of addresses that differ in values only some are followed."""

    visitor: Visitor
    routes: MapAdapter
    alike: int = 1
    """How many addresses are followed that differ in nothing but values."""
    seen: set[str] = field(default_factory=set)
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    pages: dict[str, tuple[str, set[str]]] = field(default_factory=dict)
    """For each route an address, and the arguments that its pages and the links to it have."""
    texts: dict[str, str] = field(default_factory=dict)
    """Each page of the console that was opened, by its address."""

    def along(self, start: str) -> None:
        waiting = [(start, "nowhere")]
        while waiting:
            address, origin = waiting.pop()
            if (found := self.follow(address, origin)) is not None:
                waiting += [(urljoin(address, link), address) for link in found]

    def follow(self, address: str, origin: str) -> list[str] | None:
        """The links of a page; None where it was seen, or is none of ours."""
        parts = urlsplit(address.partition("#")[0])
        names = [name for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
        if parts.netloc or parts.scheme or address in self.seen or not parts.path.startswith("/"):
            return None
        self.seen.add(address)
        endpoint, _ = (
            self.routes.match(parts.path, "GET") if self.routes.test(parts.path, "GET") else ("", {})
        )
        kind = (endpoint or parts.path, " ".join(sorted(names)))
        self.kinds[kind] += 1
        if self.kinds[kind] > self.alike:
            return None
        answer = self.visitor.get(address)
        if answer.status_code >= 400:
            self.wrong.append(f"{answer.status_code} {address}, on {origin}")
        if answer.status_code == 302:
            return [answer.location]
        is_page = answer.status_code == 200 and answer.mimetype == "text/html"
        links = Links(answer.text if is_page else "")
        if is_page:
            self.texts[address] = answer.text
        if parts.path.startswith("/admin/"):
            self.pages.setdefault(endpoint, (parts.path, set()))[1].update(names, links.fields)
        return links.found


def record_activity(app: Flask) -> Visitor:
    """What happened before anybody looks, so that lists have rows and pages have more than one part.

    Returns the administrator who did it.
    """
    add_account(app, Role.ADMIN)
    visitor = Visitor(app)
    visitor.sign_in(email_of(Role.ADMIN))
    save(visitor, "/admin/chains/137", block_delay="121", change_reason="ticket 9")
    proposal = send(visitor, "/admin/pegged_pairs/1", burn_base_fee="7")
    why = {"change_reason": "asked for by the vault's operator", "confirm": "1"}
    visitor.post("/admin/pegged_pairs/1", form_of(proposal) | why)
    issue(*editing_of(app), new_token("a-reporter"), actor=TESTER)
    issue(*editing_of(app), new_key("a-wallet", ("read", "webhooks"), "100/minute"), actor=TESTER)
    send_test(part_of(app, Database), to_subjects(app, ["0xab"]).public_id)
    return visitor


def walk(app: Flask, role: Role, alike: int = 1) -> Walk:
    if role is not Role.ADMIN:
        add_account(app, role)
    visitor = Visitor(app)
    assert visitor.sign_in(email_of(role)).status_code == 302
    walked = Walk(visitor, app.url_map.bind("localhost"), alike)
    walked.along("/admin/")
    return walked
