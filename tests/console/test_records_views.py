"""Anomalies, validators and ingest tokens in the console."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert, select, update

from app.accounts.rules.roles import Role
from app.credentials.rules.ingest_token import EnvironmentTokens
from app.credentials.services.issued import list_tokens
from app.credentials.services.presented import authenticate
from app.db.database import Database
from app.db.engine import reading, writing
from app.network.document import import_network
from app.transfers.models import Anomaly
from tests.actors import TESTER
from tests.applications import Editing
from tests.console.forms import EVERYTHING
from tests.console.visitor import NOW, Visitor, signed_in
from tests.feed.services.world import event, feed
from tests.network.services.network_kit import SIGNERS, text
from tests.network.services.network_kit import network as small_network

TRANSFER = bytes(31) + b"\x07"


@pytest.fixture
def anomalies(app: Flask, database: Database) -> Flask:
    row: dict[str, Any] = {"detail": "<b>two</b>", "event_ids": ["a"], "first_at": NOW, "transfer_id": None}
    rows: list[dict[str, Any]] = [
        {"kind": "released_twice", "subject": f"transfer:0x{TRANSFER.hex()}", "transfer_id": TRANSFER},
        {"kind": "pool_under_zero", "subject": "pool:1:<script>x</script>", "event_ids": []},
        {"kind": "id_with_two_contents", "subject": "event:=1+1", "event_ids": ["b"]},
    ]
    with writing(database.engine) as connection:
        for n, values in enumerate(rows):
            at = NOW + timedelta(minutes=n)
            connection.execute(insert(Anomaly).values(row | values | {"last_at": at}))
    return app


def picks(visitor: Visitor) -> list[str]:
    return re.findall(
        r'name="pick" form="acknowledge" value="([^"]+)"', visitor.get("/admin/anomalies/").text
    )


def waiting(database: Database) -> int:
    with reading(database.engine) as connection:
        return len(connection.execute(select(Anomaly.id).where(Anomaly.acknowledged_at.is_(None))).all())


def test_anomalies_are_read_and_acknowledged(app: Flask, anomalies: Flask, database: Database) -> None:
    operator = signed_in(app, Role.OPERATOR)
    page = operator.get("/admin/anomalies/").text
    assert f'href="/admin/transfers/0x{TRANSFER.hex()}"' in page
    assert "<script>x" not in page
    assert "<b>two" not in page
    assert len(picks(operator)) == 3
    answer = operator.post("/admin/anomalies/acknowledge", {"pick": picks(operator)[:2]})
    assert answer.location == "/admin/anomalies/"
    assert waiting(database) == 1
    after = operator.get("/admin/anomalies/").text
    assert "Audit record" in after
    assert "operator@example.org" in after
    assert (
        "operator@example.org"
        not in operator.get("/admin/anomalies/?flt1_state_is=0").text.split("<table")[1]
    )
    operator.post("/admin/anomalies/acknowledge", {})
    assert "Select at least one" in operator.get("/admin/anomalies/").text


def test_changed_anomaly_is_not_acknowledged(app: Flask, anomalies: Flask, database: Database) -> None:
    operator = signed_in(app, Role.OPERATOR)
    picked = picks(operator)
    with writing(database.engine) as connection:
        connection.execute(
            update(Anomaly).where(Anomaly.kind == "released_twice").values(event_ids=["a", "c"])
        )
    operator.post("/admin/anomalies/acknowledge", {"pick": picked})
    assert "Nothing was acknowledged" in operator.get("/admin/anomalies/").text
    assert waiting(database) == 3
    for wrong in ("", "x", "1", "-1 x", f"{10**30} x", "77 x"):
        assert operator.post("/admin/anomalies/acknowledge", {"pick": wrong}).status_code == 302
    assert waiting(database) == 3
    viewer = signed_in(app, Role.VIEWER)
    assert picks(viewer) == []


def test_chain_page_shows_its_validators(app: Flask, editing: Editing) -> None:
    import_network(*editing, text(small_network()), actor=TESTER)
    viewer = signed_in(app, Role.VIEWER)
    page = viewer.get("/admin/chains/1").text
    for signer in SIGNERS:
        assert signer.lower() in page
    assert "50 %" in page
    assert "Version 0" in page
    assert "No validators are known" in viewer.get("/admin/chains/56").text
    assert viewer.get("/admin/validators/").location == "/admin/chains/"


def test_feed_texts_are_escaped(app: Flask, network: Flask) -> None:
    script = "<script>alert(1)</script>"
    rotation: dict[str, Any] = {"chain_id": 1, "signers": [SIGNERS[0]], "powers": ["1"], "block": 5}
    feed(network, event("validators.updated", script, **rotation))
    feed(network, event("validators.updated", script, **rotation | {"powers": ["2"]}))
    viewer = signed_in(app, Role.VIEWER)
    validators = viewer.get("/admin/chains/1").text
    anomalies = viewer.get("/admin/anomalies/").text
    for page in (validators, anomalies):
        assert "&lt;script&gt;alert(1)" in page
        assert "<script>alert" not in page
    assert "One event id, two contents" in anomalies
    assert "Version 1" in validators


def test_token_is_replaced_while_both_valid(
    network: Flask, database: Database, environment_tokens: EnvironmentTokens, admin: Visitor
) -> None:
    fields = {"name": "watcher-eth", "days": "1 000", "quota_events": "1\u202f000", "quota_seconds": "60"}
    fields |= EVERYTHING
    admin.post("/admin/ingest_tokens/new", fields)
    (path,) = set(re.findall(r'href="(/admin/ingest_tokens/\d+)"', admin.get("/admin/ingest_tokens/").text))
    second = re.search(r"<code class=\"break\">([^<]+)</code>", admin.post(f"{path}/rotate", {}).text)
    assert second
    token = authenticate(database, environment_tokens, second[1].encode())
    assert (token.name, str(token.quota), token.expires_at is None) == (
        "watcher-eth",
        "1 000 events in 60 s",
        False,
    )
    assert admin.post(f"{path}/rotate", {}).location == path
    assert "already has 2 valid tokens" in admin.get(path).text
    old, new = [
        token.key_id for token in list_tokens(database, environment_tokens) if token.name == "watcher-eth"
    ]
    listed = admin.get("/admin/ingest_tokens/").text
    for key_id, age in ((old, "old"), (new, "new")):
        assert re.search(rf'{key_id}</span> <span class="pill [a-z-]+">{age}<', listed)
    assert f"Type the key ID <code>{old}</code>" in admin.get(path).text
    assert "a newer token of this reporter" in admin.get(path).text
    for wrong_one in ("watcher-eth", new):
        admin.post(f"{path}/revoke", {"typed": wrong_one})
        assert "Nothing was changed" in admin.get(path).text, "both have the name"
    admin.post(f"{path}/revoke", {"typed": old})
    assert authenticate(database, environment_tokens, second[1].encode()), (
        "only the one of the page is revoked"
    )
    assert ">new<" not in admin.get("/admin/ingest_tokens/").text
    for wrong in (
        {"days": "0"},
        {"days": "x"},
        {"days": "1,000"},
        {"quota_events": "5"},
        {"quota_events": "-1", "quota_seconds": "1"},
    ):
        answer = admin.post("/admin/ingest_tokens/new", {"name": "another"} | EVERYTHING | wrong)
        assert "break" not in answer.text, wrong
    assert len(list_tokens(database, environment_tokens)) == 3


def test_token_is_made_shown_once_revoked(
    network: Flask, database: Database, environment_tokens: EnvironmentTokens, admin: Visitor
) -> None:
    fields = {"name": "watcher-eth", "types": ["chain.head", "transfer.sent"], "chains": ["1", "56"]}
    page = admin.post("/admin/ingest_tokens/new", fields).text
    token = re.search(r"<code class=\"break\">([^<]+)</code>", page)
    assert token
    assert authenticate(database, environment_tokens, token[1].encode()).name == "watcher-eth"
    made = next(found for found in list_tokens(database, environment_tokens) if found.name == "watcher-eth")
    assert made.scope.chains == {1, 56}
    listed = admin.get("/admin/ingest_tokens/").text
    assert token[1] not in listed
    assert "Ethereum (1), BNB Chain (56)" in listed
    assert "INGEST_TOKENS" in listed, "those of the settings are named"
    (path,) = set(re.findall(r'href="(/admin/ingest_tokens/\d+)"', listed))
    admin.post(f"{path}/revoke", {"typed": "watcher-eth"})
    assert "Nothing was changed" in admin.get(path).text
    assert (
        admin.post(f"{path}/revoke", {"typed": f" {made.key_id}".upper()}).location == "/admin/ingest_tokens/"
    )
    assert "revoked" in admin.get(path).text
    for wrong, words in (
        (EVERYTHING | {"name": "watcher-eth"}, "is already used, or was used before"),
        (EVERYTHING | {"name": "<script>alert(1)</script>"}, "is not a valid name"),
        ({"name": "a", "types": "<script>alert(1)</script>", "every_chain": "y"}, "is not an event type"),
        ({"name": "a", "chains": "x", "every_type": "y"}, "Choose chains from the list"),
        ({"name": "a", "chains": "9" * 5000, "every_type": "y"}, "Choose chains from the list"),
        ({"name": "a", "digest": "x"}, "has no field"),
        ({"name": "a"}, "Select the event types that the token allows, or all of them."),
        ({"name": "a", "every_type": "y"}, "Select the chains that the token allows, or all of them."),
        (EVERYTHING | {"name": "a", "chains": "1"}, "Choose either all chains or single ones, not both."),
    ):
        answer = admin.post("/admin/ingest_tokens/new", wrong).text
        assert words in answer
        assert "<script>alert" not in answer
    assert admin.get("/admin/ingest_tokens/999").status_code == 404
    assert admin.get(f"/admin/ingest_tokens/{10**30}").status_code == 404
