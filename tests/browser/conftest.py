"""A real Chromium at a real gunicorn with the sandbox; a test fails where a page complains."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from app import create_app
from app.accounts.rules.roles import Role
from config import ALL_DOORS
from tests.applications import close_connections, make_settings
from tests.browser.looking import accessibility, findings, go
from tests.console.forms import forms_in
from tests.console.visitor import PASSWORD, add_account
from tests.databases import SharedSqlite
from tests.grpcweb.node import chromium
from tests.sandboxes import load_into
from tests.serving.server import UNLIMITED, Server, serving
from tests.watcher.services.world import watch_a_chain

FEATURES = (
    # What each new window loads beside its page, and nobody sees: a third of what a short test takes.
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
    # Playwright's own list, which ours replaces.
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding",
    "ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints",
    "NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch",
)  # fmt: skip
"""Of Chromium, that are turned off."""

FLAGS = [
    f"--disable-features={','.join(FEATURES)}",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESKTOP = ViewportSize(width=1280, height=860)
STILL = {"reduced_motion": "reduce"}
"""Of a window: what moves is drawn all the time, also while a test waits."""


class Visit:
    """A browser window at the console, signed in or not, and what went wrong in it."""

    def __init__(self, page: Page, server: Server) -> None:
        self.page = page
        self.base = f"http://{server.host}:{server.port}"
        self.complaints: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(f"script: {error}"))
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("request", lambda request: self._note_request(request.url))

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(f"console {kind}: {text}")

    def _note_request(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and f"{parts.scheme}://{parts.netloc}" != self.base:
            self.complaints.append(f"request to another host: {url}")

    def open(self, path: str) -> Page:
        answer = self.page.goto(self.base + path)
        assert answer
        assert answer.status < 400, f"{path}: {answer.status}"
        return self.page

    def sign_in(self, email: str) -> Page:
        self.open("/admin/sign-in")
        return self.give_password(email)

    def enter(self, email: str) -> None:
        """Be signed in, without the pages on the way: to draw them takes longer than many a test."""
        address = f"{self.base}/admin/sign-in"
        (form,) = [
            dict(fields)
            for _, fields in forms_in(self.page.request.get(address).text())
            if "email" in dict(fields)
        ]
        typed: dict[str, str | float | bool] = {**form, "email": email, "password": PASSWORD}
        answer = self.page.request.post(address, form=typed, max_redirects=0)
        assert answer.status == 302, answer.text()

    def give_password(self, email: str, password: str = PASSWORD) -> Page:
        """At the page that asks for it; the page that answers is loaded at the end."""
        self.page.get_by_label("Email").fill(email)
        self.page.get_by_label("Password").fill(password)
        go(self.page.get_by_role("button", name="Sign in"))
        return self.page

    def check_accessibility(self) -> None:
        """No finding of axe-core on the page as it stands."""
        found = accessibility(self.page)
        assert not found, f"{self.page.url}\n" + "\n".join(found)

    def check_look(self) -> None:
        """Nothing is wrong with the page in both themes and at every width."""
        found = findings(self.page)
        assert not found, f"{self.page.url}\n" + "\n".join(found)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of a module alone: while Playwright runs, no other test of the process can run an event loop."""
    path = chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[SharedSqlite]:
    """The database of the server."""
    database = SharedSqlite(sqlite_template, tmp_path_factory.mktemp("sandbox") / "gateway.db")
    yield database
    database.close()


@pytest.fixture(scope="session")
def running(sandbox: SharedSqlite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two workers for all modules. They write no counts while the database is emptied.

    Pegged pairs are guarded by two persons. Every interface is open, as by ``make run``.
    """
    settings = {"DATABASE_URL": sandbox.url, "WEB_CONCURRENCY": "2"}
    settings |= {"TWO_PERSONS": "pegged_pairs", "DOORS": ",".join((*ALL_DOORS, "wait"))}
    with serving(UNLIMITED, tmp_path_factory.mktemp("server") / "log", **settings) as server:
        yield server


@pytest.fixture(scope="module")
def server(running: Server, sandbox: SharedSqlite) -> Server:
    """The server with the sandbox and an account of each role, as no other module has left them."""

    def fill() -> None:
        app = create_app(make_settings(sandbox.url))
        with app.app_context():
            load_into(app)
            watch_a_chain(app)
            for role in Role:
                add_account(app, role)
            close_connections()

    sandbox.empty()
    sandbox.fill("tests.browser", fill)
    return running


NewWindow = Callable[..., Visit]
"""Opens a window that shares nothing with others: ``new_window(timezone_id="Asia/Kolkata")``."""


@pytest.fixture
def new_window(browser: Browser, server: Server) -> Iterator[NewWindow]:
    """The test fails where a page of any of its windows complained."""
    visits: list[Visit] = []

    def open_window(**options: Any) -> Visit:
        context = browser.new_context(**STILL | {"viewport": DESKTOP, "locale": "en-GB"} | options)
        visits.append(Visit(context.new_page(), server))
        return visits[-1]

    yield open_window
    for visit in visits:
        visit.page.context.close()
    assert [complaint for visit in visits for complaint in visit.complaints] == []


@pytest.fixture
def visit(new_window: NewWindow) -> Visit:
    """A window of its own."""
    return new_window()
