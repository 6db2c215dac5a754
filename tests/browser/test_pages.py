"""Every page of the console in a browser: accessible in both themes, quiet, at home, within the screen.

A page is opened once and looked at in every way (``findings``). What is found is reported together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from flask import Flask
from playwright.sync_api import Page, expect
from sqlalchemy import create_engine, text

from app import create_app
from app.accounts.rules.roles import Role
from app.sandbox.catalogue import sandbox_id
from app.values.codes import TransferHistoryStatus as Status
from tests.applications import close_connections, make_settings
from tests.browser.conftest import Visit
from tests.browser.looking import findings, go
from tests.console.visitor import PASSWORD, add_account, email_of
from tests.console.walking import record_activity, walk
from tests.databases import SharedSqlite
from tests.sandboxes import load_into
from tests.serving.server import Server
from tests.watcher.services.world import watch_a_chain

pytestmark = pytest.mark.system

SEARCHED = (
    "/admin/transfers/?stuck=user&seen=1",
    "/admin/transfers/?status=11&src=1&dst=1",
    "/admin/search/?q=0x1234",
    "/admin/search/?q=usdc",
    "/admin/search/?q=0x0000…0001",
    f"/admin/transfers/{sandbox_id(Status.TRANSFER_COMPLETED)}",
    f"/admin/transfers/{sandbox_id(Status.TRANSFER_UNKNOWN, 1)}",
    "/admin/estimates/?src=1&dst=56&token=USDT&amount=100&slippage=0.5",
    "/admin/estimates/?src=1&dst=56&token=USDT&amount=100000000&slippage=0.5",
    "/admin/estimates/?src=1&amount=x&caller=x",
    "/admin/audit/?subject=nothing+like+it",
    "/admin/connect/?like=nothing",
    "/admin/connect/?like=1",
    "/admin/connect/token?chain=137&symbol=BUSD",
    "/admin/chains/resume?all=1",
    "/admin/validators/1/sets",
    "/admin/validators/1/sets/0",
    "/admin/operators/1/reset-second-factor",
    *(f"/admin/account/{name}" for name in ("kept", "password", "passkey", "recovery-codes")),
)
"""Addresses beside those that links lead to: filtered, typed, or of a step that no link has just now."""

MAIN_PAGES = (
    f"/admin/transfers/{sandbox_id(Status.TRANSFER_REQUESTING_REFUND)}",
    "/admin/proposals/1",
)
"""A page of one thing, and one of a decision. Other tests look at the dashboard and lists (``test_unknown``,
``test_scale``) and at forms, a slow one at all."""

PAGE = r"/admin/(?!refresh)(?!.*\bsort=)"
"""Not parts of a page, nor the same list in another order."""

PARTS, FEWEST_PAGES = 3, 60

PREVIEW = ".form-actions button.primary"
CONFIRM = "button[name=confirm]"
BAD_LIST = "0x00000000000000000000000000000000000000c1\nno address\n"


@dataclass(frozen=True)
class Sent:
    """A form that is filled in and sent; what is looked at is the answer."""

    path: str
    fields: Mapping[str, str] = field(default_factory=dict)
    button: str = PREVIEW
    shows: str = "main .field-error, main .message-error"


USDT_ON_BASE = "/admin/connect/token?chain=8453&symbol=USDT"
REFUSED = (
    *(Sent(f"/admin/{name}/new") for name in ("tokens", "pools", "routes", "pegged_pairs")),
    *(Sent(f"/admin/{name}/new") for name in ("route_blocks", "blocked_addresses", "blocked_networks")),
    Sent("/admin/blocked_addresses/new", {"text": BAD_LIST}),
    Sent("/admin/connect/?like=10", {"id": "x"}),
    Sent("/admin/connect/?like=nothing"),
    Sent("/admin/connect/token?chain=137&symbol=BUSD"),
    Sent(USDT_ON_BASE, {"token0_address": f"0x{7:040x}", "token0_liquidity": "250000"}),
    Sent("/admin/chains/1/stop", button=CONFIRM),
    Sent("/admin/chains/stop?all=1", {"typed": "x"}, CONFIRM),
    Sent("/admin/routes/base-fees"),
    Sent("/admin/validators/1/opening", {"validators": "x"}),
    Sent("/admin/routes/1", {"base_fee": "x", "pinned_until": "2020-01-01T00:00"}),
    Sent("/admin/pegged_pairs/1", {"burn_base_fee": "-1"}),
    Sent("/admin/operators/new"),
    Sent("/admin/ingest_tokens/new"),
    Sent("/admin/api_keys/new"),
    Sent("/admin/webhooks/new", {"url": "http://10.0.0.1/"}),
    Sent("/admin/account/password"),
    Sent("/admin/document/", {"text": "{"}),
)
"""Forms that come back with what is wrong."""

PREVIEWED = (
    Sent("/admin/chains/10", {"block_delay": "1", "name": "Other"}, shows=".diff"),
    Sent("/admin/tokens/1", {"name": "Other"}, shows=".diff"),
    Sent("/admin/pools/1", {"total_cap": "1"}, shows=".diff"),
    Sent("/admin/routes/1", {"base_fee": "999"}, shows=".diff"),
    Sent("/admin/pegged_pairs/1", {"burn_base_fee": "999"}, shows="[name=change_reason]"),
    Sent(
        "/admin/route_blocks/new",
        {"symbol": "USDT", "src_chain_id": "1", "dst_chain_id": "56"},
        shows=".diff",
    ),
    Sent(
        "/admin/blocked_addresses/new", {"text": "0x00000000000000000000000000000000000000c9"}, shows=CONFIRM
    ),
    Sent("/admin/blocked_networks/new", {"text": "10.0.0.0/8\n192.0.2.1", "reason": "x"}, shows=CONFIRM),
    Sent("/admin/routes/base-fees", {"dst_chain_id": "56", "how": "factor", "factor": "3"}, shows=CONFIRM),
    Sent(
        USDT_ON_BASE,
        {"token0_address": f"0x{7:040x}", "token0_liquidity": "250000"}
        | {f"route{number}_rate": "curve 20" for number in range(10)},
        shows="#trials .effect-grave",
    ),
)
"""Forms whose effects are shown before anything is saved."""

CONFLICT = Sent("/admin/chains/10", {"seen": "0" * 64, "block_delay": "3"}, shows=".diff, .message-warning")


@pytest.fixture(scope="module")
def console(sandbox: SharedSqlite) -> Flask:
    """An application on the server's database."""
    return create_app(make_settings(sandbox.url, doors=("admin",), two_persons=("pegged_pairs",)))


@pytest.fixture(scope="module")
def server(running: Server, sandbox: SharedSqlite, console: Flask) -> Server:
    """With the sandbox, and with what somebody has changed, proposed and made in it."""
    sandbox.empty()
    with console.app_context():
        load_into(console)
        watch_a_chain(console)
        record_activity(console)
        for role in (Role.VIEWER, Role.OPERATOR):
            add_account(console, role)
        add_account(console, Role.VIEWER, "first@example.org", must_change_password=True)
        close_connections()
    return running


class Sweep:
    """Looks at one page after another, and collects what is wrong."""

    def __init__(self, visit: Visit) -> None:
        self.visit, self.found = visit, []  # type: tuple[Visit, list[str]]

    def look(self, name: str) -> None:
        """At the page that is open."""
        self.found += [f"{name}: {each}" for each in findings(self.visit.page)]

    def send(self, sent: Sent) -> None:
        """Fill a form in and look at the answer, also where the browser would not have sent it."""
        page = self.visit.open(sent.path)
        for name, typed in sent.fields.items():
            page.evaluate(_FILL, [name, typed])
        page.evaluate("document.querySelectorAll('form').forEach(form => { form.noValidate = true; })")
        go(page.locator(f"main form[method=post] {sent.button}").first)
        page.locator(sent.shows).first.wait_for(timeout=15_000)
        # A document that is none is answered with 400, of which the browser complains by itself.
        self.visit.complaints = [each for each in self.visit.complaints if "status of 400" not in each]
        self.look(f"{sent.path} sent with {dict(sent.fields)}")


_FILL = """([name, typed]) => {
  const field = document.querySelector(`main form[method=post] [name="${name}"]`);
  field.value = typed;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}"""


@pytest.fixture
def sweep(visit: Visit) -> Iterator[Sweep]:
    """What was found on any page fails the test at its end."""
    sweep = Sweep(visit)
    yield sweep
    assert not sweep.found, "\n" + "\n".join(sweep.found)


def refused(visit: Visit, path: str, status: int) -> Page:
    """A page that is refused; the browser's own complaint about it is none."""
    answer = visit.page.goto(visit.base + path)
    assert answer is not None
    assert answer.status == status
    visit.complaints = [each for each in visit.complaints if f"status of {status}" not in each]
    return visit.page


def test_main_pages_are_accessible_at_every_width(sweep: Sweep) -> None:
    sweep.visit.enter(email_of(Role.OPERATOR))
    for path in MAIN_PAGES:
        sweep.visit.open(path)
        sweep.look(path)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_pages_are_accessible_at_every_width(sweep: Sweep, console: Flask, part: int) -> None:
    """Every page that a link leads to."""
    with console.app_context():
        linked = [path for path in walk(console, Role.ADMIN).texts if re.match(PAGE, path)]
        close_connections()
    assert len(linked) > FEWEST_PAGES
    sweep.visit.enter(email_of(Role.ADMIN))
    for path in sorted({*linked, *SEARCHED})[part::PARTS]:
        sweep.visit.open(path)
        sweep.look(path)


@pytest.mark.parametrize(
    "forms",
    [
        pytest.param((REFUSED[0], CONFLICT), id="few"),
        pytest.param(REFUSED, id="come back", marks=pytest.mark.slow),
        pytest.param((*PREVIEWED, CONFLICT), id="are previewed", marks=pytest.mark.slow),
    ],
)
def test_forms_are_accessible_at_every_width(sweep: Sweep, forms: Sequence[Sent]) -> None:
    sweep.visit.enter(email_of(Role.ADMIN))
    for sent in forms:
        sweep.send(sent)


def test_refused_and_first_sign_in_are_accessible(sweep: Sweep) -> None:
    visit = sweep.visit
    page = visit.open("/admin/")
    page.locator("[name=email]").fill("nobody@example.org")
    page.locator("[name=password]").fill("wrong")
    go(page.locator("main button.primary, form button.primary").first)
    page.locator(".message-error, .field-error").first.wait_for()
    expect(page.get_by_label("Email")).to_be_focused()
    expect(page.get_by_label("Email")).to_have_accessible_description("Wrong email or password.")
    visit.complaints.clear()
    sweep.look("signing in, refused")
    visit.give_password("first@example.org")
    expect(page).to_have_url(f"{visit.base}/admin/account/password")
    visit.check_accessibility()


@pytest.mark.slow
def test_refusals_are_accessible(sweep: Sweep, sandbox: SharedSqlite) -> None:
    """Without a permission, of what is not there, and before a sensitive change."""
    visit = sweep.visit
    visit.enter(email_of(Role.VIEWER))
    refused(visit, "/admin/operators/", 403)
    sweep.look("403")
    refused(visit, "/admin/nothing", 404)
    sweep.look("404")
    visit.page.context.clear_cookies()
    visit.enter(email_of(Role.ADMIN))
    page = visit.open("/admin/operators/new")
    engine = create_engine(sandbox.url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE operator_sessions SET proved_at = '2020-01-01 00:00:00.000000'"))
    engine.dispose()
    page.locator("[name=email]").fill("new@example.org")
    page.locator("[name=password]").fill(PASSWORD)
    go(page.locator(PREVIEW))
    page.locator("[name=step_up-password]").wait_for()
    sweep.look("before a sensitive change")
