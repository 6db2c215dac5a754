"""NUL, which PostgreSQL neither stores nor compares, in addresses and forms of somebody who is signed in."""

from __future__ import annotations

import re

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from app.audit.services import list_audit
from app.db.database import Database
from tests.console.visitor import signed_in
from tests.watcher.services.world import CHAIN, watch_a_chain

pytestmark = pytest.mark.every_database

SPAN = {"since": "2026-01-01 00:00"}
"""What a replay asks for before it looks for the webhook."""


def addresses(app: Flask) -> list[tuple[str, str]]:
    """Method and path of each page with a text in its address, which is NUL here."""
    return [
        (method, re.sub(r"<\w+>", "%00", re.sub(r"<int:\w+>", "1", rule.rule)))
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/admin/") and {"public_id", "transfer_id"} & rule.arguments
        for method in sorted({"GET", "POST"} & (rule.methods or set()))
    ]


def test_no_address_has_it(app: Flask, network: Flask) -> None:
    visitor = signed_in(app, Role.ADMIN)
    sent = addresses(app)
    assert len(sent) > 10
    for method, path in sent:
        answer = visitor.get(path) if method == "GET" else visitor.post(path, SPAN)
        assert answer.status_code == 404, (method, path)


def test_reading_of_a_chain_stops_with_the_rest_of_the_reason(
    app: Flask, network: Flask, database: Database
) -> None:
    watch_a_chain(network)
    visitor, stop = signed_in(app, Role.OPERATOR), f"/admin/watching/{CHAIN}/stop"
    assert "Enter a reason" in visitor.post(stop, {"reason": " \0"}, follow_redirects=True).text
    assert "Stopped reading" in visitor.post(stop, {"reason": "the\0node"}, follow_redirects=True).text
    assert "The node." in visitor.get(f"/admin/chains/{CHAIN}").text
    assert list_audit(database)[0].detail == "the node"


def test_a_document_with_it_is_refused(app: Flask, network: Flask) -> None:
    visitor = signed_in(app, Role.ADMIN)
    for path, fields in (("compare", {}), ("apply", {}), ("apply", {"back": "1"})):
        for text in ("a\0", '{"version": 1, "chains": [{"name": "\\u0000"}]}'):
            answer = visitor.post(f"/admin/document/{path}", {"text": text} | fields)
            assert answer.status_code == 400, (path, text)
            assert "the document" in answer.text.casefold(), (path, text)
