"""In a real browser: the largest chain of the production configuration is copied whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from app import create_app
from app.accounts.rules.roles import Role
from tests.applications import close_connections, make_settings
from tests.browser.conftest import Visit
from tests.browser.looking import findings, go
from tests.console.large import import_production
from tests.console.visitor import add_account, email_of
from tests.databases import SharedSqlite
from tests.network.services.network_kit import VAULT
from tests.serving.server import Server

ETHEREUM, NEW = 1, 8454
PICTURES = os.environ.get("PICTURES", "")
"""A folder for pictures of what was looked at; none are taken without it."""

FILL = """inputs => inputs.forEach((input, n) => {
  input.value = "0x" + (n + 1).toString(16).padStart(40, "0");
})"""
TICK = "inputs => inputs.forEach(input => { input.checked = true; })"


@pytest.fixture(scope="module")
def server(running: Server, sandbox: SharedSqlite) -> Server:
    """The server with the production configuration and an account of each role."""

    def fill() -> None:
        app = create_app(make_settings(sandbox.url))
        with app.app_context():
            import_production(app)
            for role in Role:
                add_account(app, role)
            close_connections()

    sandbox.empty()
    sandbox.fill("tests.browser production", fill)
    return running


def picture(visit: Visit, name: str) -> None:
    if PICTURES:
        visit.page.screenshot(path=str(Path(PICTURES) / f"{name}.png"))


@pytest.mark.slow
def test_largest_chain_is_copied_whole(visit: Visit) -> None:
    visit.sign_in(email_of(Role.OPERATOR))
    page = visit.open("/admin/connect/")
    page.locator("[name=like]").select_option(str(ETHEREUM))
    go(page.locator("main form .form-actions button.primary"))
    expect(page.locator("main [name=token]").first).to_be_visible()
    page.locator("main [data-pick]").click()
    picture(visit, "choose-tokens")
    assert not findings(page)
    go(page.locator("main form .form-actions button.primary"))
    texts = {"id": str(NEW), "name": "New", "explore_url": "https://explorer.example", "contract_addr": VAULT}
    for name, typed in texts.items():
        page.locator(f"main [name={name}]").fill(typed)
    page.locator("main input[name^=token][name$=_address]").evaluate_all(FILL)
    page.locator("main input[type=checkbox][name^=token][name$=_take]").evaluate_all(TICK)
    assert page.locator("main form input").count() > 1_300
    picture(visit, "connect-ethereum")
    go(page.locator("main form .form-actions button.primary"))
    picture(visit, "connect-ethereum-preview")
    go(page.locator("button[name=confirm]"))
    expect(page.locator("main .message-success").first).to_be_visible()
