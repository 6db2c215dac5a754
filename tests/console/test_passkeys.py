"""Passkeys: registered, used as the only or the second factor, refused where anything differs."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from flask import Flask
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url

from app.accounts.rules.roles import Role
from app.accounts.services.accounts import find_account, update_account
from app.accounts.services.factors import find_passkey, list_passkeys, use_passkey
from app.audit.services import list_audit
from app.db.database import Database
from app.http.application import part_of
from tests.actors import TESTER
from tests.amounts import few_or_many
from tests.applications import Editing, OpenApp
from tests.builders.clock import MovableClock
from tests.console.authenticator import (
    Authenticator,
    PasskeyRequest,
    add_passkey,
    request_passkey,
    sign_in_by_passkey,
)
from tests.console.second_factor import code_of, set_up
from tests.console.visitor import NOW, PASSWORD, Visitor, add_account, email_of, signed_in, visitor_of

VIEWER = email_of(Role.VIEWER)


def account_id(app: Flask, email: str = VIEWER) -> int:
    account = find_account(part_of(app, Database), email=email)
    assert account
    return account.id


def actions(app: Flask) -> list[tuple[str, str]]:
    """Action and detail of every audit record, the last first."""
    return [(row.action, row.detail) for row in list_audit(part_of(app, Database))]


def with_passkey(app: Flask, role: Role = Role.VIEWER) -> Authenticator:
    """The device of somebody who has registered its passkey."""
    made = Authenticator()
    answer = add_passkey(signed_in(app, role), made)
    assert answer.status_code == 302, answer.text
    return made


def test_passkey_replaces_password(app: Flask) -> None:
    device, visitor = with_passkey(app), Visitor(app)
    answer = sign_in_by_passkey(visitor, device)
    assert answer.location == "/admin/"
    assert visitor.inside
    assert ("passkey.add", "my phone") in actions(app)
    assert actions(app)[0] == ("sign_in", "passkey")


@pytest.mark.every_database
def test_sign_in_completes_with_own_passkey(app: Flask) -> None:
    device, visitor = with_passkey(app), Visitor(app)
    answer = visitor.sign_in(VIEWER)
    assert answer.location.startswith("/admin/sign-in/passkey")
    assert not visitor.inside, "the password is not enough"
    assert visitor.get("/admin/account/second-factor").location == "/admin/sign-in", "nor to set up codes"
    visitor.sign_in(VIEWER)
    requested = request_passkey(visitor)
    assert len(requested.options["allowCredentials"]) == 1
    visitor.post(requested.action, {"credential": device.answer(requested.options)})
    assert visitor.inside


def test_code_or_passkey_is_enough(app: Flask, clock: MovableClock) -> None:
    device = with_passkey(app)
    owner = Visitor(app)
    sign_in_by_passkey(owner, device)
    secret = set_up(owner)
    for step in ("passkey", "code"):
        clock.forward(seconds=1)
        visitor = Visitor(app)
        page = visitor.sign_in(VIEWER, follow_redirects=True)
        assert "Use a passkey" in page.text
        if step == "passkey":
            sign_in_by_passkey(visitor, device)
        else:
            visitor.post("/admin/sign-in/code", {"code": code_of(secret)})
        assert visitor.inside, step


def test_passkey_answer_counts_once(app: Flask) -> None:
    device, visitor = with_passkey(app), Visitor(app)
    requested = request_passkey(visitor)
    answer = {"credential": device.answer(requested.options)}
    visitor.post(requested.action, answer)
    assert visitor.inside
    thief = Visitor(app)
    thief.post(requested.action, answer)
    assert not thief.inside


@pytest.mark.every_database
def test_one_answer_lets_in_once(app: Flask, database: Database) -> None:
    """What decides where both have checked the signature before either has used the challenge."""
    device = with_passkey(app)
    passkey = find_passkey(database, device.credential_id)
    assert passkey
    later = NOW.replace(microsecond=1)
    used = [use_passkey(database, passkey.id, at, 0) for at in (NOW, NOW, later, NOW)]
    assert used == [True, False, True, False]


def test_challenge_expires(app: Flask, clock: MovableClock) -> None:
    device, visitor = with_passkey(app), Visitor(app)
    requested = request_passkey(visitor)
    clock.forward(minutes=5, seconds=1)
    visitor.post(requested.action, {"credential": device.answer(requested.options)})
    assert not visitor.inside


@pytest.mark.parametrize(
    "device",
    [{"origin": "https://evil.example"}, {"site": "evil.example"}, {"asks_owner": False}, {"key": "other"}],
    ids=str,
)
def test_wrong_passkey_is_refused(app: Flask, device: dict[str, Any]) -> None:
    good, visitor = with_passkey(app), Visitor(app)
    bad = Authenticator(**{name: value for name, value in device.items() if name != "key"})
    bad.credential_id, bad.handle = good.credential_id, good.handle
    if "key" not in device:
        bad.key = good.key
    answer = sign_in_by_passkey(visitor, bad)
    assert answer.status_code == 302
    assert "was not accepted" in visitor.get("/admin/sign-in/passkey").text
    assert not visitor.inside
    assert actions(app)[0] == ("sign_in.failed", "passkey not accepted")


MALFORMED = ["", "x", "{}", "[]", "null", '{"id":1}', "\0", '{"rawId":{}}', "9" * 5000, "[" * 5000]


def test_malformed_answers_are_refused(app: Flask, database: Database) -> None:
    visitor, owner = Visitor(app), signed_in(app, Role.VIEWER)
    for credential in MALFORMED:
        requested = request_passkey(visitor)
        assert visitor.post(requested.action, {"credential": credential}).status_code == 302, credential[:9]
        answered = visitor.post("/admin/sign-in/passkey/nonsense", {"credential": credential})
        assert answered.status_code == 302, credential[:9]
        requested = PasskeyRequest(owner.post("/admin/account/passkey", {"name": "a"}))
        assert owner.post(requested.action, {"credential": credential}).status_code == 302, credential[:9]
    assert not visitor.inside
    assert not list_passkeys(database, account_id(app))


@pytest.mark.parametrize("times", few_or_many(20, 150))
def test_altered_answer_is_refused_without_fault(app: Flask, times: int) -> None:
    """Whatever of JSON, CBOR, keys and signatures is not what it should be."""
    chance = Random(20261121)
    owner, device = signed_in(app, Role.VIEWER), Authenticator()
    requested = PasskeyRequest(owner.post("/admin/account/passkey", {"name": "a"}))
    registered = device.register(requested.options)
    for _ in range(times):
        assert owner.post(requested.action, {"credential": mutated(registered, chance)}).status_code == 302
    visitor = Visitor(app)
    device = with_passkey(app, Role.OPERATOR)
    requested = request_passkey(visitor)
    answer = device.answer(requested.options)
    for _ in range(times):
        answered = visitor.post(requested.action, {"credential": mutated(answer, chance)})
        assert answered.status_code == 302
    visitor = Visitor(app)  # some changes are none, such as leaving out who it claims to be
    for name in ("clientDataJSON", "authenticatorData", "signature"):
        for _ in range(times // 5):
            visitor.post(requested.action, {"credential": with_other_byte(answer, name, chance)})
    assert not visitor.inside


def mutated(credential: str, chance: Random) -> str:
    """The JSON with one of its values replaced, or a letter of it changed."""
    document = json.loads(credential)
    place = chance.choice([document, document["response"]])
    name = chance.choice(sorted(place))
    if not isinstance(place[name], str) or chance.random() < 0.3:
        place[name] = chance.choice([None, 1, [], {}, "", "AA", "=", "é", [[]], -1])
        return json.dumps(document)
    at = chance.randrange(len(place[name]))
    place[name] = place[name][:at] + chance.choice("A9_-é ") + place[name][at + 1 :]
    return json.dumps(document)


def with_other_byte(credential: str, name: str, chance: Random) -> str:
    """The JSON with one byte of what is signed, or of the signature, changed."""
    document = json.loads(credential)
    content = bytearray(base64url_to_bytes(document["response"][name]))
    content[chance.randrange(len(content))] ^= chance.randrange(1, 256)
    document["response"][name] = bytes_to_base64url(bytes(content))
    return json.dumps(document)


def test_passkey_without_owner_verification_is_refused(
    app: Flask, database: Database, viewer: Visitor
) -> None:
    add_passkey(viewer, Authenticator(asks_owner=False))
    assert not list_passkeys(database, account_id(app))


def test_foreign_challenge_is_refused(app: Flask, database: Database) -> None:
    """Else a thief who is signed in as himself could prepare what he plants in somebody's open session."""
    thief, owner = signed_in(app, Role.OPERATOR), signed_in(app, Role.VIEWER)
    device = Authenticator()
    requested = PasskeyRequest(thief.post("/admin/account/passkey", {"name": "planted"}))
    owner.post(requested.action, {"credential": device.register(requested.options)})
    assert not list_passkeys(database, account_id(app))
    assert add_passkey(owner, device).status_code == 302
    visitor = Visitor(app)
    requested = PasskeyRequest(owner.post("/admin/account/passkey", {"name": "other"}))
    token = requested.action.rsplit("/", 1)[1]
    answer = device.answer({}, challenge=requested.options["challenge"])
    visitor.post(f"/admin/sign-in/passkey/{token}", {"credential": answer})
    assert not visitor.inside


def test_guesser_does_not_lock_out_passkey(app: Flask) -> None:
    device, visitor = with_passkey(app), Visitor(app)
    for _ in range(6):
        visitor.sign_in(VIEWER, "a guess")
    assert "Try again in" in visitor.sign_in(VIEWER).text
    sign_in_by_passkey(visitor, device)
    assert visitor.inside


def test_sign_in_refuses_passkey_of_other_account(app: Flask) -> None:
    device = with_passkey(app)
    other = signed_in(app, Role.OPERATOR)
    assert add_passkey(other, Authenticator()).status_code == 302
    visitor = visitor_of(app, email_of(Role.OPERATOR))
    sign_in_by_passkey(visitor, device)
    assert not visitor.inside


def test_inactive_account_cannot_use_passkey(app: Flask, editing: Editing) -> None:
    device, visitor = with_passkey(app), Visitor(app)
    update_account(*editing, account_id(app), {"active": False}, actor=TESTER)
    sign_in_by_passkey(visitor, device)
    assert not visitor.inside
    assert actions(app)[0][0] == "sign_in.failed"


def test_passkeys_are_named_listed_and_removed(app: Flask, database: Database, viewer: Visitor) -> None:
    assert add_passkey(viewer, Authenticator(), "laptop").status_code == 302
    assert "laptop" in viewer.get("/admin/account/").text
    for name, complaint in (
        ("laptop", "another name"),
        (" laptop ", "another name"),
        (" ", "Give the passkey a name"),
        ("<b>", "Enter a name of letters, digits"),
    ):
        assert complaint in viewer.post("/admin/account/passkey", {"name": name}).text, name
    viewer.post("/admin/account/remove-passkey", {"name": "laptop"})
    assert not list_passkeys(database, account_id(app))
    assert actions(app)[0] == ("passkey.remove", "laptop")
    viewer.post("/admin/account/remove-passkey", {"name": "laptop"})
    assert "You have no passkey “laptop”. Reload the page." in viewer.get("/admin/account/").text


def test_passkey_pages_answer_json_requests(viewer: Visitor) -> None:
    add_passkey(viewer, Authenticator())
    for path in ("/admin/account/passkey", "/admin/account/", "/admin/sign-in/passkey"):
        assert viewer.get(path, headers={"Accept": "application/json"}).status_code < 500, path


def test_required_factor_cannot_be_removed(
    app: Flask, database: Database, editing: Editing, viewer: Visitor
) -> None:
    add_passkey(viewer, Authenticator(), "one")
    update_account(*editing, account_id(app), {"second_factor_required": True}, actor=TESTER)
    viewer.post("/admin/account/remove-passkey", {"name": "one"})
    assert [each.name for each in list_passkeys(database, account_id(app))] == ["one"]
    assert "only second factor" in viewer.get("/admin/account/").text
    add_passkey(viewer, Authenticator(), "two")
    viewer.post("/admin/account/remove-passkey", {"name": "one"})
    assert [each.name for each in list_passkeys(database, account_id(app))] == ["two"]


@pytest.mark.every_database
def test_admin_reset_removes_passkeys(app: Flask) -> None:
    device = with_passkey(app)
    admin = signed_in(app, Role.ADMIN)
    admin.post(f"/admin/operators/{account_id(app)}/reset-second-factor")
    visitor = Visitor(app)
    sign_in_by_passkey(visitor, device)
    assert not visitor.inside
    visitor.sign_in(VIEWER)
    assert visitor.inside
    assert ("passkey.remove", "forgotten: my phone") in actions(app)


@pytest.mark.parametrize("host", ["", "a b", ":", "x:999999", "a@localhost", "localhost/x", "é", "%zz"])
def test_invalid_host_has_no_passkeys(app: Flask, host: str) -> None:
    page = Visitor(app).get("/admin/sign-in", headers={"Host": host})
    assert page.status_code < 500
    assert "passkey" not in page.text


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "[::1]:8000", "gw.example", "localhost.evil.example"])
def test_without_origin_only_localhost_has_passkeys(app: Flask, host: str) -> None:
    visitor = Visitor(app)
    headers = {"Host": host}
    assert "passkey" not in visitor.get("/admin/sign-in", headers=headers).text
    with app.test_request_context(headers=headers):
        token = visitor.token()
    answer = visitor.client.post("/admin/sign-in/passkey", data={"csrf_token": token}, headers=headers)
    assert answer.status_code == 400


def test_passkey_site_follows_setting(open_app: OpenApp) -> None:
    """Not the Host header."""
    app = open_app(public_origin="https://console.example.org")
    add_account(app, Role.VIEWER)
    elsewhere = Visitor(app)
    assert "passkey" not in elsewhere.get("/admin/sign-in").text, "localhost is another site"
    at = {"base_url": "https://console.example.org"}
    visitor = Visitor(app)
    page = visitor.client.get("/admin/sign-in", **at)
    token = page.text.split('name="csrf_token"', 1)[1].split('value="', 1)[1].split('"', 1)[0]
    visitor.client.post(
        "/admin/sign-in", data={"csrf_token": token, "email": VIEWER, "password": PASSWORD}, **at,
        headers={"Referer": "https://console.example.org/"},
    )  # fmt: skip
    page = visitor.client.get("/admin/account/", **at)
    token = page.text.split('name="csrf_token"', 1)[1].split('value="', 1)[1].split('"', 1)[0]
    send = {"headers": {"Referer": "https://console.example.org/"}} | at
    named = {"csrf_token": token, "name": "a"}
    requested = PasskeyRequest(visitor.client.post("/admin/account/passkey", data=named, **send))
    assert requested.options["rp"]["id"] == "console.example.org"
    device = Authenticator(origin="https://console.example.org", site="console.example.org")
    data = {"csrf_token": token, "credential": device.register(requested.options)}
    visitor.client.post(requested.action, data=data, **send)
    assert list_passkeys(part_of(app, Database), account_id(app))
