"""Second factors as a person uses them: codes, and passkeys of an authenticator that Chromium simulates."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import update

from app import create_app
from app.accounts.models import OperatorSession
from app.accounts.rules.roles import Role
from app.accounts.rules.sign_in import RECOVERY_CODES
from app.db.database import Database
from app.db.engine import writing
from app.http.application import part_of
from tests.applications import close_connections, make_settings
from tests.browser.conftest import Visit
from tests.browser.looking import COLOURS, accessibility, go
from tests.console.second_factor import code_of
from tests.console.visitor import email_of
from tests.databases import SharedSqlite

pytestmark = pytest.mark.system

OPERATOR = email_of(Role.OPERATOR)


@pytest.fixture
def device(visit: Visit) -> Iterator[Visit]:
    """A window at ``localhost``, whose device has a passkey provider that asks its owner and gets a yes."""
    visit.base = visit.base.replace("127.0.0.1", "localhost")
    session = visit.page.context.new_cdp_session(visit.page)
    session.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    yield visit
    session.detach()


def add_passkey(visit: Visit, name: str) -> Page:
    page = visit.open("/admin/account/")
    page.get_by_label("Name").fill(name)
    page.get_by_role("button", name="Add passkey").click()
    return page


def look(visit: Visit) -> None:
    """The page is accessible in both themes. ``findings`` would end its authenticator."""
    visit.check_accessibility()
    visit.page.emulate_media(color_scheme="dark")
    assert accessibility(visit.page, COLOURS) == []
    visit.page.emulate_media(color_scheme="light")


def let_proofs_age(sandbox: SharedSqlite) -> None:
    """The last proof of every session is long ago, as if its owner had been away."""
    app = create_app(make_settings(sandbox.url))
    with app.app_context():
        database = part_of(app, Database)
        with writing(database.engine) as connection:
            long_ago = database.clock().replace(year=2020)
            connection.execute(update(OperatorSession).values(proved_at=long_ago))
        close_connections()


def test_new_passkey_signs_in(device: Visit) -> None:
    device.enter(email_of(Role.ADMIN))
    page = add_passkey(device, "this laptop")
    go(page.get_by_role("link", name="Not now"))
    expect(page.get_by_role("cell", name="this laptop", exact=True)).to_be_visible()
    look(device)
    go(page.get_by_role("button", name="Sign out", exact=True))
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()


@pytest.mark.slow
def test_passkey_from_registration_to_use(device: Visit, sandbox: SharedSqlite) -> None:
    page = device.sign_in(OPERATOR)
    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
    page = add_passkey(device, "this laptop")
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    go(page.get_by_role("button", name="Create recovery codes"))
    expect(page.locator("#codes li")).to_have_count(RECOVERY_CODES)
    look(device)
    code = page.locator("#codes code").first.inner_text()
    go(page.get_by_role("link", name="I have saved them"))
    expect(page.get_by_role("cell", name="this laptop", exact=True)).to_be_visible()
    look(device)
    go(page.get_by_role("button", name="Sign out", exact=True))

    # Alone.
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
    go(page.get_by_role("button", name="Sign out", exact=True))

    # After the password.
    page = device.sign_in(OPERATOR)
    expect(page.get_by_text("Your password is correct")).to_be_visible()
    look(device)
    page.get_by_role("button", name="Use passkey").click()
    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()

    # When a sensitive change asks again: nothing that was typed is lost.
    page = device.open("/admin/chains/1/stop")
    page.get_by_label("Reason").fill("a fork is being looked at")
    page.get_by_label("Type “Ethereum").fill("Ethereum")
    let_proofs_age(sandbox)
    go(page.get_by_role("button", name="Stop Ethereum"))
    expect(page.get_by_role("heading", name="Confirm that it is you")).to_be_visible()
    look(device)
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.locator(".message-success")).to_contain_text("a fork is being looked at")
    go(page.get_by_role("button", name="Sign out", exact=True))

    # Lost: the recovery code is asked for in its place, once.
    page = device.sign_in(OPERATOR)
    go(page.get_by_role("link", name="Use a recovery code"))
    look(device)
    page.get_by_label("Recovery code").fill(code)
    go(page.get_by_role("button", name="Continue"))
    expect(page.get_by_text(f"You have {RECOVERY_CODES - 1} recovery codes left")).to_be_visible()

    page = device.open("/admin/account/")
    page.on("dialog", lambda dialog: dialog.accept())
    go(page.get_by_role("button", name="Remove this laptop"))
    expect(page.get_by_text("Passkey “this laptop” removed.")).to_be_visible()


def test_refused_passkey_can_be_retried(visit: Visit) -> None:
    """A device without any passkey."""
    visit.base = visit.base.replace("127.0.0.1", "localhost")
    session = visit.page.context.new_cdp_session(visit.page)
    session.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "usb", "hasUserVerification": True, "isUserVerified": False}
    session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    page = visit.open("/admin/sign-in")
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.locator("[data-passkey-problem]")).to_be_visible()
    look(visit)
    expect(page.get_by_role("button", name="Try again")).to_be_enabled()


def test_authenticator_app_from_setup_to_use(visit: Visit) -> None:
    viewer = email_of(Role.VIEWER)
    visit.enter(viewer)
    page = visit.open("/admin/account/")
    go(page.get_by_role("link", name="Set up authenticator app"))
    go(page.get_by_role("button", name="Set up authenticator app"))
    expect(page.get_by_alt_text("The key as a QR code")).to_be_visible()
    key = page.locator("code.break").inner_text()
    page.get_by_label("code").fill(code_of(key))
    go(page.get_by_role("button", name="Turn on"))
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    go(page.get_by_role("button", name="Sign out", exact=True))

    visit.give_password(viewer)
    expect(page.get_by_role("heading", name="Second factor")).to_be_visible()
    visit.check_accessibility()
    page.get_by_label("code").fill(code_of(key, 1))  # this period's is used up
    go(page.get_by_role("button", name="Continue"))
    expect(page.get_by_role("heading", name="Dashboard")).to_be_visible()
