"""Every page of the console in a browser: accessible in both themes, quiet, at home, within the screen.

A page is opened once and looked at in every way (``findings``). What is found is reported together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import create_engine, text

from app import create_app
from app.accounts.rules.roles import Role
from app.credentials.services.issuing import issue, new_key, new_token
from app.db.database import Database
from app.http.application import part_of
from app.sandbox.catalogue import sandbox_id
from app.values.codes import TransferHistoryStatus as Status
from app.webhooks.services.subscriptions import send_test
from tests.actors import TESTER
from tests.applications import close_connections, editing_of, make_settings
from tests.browser.conftest import Visit
from tests.browser.looking import findings, go
from tests.console.forms import form_of, save, send
from tests.console.visitor import PASSWORD, Visitor, add_account, email_of
from tests.databases import SharedSqlite
from tests.serving.server import Server
from tests.webhooks.services.hooks import to_subjects

system = pytest.mark.system

PAGES: Mapping[str, tuple[str, ...]] = {
    "work": (
        "/admin/",
        "/admin/transfers/",
        "/admin/transfers/?stuck=1",
        "/admin/transfers/?stuck=user",
        "/admin/transfers/?stuck=user&seen=1",
        "/admin/transfers/?status=11&src=1&dst=1",
        "/admin/search/",
        "/admin/search/?q=0x1234",
        "/admin/search/?q=usdc",
        "/admin/search/?q=0x0000…0001",
        f"/admin/transfers/{sandbox_id(Status.TRANSFER_COMPLETED)}",
        f"/admin/transfers/{sandbox_id(Status.TRANSFER_REQUESTING_REFUND)}",
        f"/admin/transfers/{sandbox_id(Status.TRANSFER_UNKNOWN, 1)}",
        "/admin/estimates/",
        "/admin/estimates/?src=1&dst=56&token=USDT&amount=100&slippage=0.5",
        "/admin/estimates/?src=1&dst=56&token=USDT&amount=100000000&slippage=0.5",
        "/admin/estimates/?src=1&amount=x&caller=x",
        "/admin/anomalies/",
        "/admin/refunds/",
        "/admin/refunds/?requested=1",
        "/admin/transfers/?token=USDT&sort=largest&least=1",
        "/admin/transfers/?status=open&age=over-1h",
        "/admin/proposals/",
        "/admin/proposals/1",
        "/admin/audit/",
        "/admin/audit/?subject=nothing+like+it",
        "/admin/audit/{record}",
        "/admin/history/undo/{record}",
        "/admin/history/?subject=chain+137",
        "/admin/history/at",
        "/admin/history/at?time={before}",
        "/admin/document/",
        "/admin/document/at?time={before}",
    ),
    "network": (
        "/admin/chains/",
        "/admin/chains/1",
        "/admin/chains/1/stop",
        "/admin/chains/1/remove",
        "/admin/chains/stop?all=1",
        "/admin/chains/resume?all=1",
        "/admin/chains/128/resume",
        "/admin/chains/restore/{imported}/0",
        "/admin/connect/",
        "/admin/connect/?like=1",
        "/admin/connect/?like=nothing",
        "/admin/connect/token?chain=137&symbol=BUSD",
        "/admin/chains/10",
        "/admin/validators/1/opening",
        "/admin/validators/1/sets",
        "/admin/validators/1/sets/0",
        "/admin/tokens/",
        "/admin/tokens/1",
        "/admin/tokens/new",
        "/admin/tokens/1/remove",
        "/admin/pools/",
        "/admin/pools/1",
        "/admin/pools/new",
        "/admin/pools/1/remove",
        "/admin/routes/",
        "/admin/routes/1",
        "/admin/routes/new",
        "/admin/routes/1/remove",
        "/admin/routes/base-fees",
        "/admin/pegged_pairs/",
        "/admin/pegged_pairs/1",
        "/admin/pegged_pairs/new",
        "/admin/pegged_pairs/1/remove",
    ),
    "blocks and accounts": (
        "/admin/route_blocks/",
        "/admin/route_blocks/1",
        "/admin/route_blocks/new",
        "/admin/route_blocks/1/remove",
        "/admin/blocked_addresses/",
        "/admin/blocked_addresses/1",
        "/admin/blocked_addresses/new",
        "/admin/blocked_addresses/1/remove",
        "/admin/blocked_networks/",
        "/admin/blocked_networks/1",
        "/admin/blocked_networks/new",
        "/admin/blocked_networks/1/remove",
        "/admin/ingest_tokens/",
        "/admin/ingest_tokens/{token}",
        "/admin/ingest_tokens/new",
        "/admin/api_keys/",
        "/admin/api_keys/{key}",
        "/admin/api_keys/new",
        *(f"/admin/webhooks/{page}" for page in ("", "{hook}", "new")),
        "/admin/operators/",
        "/admin/operators/new",
        "/admin/operators/1",
        "/admin/operators/1/reset-second-factor",
        "/admin/operators/1/new-password",
        "/admin/account/",
        "/admin/account/kept",
        "/admin/account/password",
        "/admin/account/second-factor",
        "/admin/account/passkey",
        "/admin/account/recovery-codes",
    ),
}
"""Addresses. ``{…}`` is of the ``story``."""

MAIN_PAGES = (
    f"/admin/transfers/{sandbox_id(Status.TRANSFER_REQUESTING_REFUND)}",
    "/admin/proposals/1",
    "/admin/connect/?like=1",
)
"""A page of one thing, one of a decision, and a form. Other modules look at the dashboard, a chain and lists
(``test_unknown``, ``test_scale``), a slow test at all."""


NO_PAGES: Mapping[str, str] = {
    **dict.fromkeys(("console.static", "security.static"), "files"),
    **dict.fromkeys(
        ("audit.export_csv", "audit.export_lines", "audit.record_file", "transfers.export_csv"), "a file"
    ),
    **dict.fromkeys(("document.export", "history.at_document"), "a file"),
    "chains.new": "leads to the page of now",
    **dict.fromkeys(("validators.index", "watching.index"), "lead to the chains"),
    "admin.refresh": "parts of the dashboard, which it puts in their places",
    "history.row": "leads to the row",
    "security.login": "test_refused_and_first_sign_in_are_accessible",
    "security.two_factor_token_validation": "test_sign_in: asks for a code between two steps",
    "security.wan_signin": "test_sign_in: only on a site with a name",
    "security.mf_recovery": "test_sign_in: asks for a code between two steps",
    **dict.fromkeys(
        ("security.mf_recovery_codes", "security.two_factor_rescue", "security.tf_select"),
        "the library's, which the console has closed",
    ),
    "security.wan_delete": "the library's, which the console has closed to GET",
}
"""Routes of the console that answer GET without a page of their own, and why or where they are looked at."""

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


@dataclass(frozen=True)
class Story:
    """What happened before anybody looks: a changed chain, a proposal, a token, an API key, a webhook."""

    imported: int
    record: int
    token: int
    key: int
    hook: str
    before: str

    def at(self, path: str) -> str:
        """The address with what it means filled in."""
        return path.format_map(asdict(self))


@pytest.fixture(scope="module")
def story(server: Server, sandbox: SharedSqlite) -> Story:
    """Done by two operators in the server's database: what one proposes, the other may approve."""
    settings = make_settings(sandbox.url, doors=("admin",), two_persons=("pegged_pairs",))
    app = create_app(settings)
    with app.app_context():
        visitor = Visitor(app)
        visitor.sign_in(email_of(Role.ADMIN))
        before = datetime.now(UTC)
        save(visitor, "/admin/chains/137", block_delay="121", change_reason="ticket 9")
    with app.app_context():  # of its own, which remembers who has signed in
        proposer = Visitor(app)
        proposer.sign_in(email_of(Role.OPERATOR))
        proposal = send(proposer, "/admin/pegged_pairs/1", burn_base_fee="7")
        why = {"change_reason": "requested by the vault's operator"}
        proposer.post("/admin/pegged_pairs/1", form_of(proposal) | why | {"confirm": "1"})
        issue(*editing_of(app), new_token("a-reporter"), actor=TESTER)
        issue(
            *editing_of(app),
            new_key("a-wallet", ("read", "webhooks"), "100/minute;1000/hour"),
            actor=TESTER,
        )
        hook = to_subjects(app, ["0xab"]).public_id
        send_test(part_of(app, Database), hook)
        add_account(app, Role.VIEWER, "first@example.org", must_change_password=True)
        close_connections()
    engine = create_engine(sandbox.url)
    with engine.connect() as connection:
        record = text("SELECT max(id) FROM audit_records WHERE subject = 'chain 137'")
        imported = text("SELECT min(record_id) FROM audit_subjects WHERE subject = 'chain 137'")
        found = Story(
            connection.scalar(imported) or 0,
            connection.scalar(record) or 0,
            connection.scalar(text("SELECT max(id) FROM ingest_tokens")) or 0,
            connection.scalar(text("SELECT max(id) FROM api_keys")) or 0,
            hook,
            f"{before:%Y-%m-%dT%H:%M:%S.%f}Z",
        )
    engine.dispose()
    return found


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


@system
@pytest.mark.parametrize(
    "paths",
    [
        pytest.param(MAIN_PAGES, id="main"),
        *(pytest.param(paths, id=name, marks=pytest.mark.slow) for name, paths in PAGES.items()),
    ],
)
def test_pages_are_accessible_at_every_width(sweep: Sweep, story: Story, paths: Sequence[str]) -> None:
    sweep.visit.enter(email_of(Role.ADMIN))
    for path in paths:
        sweep.visit.open(story.at(path))
        sweep.look(path)


@system
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


@system
def test_refused_and_first_sign_in_are_accessible(sweep: Sweep, story: Story) -> None:
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


@system
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


def test_every_page_is_listed(sqlite_template: Path) -> None:
    """A new route has its page here, or a reason why it has none."""
    app = create_app(make_settings(f"sqlite:///{sqlite_template}", doors=("admin",)))
    routes = app.url_map.bind("localhost")
    example = Story(1, 1, 1, 1, "whk_1", "2026-01-01T00:00:00Z")
    looked_at = {
        routes.match(re.sub(r"\?.*", "", example.at(path)))[0] for pages in PAGES.values() for path in pages
    }
    served = {
        rule.endpoint
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/admin/") and rule.methods and "GET" in rule.methods
    }
    left_out = NO_PAGES.keys()
    restores = {endpoint for endpoint in served if endpoint.endswith(".restore")}
    assert restores & looked_at, "one page for all sections, of which one is looked at"
    missing = served - looked_at - left_out - restores
    assert missing == set(), "add these to PAGES, or to NO_PAGES with a reason"
    assert NO_PAGES.keys() <= served
    assert not looked_at & left_out
