"""With everything guarded, one person changes nothing by any route of the console, except what only stops.

Every route that takes a POST is sent what changes something. Without ``TWO_PERSONS`` it does change it: so
nothing here is proved by a form that is not taken.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from flask import Flask
from msgspec.structs import asdict
from werkzeug.test import TestResponse

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.accounts.services.accounts import list_accounts
from app.accounts.services.proposals import waiting_count
from app.audit.services import show_audit
from app.credentials.models import IngestToken
from app.credentials.queries import every_credential, valid_keys
from app.credentials.rules.ingest_token import EnvironmentTokens
from app.credentials.services.issued import list_tokens
from app.credentials.services.issuing import issue, new_key, new_token
from app.db.database import Database
from app.db.engine import reading
from app.http.application import add_part, part_of
from app.network.document import import_network
from app.network.sections import section_of
from config import GUARDABLE
from tests.actors import TESTER
from tests.applications import Editing
from tests.builders import network as build
from tests.console.edits import BASE, NEW
from tests.console.forms import EVERYTHING, form_of, send
from tests.console.roles import console_rules
from tests.console.visitor import Visitor, add_account, email_of, signed_in, visitor_of
from tests.databases import SharedDatabase
from tests.network.services.edits.kit import document, shown
from tests.network.services.network_kit import VAULT, VILLAIN, network, pool, text, token

NETWORK = "203.0.113.0/24"
WHY = {"change_reason": "agreed in ticket 7"}
Send = Callable[[Visitor, Flask, dict[str, str]], object]


def row_page(section: str, *key: Any, action: str = "") -> Callable[[Flask], str]:
    """The page of a row; chains go by their own ids."""

    def path(app: Flask) -> str:
        number = key[0] if section == "chains" else shown(part_of(app, Database), section, *key).row_id
        return f"/admin/{section}/{number}{action}"

    return path


def previewed(path: Callable[[Flask], str] | str, **fields: str) -> Send:
    """Fill the form of a page, send it, and confirm what the preview shows."""

    def go(visitor: Visitor, app: Flask, more: dict[str, str]) -> TestResponse:
        at = path if isinstance(path, str) else path(app)
        form = visitor.get(at)
        preview = (
            form
            if at.endswith(("/remove", "/resume", "/resume?all=1", "/undo/2"))
            else send(visitor, at, form, **fields)
        )
        assert 'name="confirm"' in preview.text, preview.text
        return visitor.post(at, form_of(preview) | {"confirm": "1"} | more)

    return go


def posted(path: str, **fields: Any) -> Send:
    """Send a form as it is."""

    def go(visitor: Visitor, app: Flask, more: dict[str, str]) -> TestResponse:
        account = next(
            each.id for each in list_accounts(part_of(app, Database)) if each.email == "carol@example.org"
        )
        return visitor.post(path.format(account=account), fields | more)

    return go


def restored(section: str) -> Send:
    """Bring back what a row of the section was before the second import."""

    def go(visitor: Visitor, app: Flask, more: dict[str, str]) -> TestResponse:
        entry = show_audit(part_of(app, Database), 2)
        assert entry is not None
        number = next(
            number
            for number, change in enumerate(entry.changes)
            if (of := section_of(change.subject, change.after or {})) and of.name == section
        )
        path = f"/admin/{section}/restore/2/{number}?before=1"
        preview = visitor.get(path)
        assert 'name="confirm"' in preview.text, preview.text
        return visitor.post(path, form_of(preview) | {"confirm": "1"} | more)

    return go


def connected(visitor: Visitor, app: Flask, more: dict[str, str]) -> TestResponse:
    """A chain with all that belongs to it."""
    preview = send(visitor, "/admin/connect/?like=56", **BASE)
    return visitor.post("/admin/connect/?like=56", form_of(preview) | {"confirm": "1"} | more)


def taken_over(visitor: Visitor, app: Flask, more: dict[str, str]) -> TestResponse:
    """A name and an opening validator of a document."""
    rows = document(part_of(app, Database))
    rows["chains"][0]["name"] = "Mainnet"
    rows["validators"].pop()
    page = visitor.post("/admin/document/compare", {"text": text(rows).decode()})
    picks = {"whole": ["chains", "validators"]}
    preview = visitor.post("/admin/document/apply", form_of(page) | picks)
    return visitor.post("/admin/document/apply", form_of(preview) | picks | {"confirm": "1"} | more)


def pressed(path: str, **fields: Any) -> Send:
    """A button whose form never has a reason."""
    go = posted(path, **fields)
    return lambda visitor, app, more: go(visitor, app, {})


WAITS: dict[str, Send] = {
    **{
        f"{section}.new": previewed(f"/admin/{section}/new", **NEW[section])
        for section in ("tokens", "pools", "routes", "pegged_pairs")
    },
    **{f"{section}.restore": restored(section) for section in NEW},
    "history.undo": previewed("/admin/history/undo/2"),
    "connect.index": connected,
    "connect.token": previewed("/admin/connect/token?chain=1&symbol=DAI", token0_address=VAULT),
    "validators.opening": previewed("/admin/validators/10/opening", validators=f"{VAULT} 5"),
    "document.apply": taken_over,
    "chains.edit": previewed(row_page("chains", 1), name="Mainnet"),
    "chains.remove": previewed(row_page("chains", 42161, action="/remove")),
    "chains.resume": previewed(row_page("chains", 42161, action="/resume")),
    "chains.resume several": previewed("/admin/chains/resume?all=1"),
    "tokens.edit": previewed(row_page("tokens", 1, "USDT"), name="Other"),
    "tokens.remove": previewed(row_page("tokens", 10, "DAI", action="/remove")),
    "pools.edit": previewed(row_page("pools", 1, "USDT"), total_cap="5"),
    "pools.remove": previewed(row_page("pools", 10, "CELR", action="/remove")),
    "routes.edit": previewed(row_page("routes", "USDT", 1, 56), base_fee="5"),
    "routes.remove": previewed(row_page("routes", "USDT", 1, 56, action="/remove")),
    "routes.base_fees": previewed(
        "/admin/routes/base-fees", dst_chain_id="56", how="factor", factor="2"
    ),
    "route_blocks.edit": previewed(row_page("route_blocks", "USDT", 10, 56), both_directions="0"),
    "route_blocks.remove": previewed(row_page("route_blocks", "USDT", 10, 56, action="/remove")),
    "pegged_pairs.edit": previewed(row_page("pegged_pairs", "CELR", 1, 10), burn_base_fee="5"),
    "pegged_pairs.remove": previewed(row_page("pegged_pairs", "CELR", 1, 10, action="/remove")),
    "blocked_addresses.edit": previewed(row_page("blocked_addresses", VILLAIN), expires_at="2027-01-01"),
    "blocked_addresses.remove": previewed(row_page("blocked_addresses", VILLAIN, action="/remove")),
    "blocked_networks.edit": previewed(row_page("blocked_networks", NETWORK), expires_at="2027-01-01"),
    "blocked_networks.remove": previewed(row_page("blocked_networks", NETWORK, action="/remove")),
    "operators.new": posted(
        "/admin/operators/new", email="dora@example.org", password="a long enough password", role="admin"
    ),
    "operators.edit": posted("/admin/operators/{account}", role="admin", active="y"),
    "operators.reset_second_factor": posted("/admin/operators/{account}/reset-second-factor"),
    "operators.new_password": posted("/admin/operators/{account}/new-password"),
    "ingest_tokens.new": posted("/admin/ingest_tokens/new", name="another", **EVERYTHING),
    "ingest_tokens.rotate": posted("/admin/ingest_tokens/1/rotate"),
    "api_keys.new": posted("/admin/api_keys/new", name="another", scopes="read"),
}  # fmt: skip
"""Routes whose change waits, and what is sent to them."""

AT_ONCE: dict[str, Send] = {
    "chains.stop": lambda visitor, app, more: send(
        visitor, "/admin/chains/1/stop", disabled_reason="incident", typed="Ethereum"
    ),
    "chains.stop several": lambda visitor, app, more: send(
        visitor,
        "/admin/chains/stop?chain=1&chain=10",
        disabled_reason="incident",
        typed="stop 2 chains",
        chain=["1", "10"],
    ),
    "route_blocks.new": previewed("/admin/route_blocks/new", **NEW["route_blocks"]),
    "blocked_addresses.new": previewed("/admin/blocked_addresses/new", text=VAULT),
    "blocked_networks.new": previewed("/admin/blocked_networks/new", text="198.51.100.0/24"),
    "ingest_tokens.revoke": lambda visitor, app, more: visitor.post(
        "/admin/ingest_tokens/1/revoke",
        {"typed": list_tokens(part_of(app, Database), part_of(app, EnvironmentTokens))[-1].key_id},
    ),
    "api_keys.revoke": pressed("/admin/api_keys/1/revoke", typed="wallet"),
}
"""Routes that only stop or block: nobody waits for them."""

ELSEWHERE: dict[str, Send] = {
    "webhooks.new": pressed("/admin/webhooks/new", url="https://hooks.example/", audience="everything"),
    **{
        f"webhooks.{name}": pressed(f"/admin/webhooks/whk_1/{name}")
        for name in ("pause", "resume", "test", "replay", "rotate", "remove")
    },
    "webhooks.retry": pressed("/admin/webhooks/whk_1/retry/1"),
    "webhooks.retry all": pressed("/admin/webhooks/whk_1/retry"),
    "operators.end_sessions": pressed("/admin/operators/{account}/end-sessions"),
    "operators.demand_second_factor": pressed("/admin/operators/second-factor", demanded="1"),
    "account.recovery_codes": pressed("/admin/account/recovery-codes"),
    "account.sign_out_everywhere": pressed("/admin/account/sign-out-everywhere"),
    "account.sign_out_one": pressed("/admin/account/sessions/1/sign-out"),
    "transfers.acknowledge": pressed("/admin/transfers/acknowledge", pick="1 x", note="seen"),
    "anomalies.acknowledge": pressed("/admin/anomalies/acknowledge", pick="1 x"),
    "audit.verify": pressed("/admin/audit/verify"),
    "document.compare": pressed("/admin/document/compare", text='{"version": 1}'),
    "transfers.add_note": pressed(f"/admin/transfers/0x{7:064x}/notes", text="seen"),
    "transfers.remove_note": pressed(f"/admin/transfers/0x{7:064x}/notes/1/remove"),
    "proposals.approve": pressed("/admin/proposals/1/approve"),
    "proposals.reject": pressed("/admin/proposals/1/reject", reason="no"),
    "proposals.withdraw": pressed("/admin/proposals/1/withdraw", reason="no"),
    "watching.stop": pressed("/admin/watching/1/stop", reason="no"),
    "watching.start": pressed("/admin/watching/1/start"),
}
"""Routes that change neither the network, nor accounts, nor tokens."""

OWN = "security."
"""Signing in and out, and one's own password and second factor."""


def earlier(rows: dict[str, Any]) -> dict[str, Any]:
    """The same rows with another value in one of each section, so that there is something to restore."""
    old = deepcopy(rows)
    old["chains"][0]["name"] = old["tokens"][0]["name"] = "as it was called"
    old["pools"][0]["total_cap"] = old["routes"][0]["base_fee"] = old["pegged_pairs"][0]["burn_base_fee"] = (
        "5"
    )
    old["route_blocks"][0]["both_directions"] = False
    old["blocked_addresses"][0]["expires_at"] = "2026-12-01T00:00:00Z"
    old["blocked_networks"][0]["expires_at"] = "2026-12-01T00:00:00Z"
    return old


@pytest.fixture
def filled(app: Flask, editing: Editing, shared_database: SharedDatabase) -> Flask:
    """The small network with a row of each kind that can be removed; an account, a token, a key to change."""

    def fill() -> None:
        rows = network()
        rows["chains"].append(build.chain(42161, "Arbitrum", disabled=True, disabled_reason="not yet"))
        rows["tokens"].append(token(10, "DAI", 18))
        rows["pools"].append(pool(10) | {"symbol": "CELR"})
        rows["blocked_networks"] = [{"cidr": NETWORK, "reason": "", "expires_at": None}]
        import_network(*editing, text(earlier(rows)), actor=TESTER)
        import_network(*editing, text(rows), actor=TESTER)
        factor = {"tf_primary_method": "authenticator", "tf_totp_secret": "x"}
        add_account(app, Role.OPERATOR, "carol@example.org", **factor)
        issue(*editing, new_token("relayer"), actor=TESTER)
        issue(*editing, new_key("wallet", ("read",), ""), actor=TESTER)

    shared_database.fill("tests.console.test_two_persons", fill)
    return app


@pytest.fixture
def guarded(app: Flask, filled: Flask) -> Flask:
    """The same, with everything guarded."""
    add_part(app, TwoPersons, TwoPersons(frozenset(GUARDABLE)))
    return filled


def state(database: Database) -> tuple[Any, ...]:
    """All that is guarded. Sessions and sign-ins are not."""
    own = ("fs_uniquifier", "signed_in_at", "signed_in_from")
    accounts = [
        {key: value for key, value in asdict(each).items() if key not in own}
        for each in list_accounts(database)
    ]
    with reading(database.engine) as connection:
        tokens = [tuple(row) for row in every_credential(connection, IngestToken)]
        keys = [tuple(row) for row in valid_keys(connection)]
    return document(database), accounts, tokens, keys


def test_every_posting_route_is_tested(app: Flask) -> None:
    posts = {rule.endpoint for rule in console_rules(app) if "POST" in (rule.methods or ())}
    tested = {name.partition(" ")[0] for name in (*WAITS, *AT_ONCE, *ELSEWHERE)}
    assert {name for name in posts if not name.startswith(OWN)} == tested


def unguard(app: Flask) -> None:
    add_part(app, TwoPersons, TwoPersons(frozenset()))


@pytest.mark.parametrize("route", WAITS)
def test_guarded_route_proposes_without_change(
    guarded: Flask, database: Database, two_persons: TwoPersons, route: str, admin: Visitor
) -> None:
    """Where nothing is guarded the same forms change something."""
    before = state(database)
    WAITS[route](admin, guarded, {})
    assert waiting_count(database, two_persons, Role.ADMIN) == 0, "not without a reason"
    assert state(database) == before
    WAITS[route](admin, guarded, WHY)
    assert waiting_count(database, two_persons, Role.ADMIN) == 1
    assert state(database) == before
    unguard(guarded)
    WAITS[route](admin, guarded, {})
    assert state(database) != before


@pytest.mark.parametrize("route", AT_ONCE)
def test_guarded_a_stop_counts_at_once(
    guarded: Flask, database: Database, two_persons: TwoPersons, route: str, admin: Visitor
) -> None:
    before = state(database)
    AT_ONCE[route](admin, guarded, {})
    assert state(database) != before
    assert waiting_count(database, two_persons, Role.ADMIN) == 0


def test_other_routes_leave_guarded_rows(guarded: Flask, database: Database) -> None:
    signed_in(guarded, Role.ADMIN)
    visitor = visitor_of(guarded, email_of(Role.ADMIN))
    WAITS["chains.edit"](visitor, guarded, WHY)
    before = state(database)
    for route, go in ELSEWHERE.items():
        if not visitor.inside:  # some end the visit
            visitor = visitor_of(guarded, email_of(Role.ADMIN))
        go(visitor, guarded, {})
        assert state(database) == before, route
