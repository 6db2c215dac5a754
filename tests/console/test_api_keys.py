"""API keys in the console: made and shown once, their use by day, revoked; and who sees what."""

from __future__ import annotations

import re

from flask import Flask

from app.accounts.rules.roles import Role
from app.credentials.callers import KeyUses
from app.credentials.services.issuing import issue, new_key
from app.credentials.services.presented import presented_key
from app.db.database import Database
from tests.actors import TESTER
from tests.applications import Editing
from tests.console.visitor import Visitor, signed_in

KEYS = "/admin/api_keys/"
NEVER = 1e6
"""Seconds until uses would be written by themselves."""
FIELDS = {"name": "wallet", "scopes": ["read", "webhooks"], "rate_limit": "100/minute;1000/hour"}


def key_on_page(page: str) -> str:
    found = re.search(r"<code class=\"break\">(gwk_[^<]+)</code>", page)
    assert found
    return found[1]


def test_key_is_made_shown_once_revoked(app: Flask, database: Database, admin: Visitor) -> None:
    key = key_on_page(admin.post(f"{KEYS}new", FIELDS).text)
    found = presented_key(database, f"Bearer {key}")
    assert found is not None
    assert (found.name, found.rate_limit) == ("wallet", FIELDS["rate_limit"])
    assert sorted(found.scopes) == FIELDS["scopes"]
    (path,) = set(re.findall(rf'href="({KEYS}\d+)"', admin.get(KEYS).text))
    for shown in (admin.get(KEYS).text, admin.get(path).text):
        assert key[20:] not in shown
        assert key[4:20] in shown, "the key ID"
        assert "100/minute;1000/hour" in shown
    assert "No requests with this key" in admin.get(path).text
    admin.post(f"{path}/revoke", {"typed": "wall"})
    assert "Nothing was changed" in admin.get(path).text
    assert presented_key(database, f"Bearer {key}") is not None
    assert admin.post(f"{path}/revoke", {"typed": "Wallet"}).location == KEYS
    page = admin.get(path).text
    assert "revoked" in page
    assert "Revoke the key" not in page
    headers = {"Authorization": f"Bearer {key}"}
    assert app.test_client().get("/v2/getTransferConfigs", headers=headers).status_code == 401
    assert admin.get(f"{KEYS}999").status_code == admin.get(f"{KEYS}{10**30}").status_code == 404


def test_invalid_key_is_refused(admin: Visitor) -> None:
    admin.post(f"{KEYS}new", FIELDS)
    for wrong, words in (
        ({"name": "wallet"}, "is already used, or was used before"),
        ({"name": "<script>alert(1)</script>"}, "is not a valid name"),
        ({"scopes": "<script>alert(1)</script>"}, "is not a scope"),
        ({"scopes": []}, "needs at least one scope"),
        ({"rate_limit": "<script>alert(1)</script>"}, "is not a limit"),
        ({"digest": "x"}, "has no field"),
    ):
        answer = admin.post(f"{KEYS}new", {**FIELDS, "name": "a"} | wrong).text
        assert words in answer
        assert "<script>alert" not in answer


def test_use_of_key_is_shown_by_day(database: Database, admin: Visitor) -> None:
    admin.post(f"{KEYS}new", FIELDS)
    assert ">never</td>" in admin.get(KEYS).text
    uses = KeyUses(database.engine, database.clock, seconds=NEVER)
    for request in range(1205):
        uses.used(1, limited=request < 3)
    uses.flush()
    uses.end()
    today = f"{database.clock():%Y-%m-%d}"
    page = admin.get(f"{KEYS}1").text
    assert f'<td>{today}</td><td class="number">1 205</td><td class="number">3</td>' in page
    assert f">{today}</td>" in admin.get(KEYS).text


def test_operators_read(app: Flask, editing: Editing) -> None:
    issue(*editing, new_key("wallet", ("read",), ""), actor=TESTER)
    operator = signed_in(app, Role.OPERATOR)
    assert "Add key" not in operator.get(KEYS).text
    page = operator.get(f"{KEYS}1").text
    assert "wallet" in page
    assert "Revoke the key" not in page
    assert "Add key" in signed_in(app, Role.ADMIN).get(KEYS).text
