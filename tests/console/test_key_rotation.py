"""``SECRET_KEY`` is replaced: sessions, codes, open forms and known browsers stay valid."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from sqlalchemy import select, update

from app.accounts.models import Operator
from app.accounts.rules.roles import Role
from app.accounts.services.accounts import find_account
from app.accounts.services.code_keys import UNNAMED, CodeKeys, key_name
from app.console.sign_in import forms
from app.db.database import Database
from app.db.engine import reading, writing
from app.http.application import part_of
from tests.applications import OpenApp
from tests.console.second_factor import code_of, set_up
from tests.console.visitor import Visitor, email_of, signed_in

FIRST, SECOND, THIRD = (
    f"{word} secret key of the tests, 32 characters" for word in ("first", "second", "third")
)
VIEWER = email_of(Role.VIEWER)


def moved(visitor: Visitor, app: Flask) -> Visitor:
    """The same browser, whose requests another process answers from now on."""
    there = Visitor(app)
    there.client._cookies = visitor.client._cookies
    return there


def shown_token(visitor: Visitor) -> str:
    """The token of a form that the browser has open."""
    found = re.search(r'name="csrf_token"[^>]*value="([^"]+)"', visitor.get("/admin/account/").text)
    assert found
    return found[1]


def post_with_token(visitor: Visitor, token: str) -> int:
    """What a form with this token is answered: 302 where it is taken."""
    path = "/admin/account/second-factor"
    return visitor.client.post(path, data={"csrf_token": token, "setup": "authenticator"}).status_code


def signs_in(app: Flask, key: str, browser: Visitor | None = None) -> Visitor | None:
    """Somebody who signs in with password and code; None where one of them is refused."""
    with writing(part_of(app, Database).engine) as connection:
        connection.execute(update(Operator).values(totp_last_counter=None))
    visitor = moved(browser, app) if browser else Visitor(app)
    visitor.sign_in(VIEWER)
    visitor.post("/admin/sign-in/code", {"code": code_of(key)})
    return visitor if visitor.inside else None


def knows_device(visitor: Visitor) -> bool:
    """Whether the console knows the browser from an earlier sign-in."""
    app = visitor.client.application
    cookie = next(c for (_, _, name), c in (visitor.client._cookies or {}).items() if "_device_" in name)
    with app.test_request_context("/admin/", headers={"Cookie": f"{cookie.key}={cookie.value}"}):
        account = find_account(part_of(app, Database), email=VIEWER)
        assert account is not None
        return forms.known_device(account) is not None


def key_names(app: Flask) -> set[str]:
    with reading(part_of(app, Database).engine) as connection:
        stored = connection.scalars(
            select(Operator.tf_totp_secret).where(Operator.tf_totp_secret.is_not(None))
        )
        return {key_name(secret or "") for secret in stored}


def reencrypted(app: Flask, *options: str) -> tuple[int, str]:
    result = app.test_cli_runner().invoke(args=["operators", "reencrypt", *options])
    return result.exit_code, result.output


def test_secret_is_decrypted_by_named_key() -> None:
    keys = CodeKeys("present", ["old"])
    secret = keys.factory().new().to_json(encrypt=True)
    for name in keys.by_name:
        assert [key_name(each) for each in keys.readings(keys.named(secret, name))] == [name]
    assert {key_name(each) for each in keys.readings(keys.named(secret, UNNAMED))} == set(keys.by_name)
    assert not keys.readings(keys.named(secret, "removed"))


def test_keys_rotate_without_a_gap(open_app: OpenApp) -> None:
    before = open_app(secret_key=FIRST)
    visitor = signed_in(before, Role.VIEWER)
    key = set_up(visitor)
    token = shown_token(visitor)

    announced = open_app(secret_key=FIRST, secret_keys_old=(SECOND,))
    replaced = open_app(secret_key=SECOND, secret_keys_old=(FIRST,))
    visitor = moved(visitor, replaced)
    assert visitor.inside
    assert post_with_token(visitor, token) == 200, "a form that was open is taken"
    assert moved(visitor, announced).inside, "processes that know the new key take what it signed"
    assert post_with_token(moved(visitor, announced), shown_token(moved(visitor, replaced))) == 200
    assert knows_device(moved(visitor, replaced))
    assert signs_in(announced, key)
    fresh = signs_in(replaced, key)
    assert fresh

    assert key_names(replaced) == {CodeKeys(FIRST, ()).present}
    code, shown_text = reencrypted(replaced)
    assert (code, "present key: 1; already before: 0" in shown_text) == (0, True), shown_text
    assert key_names(replaced) == {CodeKeys(SECOND, ()).present}
    code, shown_text = reencrypted(replaced)
    assert (code, "present key: 0; already before: 1" in shown_text) == (0, True), shown_text
    assert signs_in(announced, key), "a process before the change reads it still"

    assert moved(visitor, replaced).inside, "each response signs its cookie again"
    after = open_app(secret_key=SECOND)
    assert moved(visitor, after).inside
    assert signs_in(after, key)
    assert knows_device(moved(fresh, after))


def test_removed_key_is_refused(open_app: OpenApp) -> None:
    before = open_app(secret_key=FIRST)
    visitor = signed_in(before, Role.VIEWER)
    key = set_up(visitor)
    token, again = shown_token(visitor), Visitor(before)
    again.sign_in(VIEWER)
    after = open_app(secret_key=SECOND)
    assert not knows_device(moved(visitor, after))
    code, shown_text = reencrypted(after)
    assert (code, VIEWER in shown_text) == (1, True), "it says whose secret cannot be read"
    assert signs_in(after, key) is None
    stranger = moved(visitor, after)
    assert not stranger.inside
    assert post_with_token(stranger, token) != 200


def test_signatures_use_the_new_key(open_app: OpenApp) -> None:
    """Also between two steps of a rotation."""
    replaced, after = open_app(secret_key=SECOND, secret_keys_old=(FIRST,)), open_app(secret_key=SECOND)
    before = open_app(secret_key=FIRST)
    for name in ("wan_serializer", "tf_setup_serializer", "tf_validity_serializer"):
        signers = [getattr(app.extensions["security"], name) for app in (before, replaced, after)]
        assert signers[2].loads(signers[1].dumps("challenge")) == "challenge"
        assert signers[1].loads(signers[0].dumps("challenge")) == "challenge"


@pytest.fixture
def unnamed(open_app: OpenApp) -> str:
    """The key of an authenticator app whose secret is stored as the first versions did."""
    app = open_app(secret_key=FIRST)
    key = set_up(signed_in(app, Role.VIEWER))
    with writing(part_of(app, Database).engine) as connection:
        secret = connection.scalar(select(Operator.tf_totp_secret)) or ""
        named = CodeKeys(FIRST, ()).named(secret, UNNAMED)
        connection.execute(update(Operator).values(tf_totp_secret=named))
    return key


def test_secrets_of_the_first_versions_are_read(open_app: OpenApp, unnamed: str) -> None:
    app = open_app(secret_key=FIRST)
    assert signs_in(app, unnamed)
    for keys in ((SECOND, (FIRST,)), (FIRST, (SECOND,)), (THIRD, (FIRST, SECOND))):
        assert signs_in(open_app(secret_key=keys[0], secret_keys_old=keys[1]), unnamed)
    assert signs_in(open_app(secret_key=SECOND, secret_keys_old=(THIRD,)), unnamed) is None
    assert reencrypted(app)[0] == 0
    assert key_names(app) == {CodeKeys(FIRST, ()).present}
    assert signs_in(app, unnamed)


def test_reencryption_requires_key_of_unnamed_secrets(open_app: OpenApp, unnamed: str) -> None:
    """Under a wrong key the secrets would be lost: nothing distinguishes it from the right one."""
    app = open_app(secret_key=SECOND, secret_keys_old=(FIRST,))
    code, shown_text = reencrypted(app)
    assert (code, "--unnamed" in shown_text, key_names(app)) == (1, True, {UNNAMED}), shown_text
    assert reencrypted(app, "--unnamed", "oldest")[0] == 0
    assert key_names(app) == {CodeKeys(SECOND, ()).present}
    assert signs_in(open_app(secret_key=SECOND), unnamed)
