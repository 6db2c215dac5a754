"""Webhooks of an API key over HTTP: created, listed and removed with a key of the right scope."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update
from werkzeug.test import TestResponse

from app.audit.services import list_audit
from app.credentials.models import ApiKey
from app.credentials.services.issuing import issue, new_key
from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from app.webhooks.rules.subscription import MAX_SUBSCRIPTIONS
from app.webhooks.services import subscriptions
from app.webhooks.services.delivering import clean_up, take
from app.webhooks.services.shown import list_subscriptions
from tests.actors import TESTER
from tests.api.shapes import WEBHOOKS, assert_refused
from tests.api.world import configure, report_events, sent
from tests.applications import Audited, OpenApp, editing_of
from tests.contract.clients.readers import parse
from tests.contract.clients.shapes import OF_WEBHOOKS
from tests.steps import statements
from tests.webhooks.services.hooks import Plenty

URL = "https://hooks.example/in"
ID = "0x" + "5a" * 32


@pytest.fixture
def app(open_app: OpenApp) -> Flask:
    app = open_app()
    configure(app)
    return app


def make(app: Flask, name: str, *scopes: str) -> str:
    """A new API key."""
    with app.app_context():
        return issue(*editing_of(app), new_key(name, scopes, ""), actor=TESTER).text


def send(app: Flask, key: str | None, method: str = "GET", query: str = "", **body: Any) -> TestResponse:
    answer = app.test_client().open(
        WEBHOOKS + query,
        method=method,
        json=body if method == "POST" else None,
        headers={"Authorization": f"Bearer {key}"} if key else {},
    )
    for read in OF_WEBHOOKS:
        read(parse(answer.get_data()), "webhooks")
    return answer


def made(app: Flask, key: str, **body: Any) -> dict[str, Any]:
    answer = send(app, key, "POST", **{"url": URL, "transfer_ids": [ID]} | body)
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.get_json()
    return document


def test_webhook_is_created_sent_listed_removed(app: Flask, audited: Audited) -> None:
    key = make(app, "wallet", "webhooks")
    account = "0x" + "aB" * 20
    new = made(app, key, name="ledger", accounts=[account, account.lower(), account[2:].upper()])
    assert new["secret"].startswith("whsec_")
    (hook,) = new["webhooks"]
    assert hook == hook | {
        "name": "ledger",
        "url": URL,
        "everything": False,
        "accounts": [account.lower()],
        "transfer_ids": [ID],
        "state": "active",
        "waiting": 0,
    }
    report_events(app, sent(ID))
    (due,) = take(*audited, Plenty())
    assert json.loads(due.body)["data"]["transfer_id"] == ID
    listed = send(app, key).get_json()
    assert (listed["webhooks"][0]["waiting"], listed["secret"]) == (1, "")
    assert send(app, key, "DELETE", f"?id={hook['id']}").get_json()["webhooks"] == []
    assert send(app, key).get_json()["webhooks"] == []


@pytest.mark.parametrize(
    "account",
    [
        "0x" + "aB" * 20,
        "0x" + "ab" * 8,  # Flow
        "0x" + "ab" * 32,  # Move
        "5HB7Rx9VwLcPGjbyGnLjHuxXyPgqkE4ADBZ3iNEJLLRp",
        "inj1x2ck0ql2ngyxqtw8jteyc0tchwnwxv7npaungt",
        "EQCD39VS5jcptHL8vMjEXrzGaRcCVYto7HUn4bpAOg8xqB2N",
    ],
)
def test_accounts_of_every_kind_of_chain(app: Flask, account: str) -> None:
    (hook,) = made(app, make(app, "wallet", "webhooks"), accounts=[account])["webhooks"]
    assert hook["accounts"] == [account.lower()]


def test_key_manages_only_its_own_webhooks(app: Flask) -> None:
    mine, other = make(app, "mine", "webhooks"), make(app, "other", "webhooks")
    hook = made(app, mine)["webhooks"][0]["id"]
    assert send(app, other).get_json()["webhooks"] == []
    refused = send(app, other, "DELETE", f"?id={hook}")
    assert_refused(refused, path=WEBHOOKS, status=200, code=500, reason="webhook_not_found")
    assert len(send(app, mine).get_json()["webhooks"]) == 1


def test_webhooks_require_their_scope(app: Flask, database: Database) -> None:
    reader, part, whole = (
        make(app, f"key{n}", scope) for n, scope in enumerate(("read", "webhooks", "webhooks:all"))
    )
    for method, query in (("GET", ""), ("POST", ""), ("DELETE", "?id=whk_0")):
        assert_refused(
            send(app, None, method, query), path=WEBHOOKS, status=401, code=500, reason="unauthorized"
        )
        refused = send(app, reader, method, query)
        assert_refused(refused, path=WEBHOOKS, status=403, code=500, reason="insufficient_scope")
    refused = send(app, part, "POST", url=URL, everything=True)
    assert_refused(refused, path=WEBHOOKS, status=403, code=500, reason="insufficient_scope")
    assert list_subscriptions(database) == []
    assert made(app, whole, everything=True, transfer_ids=[])["webhooks"][0]["everything"] is True
    assert made(app, whole)["webhooks"][0]["everything"] is False


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "url: is missing"),
        ({"url": "http://hooks.example/", "transfer_ids": [ID]}, "url: must begin with https"),
        ({"url": "https://user@hooks.example/", "transfer_ids": [ID]}, "url: must be a URL"),
        ({"url": URL}, "accounts: name accounts or transfers"),
        ({"url": URL, "transfer_ids": ["0x12"]}, "transfer_ids: number 1 must be"),
        ({"url": URL, "accounts": ["a\0b"]}, "accounts: number 1 must not"),
        ({"url": URL, "accounts": ["0x" + "ab" * 20, "nobody"]}, "accounts: number 2 must be an address"),
        *(
            ({"url": URL, "accounts": [none]}, "accounts: number 1 must be an address: 0x and 40 hex digits")
            for none in (
                "0xab",
                "0x" + "ab" * 21,
                "0x" + "zz" * 20,
                "alice.eth",
                f" 0x{'ab' * 20}",
                "0x" + "ab" * 20 + ",0x" + "cd" * 20,
            )
        ),
        ({"url": URL, "accounts": [7]}, "accounts: number 1 must be a string"),
        ({"url": URL, "accounts": "0xab"}, "accounts: must be a list"),
        (
            {"url": URL, "accounts": [f"0x{n:040x}" for n in range(501)]},
            "accounts: must be a list of at most 500",
        ),
        ({"url": URL, "everything": "maybe"}, "everything: must be true or false"),
        ({"url": URL, "transfer_ids": [ID], "name": "a\nb"}, "name: must have"),
    ],
)
def test_malformed_webhooks_are_refused(app: Flask, body: dict[str, Any], field: str) -> None:
    refused = send(app, make(app, "wallet", "webhooks:all"), "POST", **body)
    assert_refused(refused, path=WEBHOOKS, status=400, code=500, reason="bad_request")
    assert field in refused.get_json()["err"]["msg"]


def test_key_has_a_bounded_number(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_SUBSCRIPTIONS == 100
    monkeypatch.setattr(subscriptions, "MAX_SUBSCRIPTIONS", 2)
    key = make(app, "wallet", "webhooks")
    first = made(app, key)["webhooks"][0]["id"]
    made(app, key)
    refused = send(app, key, "POST", url=URL, transfer_ids=[ID])
    assert_refused(refused, path=WEBHOOKS, status=400, code=500, reason="bad_request")
    send(app, key, "DELETE", f"?id={first}")
    made(app, key)


def test_revoked_key_gets_no_more_webhooks(app: Flask, database: Database, audited: Audited) -> None:
    key = make(app, "wallet", "webhooks")
    made(app, key)
    clean_up(database)
    assert list_subscriptions(database)[0].state == "active"
    with writing(database.engine) as connection:
        connection.execute(update(ApiKey).values(revoked_at=database.clock() - timedelta(seconds=1)))
    clean_up(database)
    (left,) = list_subscriptions(database)
    assert (left.state, left.state_reason) == ("off", "its API key was revoked")
    report_events(app, sent(ID))
    assert take(*audited, Plenty()) == []


def test_audit_log_omits_webhooks_of_keys(app: Flask, database: Database) -> None:
    made(app, make(app, "wallet", "webhooks"))
    assert not any(row.action.startswith("webhook") for row in list_audit(database))


def test_list_length_adds_no_statements(app: Flask) -> None:
    key = make(app, "many", "webhooks")
    counts = []
    for listed in (3, 6):
        for _ in range(3):
            made(app, key)
        with statements(part_of(app, Database).reads) as executed:
            assert len(send(app, key).get_json()["webhooks"]) == listed
        counts.append(len([each for each in executed if "webhook" in each]))
    assert counts[0] == counts[1]
