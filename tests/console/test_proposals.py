"""Proposing, looking at what was proposed, and deciding, through the pages of the console."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import TwoPersons
from app.accounts.services.accounts import Account, find_account, update_account
from app.audit.rules.records import Actor
from app.console import accounts as accounts_page
from app.db.database import Database
from app.http.application import add_part
from app.network.edits.entered import Switch
from app.network.edits.save import save_edit
from config import GUARDABLE
from tests.actors import TESTER
from tests.applications import Audited, Editing, editing_of
from tests.builders.clock import MovableClock
from tests.console.edits import BASE, PATH, changed_file
from tests.console.forms import EVERYTHING, form_of, save, send
from tests.console.visitor import Visitor, add_account, signed_in, visitor_of
from tests.network.services.edits.kit import document, edited, records, shown
from tests.network.services.network_kit import text

WHY = "agreed in ticket 7"
PAGE = "/admin/proposals/1"
SECOND = "second@example.org"


@pytest.fixture
def guarded(app: Flask, network: Flask) -> Flask:
    add_part(app, TwoPersons, TwoPersons(frozenset(GUARDABLE)))
    return network


@pytest.fixture
def first(app: Flask, guarded: Flask) -> Visitor:
    """An operator who has proposed another name and contract for a chain."""
    visitor = signed_in(app, Role.OPERATOR)
    preview = send(visitor, "/admin/chains/1", name="Mainnet", block_delay="13")
    assert "needs a second approval" in preview.text
    complaint = send(visitor, "/admin/chains/1", preview, confirm="1")
    assert "Nothing was saved" in complaint.text
    answer = send(visitor, "/admin/chains/1", complaint, confirm="1", change_reason=WHY)
    assert answer.location == PAGE
    return visitor


def test_second_person_approves(app: Flask, first: Visitor, database: Database) -> None:
    own = first.get(PAGE).text
    second = signed_in(app, Role.OPERATOR, SECOND)
    page = second.get(PAGE).text
    for shown_text in (own, page):
        assert "Change chain Ethereum (1)" in shown_text
        assert 'class="come break">Mainnet<' in shown_text
        assert 'class="come break">13<' in shown_text
        assert WHY in shown_text
        assert "operator@example.org" in shown_text
    assert f"{PAGE}/approve" not in own
    assert f"{PAGE}/withdraw" in own
    assert f"{PAGE}/approve" in page
    assert f"{PAGE}/withdraw" not in page
    assert "1<span" in second.get("/admin/").text, "the badge"
    assert second.post(f"{PAGE}/approve").location == PAGE
    done = second.get(PAGE).text
    assert "Audit record" in done
    assert "approved" in done
    assert document(database)["chains"][0]["name"] == "Mainnet"
    assert 'class="badge"' not in second.get("/admin/").text
    assert "second@example.org" in second.get("/admin/proposals/").text


def test_nobody_approves_their_own(first: Visitor, database: Database) -> None:
    assert first.post(f"{PAGE}/approve").location == PAGE
    assert "You proposed this change" in first.get(PAGE).text
    assert document(database)["chains"][0]["name"] == "Ethereum"


def test_viewers_read_and_do_not_decide(app: Flask, first: Visitor, database: Database) -> None:
    viewer = signed_in(app, Role.VIEWER, SECOND)
    page = viewer.get(PAGE)
    assert page.status_code == 200
    assert "To approve it, an account needs the role operator" in page.text
    assert "<h2>Approve</h2>" not in page.text
    assert viewer.post(f"{PAGE}/approve").status_code == 403
    assert viewer.post(f"{PAGE}/reject", {"reason": "x"}).status_code == 403
    viewer.post(f"{PAGE}/withdraw", {"reason": "x"})
    assert "Only operator@example.org can withdraw it" in viewer.get(PAGE).text
    assert document(database)["chains"][0]["name"] == "Ethereum"


def test_conflict_is_shown_and_blocks_approval(
    app: Flask, first: Visitor, audited: Audited, database: Database
) -> None:
    alone = TwoPersons()
    save_edit(*audited, alone, edited(database, "chains", 1, block_delay=99), actor=TESTER)
    second = signed_in(app, Role.OPERATOR, SECOND)
    page = second.get(PAGE).text
    assert "was changed" in page
    assert "It cannot be approved" in page
    assert "Changed since it was proposed" in page
    assert 'class="come break">99<' in page
    assert "Block delay" in page
    assert "<h2>Approve</h2>" not in page
    second.post(f"{PAGE}/approve")
    assert "Nothing was changed" in second.get(PAGE).text
    chain = document(database)["chains"][0]
    assert (chain["name"], chain["block_delay"]) == ("Ethereum", 99)
    assert second.post(f"{PAGE}/reject", {"reason": "too late"}).location == PAGE
    assert "too late" in second.get(PAGE).text


def test_operator_cannot_see_account_proposal(app: Flask, guarded: Flask, admin: Visitor) -> None:
    fields = {"email": "carol@example.org", "password": "a long enough password", "role": "operator"}
    refused = admin.post("/admin/operators/new", fields)
    assert "enter a reason" in refused.text.lower()
    assert admin.post("/admin/operators/new", fields | {"change_reason": WHY}).location == PAGE
    page = admin.get(PAGE).text
    assert "Create account carol@example.org with the role operator" in page
    assert "long enough" not in page
    operator = signed_in(app, Role.OPERATOR, SECOND)
    assert operator.get(PAGE).status_code == 404
    assert operator.post(f"{PAGE}/approve").status_code == 404
    assert "carol" not in operator.get("/admin/proposals/").text
    assert 'class="badge"' not in operator.get("/admin/").text
    other = signed_in(app, Role.ADMIN, "other@example.org")
    other.post(f"{PAGE}/approve")
    carol = Visitor(app)
    assert carol.sign_in("carol@example.org", "a long enough password").location == "/admin/"


def test_unknown_proposal_is_refused(app: Flask, first: Visitor, database: Database) -> None:
    second = signed_in(app, Role.OPERATOR, SECOND)
    for path in ("/admin/proposals/99", "/admin/proposals/99999999999999999999"):
        assert second.get(path).status_code == 404
        assert second.post(f"{path}/approve").status_code == 404
    second.post(f"{PAGE}/approve", {"name": "x"})
    assert "has no field" in second.get(PAGE).text
    second.post(f"{PAGE}/reject", {"reason": "y" * 600})
    assert "at most 500 characters" in second.get(PAGE).text
    assert second.get("/admin/proposals/?before=-1").status_code == 200
    assert second.get(f"/admin/proposals/?before={'9' * 30}").status_code == 200
    assert document(database)["chains"][0]["name"] == "Ethereum"


def test_edit_without_the_form_is_not_proposed(first: Visitor, database: Database) -> None:
    """Without the form's hidden field ``seen`` nobody knows which version of the row the operator saw."""
    path = f"/admin/routes/{shown(database, 'routes', 'USDT', 1, 56).row_id}"
    fee_without_seen = {"base_fee": "1", "base_fee_unit": "tokens"}
    answer = first.post(path, fee_without_seen | {"confirm": "1", "change_reason": WHY})
    assert "Changed while you were editing" in answer.text
    assert first.get("/admin/proposals/2").status_code == 404, "PAGE, number 1, is the only proposal"


def test_without_setting_proposals_are_hidden(operator: Visitor) -> None:
    assert "Proposals" not in operator.get("/admin/").text
    assert operator.get("/admin/proposals/").status_code == 200
    assert "second operator" not in send(operator, "/admin/chains/1", name="Mainnet").text


def test_guarded_change_needs_a_proposal(
    app: Flask, guarded: Flask, database: Database, editing: Editing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also from a page that forgot to make one."""
    changes = {"role": "admin"}
    admin = signed_in(app, Role.ADMIN)
    add_account(app, Role.OPERATOR)
    other = find_account(database, email="operator@example.org")
    assert other is not None

    def forgetful(*_parts: object, actor: Actor) -> Account:
        return update_account(*editing, other.id, changes, actor=actor)

    monkeypatch.setattr(accounts_page, "update_account", forgetful)
    answer = admin.post(f"/admin/operators/{other.id}/end-sessions")
    assert answer.status_code == 409
    assert "This change needs a second approval" in answer.text
    assert find_account(database, email="operator@example.org") == other


def test_guarded_token_needs_second_person(app: Flask, network: Flask) -> None:
    """Where a section that reporters change needs two persons."""
    add_part(app, TwoPersons, TwoPersons(frozenset({"pools", "operators"})))
    admin, new = signed_in(app, Role.ADMIN), "/admin/ingest_tokens/new"
    assert "Propose token" in admin.get(new).text
    made = admin.post(new, EVERYTHING | {"name": "relayer", "change_reason": WHY}).text
    (token,) = set(re.findall(r"gwi_[0-9a-f]{16}_[A-Za-z0-9_-]{43}", made))
    assert feed(app, token).status_code == 401
    assert "ingest tokens" in admin.get("/admin/proposals/").text
    second = signed_in(app, Role.ADMIN, SECOND)
    assert second.post(f"{PAGE}/approve").location == PAGE
    assert feed(app, token).status_code == 200


def feed(app: Flask, token: str) -> TestResponse:
    """What a reporter with this token is answered."""
    headers = {"Authorization": f"Bearer {token}"}
    return app.test_client().post(
        "/ingest/v1/events", data=b"", content_type="application/x-ndjson", headers=headers
    )


def decisions(visitor: Visitor, path: str = "/admin/chains/") -> list[str]:
    """The decisions on the reader's own proposals that a page shows."""
    return re.findall(r'role="status">Your proposal ([^<]+)<a href="([^"]+)"', visitor.get(path).text)


def test_decision_is_shown_to_proposer(app: Flask, first: Visitor, clock: MovableClock) -> None:
    """On every page."""
    second = signed_in(app, Role.OPERATOR, SECOND)
    assert not decisions(first)
    second.post(f"{PAGE}/reject", {"reason": "no"})
    words = "“Change chain Ethereum (1)” was rejected by second@example.org. "
    for path in ("/admin/chains/", "/admin/", "/admin/audit/"):
        assert decisions(first, path) == [(words, PAGE)]
    assert not decisions(second), "only its proposer"
    first.get(PAGE)
    assert not decisions(first), "it was opened"


def test_decision_is_shown_for_a_day(app: Flask, first: Visitor, clock: MovableClock) -> None:
    signed_in(app, Role.OPERATOR, SECOND).post(f"{PAGE}/approve")
    for hours, times in ((23, 1), (2, 0)):
        clock.forward(hours=hours)
        later = visitor_of(app, "operator@example.org")
        assert len(decisions(later)) == times, hours


def test_expired_proposal_is_shown(app: Flask, first: Visitor, clock: MovableClock) -> None:
    send(first, "/admin/chains/10", name="Other", confirm="1", change_reason=WHY)
    first.post("/admin/proposals/2/withdraw", {"reason": "no"})
    assert not decisions(first)
    clock.forward(hours=73)
    later = visitor_of(app, "operator@example.org")
    later.get("/admin/proposals/")
    assert decisions(later) == [("“Change chain Ethereum (1)” has expired. ", PAGE)]


def test_row_shows_its_proposed_change(app: Flask, first: Visitor) -> None:
    fees = {"dst_chain_id": "56", "how": "factor", "factor": "2"}
    save(first, "/admin/routes/base-fees", **fees, change_reason=WHY)
    second = signed_in(app, Role.OPERATOR, SECOND)
    marked = re.findall(
        r'href="/admin/chains/(\d+)">[^<]*</a> <span class="pill pill-warn">change proposed',
        second.get("/admin/chains/").text,
    )
    assert marked == ["1"]
    assert "operator@example.org proposed a change here" in second.get("/admin/chains/1").text
    assert "proposed a change here" not in second.get("/admin/chains/10").text
    assert '<a href="/admin/proposals/2">' in second.get("/admin/routes/1").text, "also with others"
    second.post(f"{PAGE}/approve")
    assert "change proposed" not in second.get("/admin/chains/").text
    assert "proposed a change here" not in second.get("/admin/chains/1").text


CONFIRMED = {"change_reason": WHY, "confirm": "1"}
STOPPED = frozenset({1, 10})


@pytest.fixture
def stopped(app: Flask, guarded: Flask) -> Flask:
    """Two chains are stopped, and all is guarded."""
    switch = Switch(STOPPED, True, "leak")
    save_edit(*editing_of(app), switch, actor=TESTER, typed="stop 2 chains")
    return app


def connect(visitor: Visitor) -> TestResponse:
    preview = send(visitor, PATH, **BASE)
    assert "Propose to connect Base?" in preview.text
    complaint = visitor.post(PATH, form_of(preview) | {"confirm": "1"})
    assert "enter a reason" in complaint.text.casefold()
    return visitor.post(PATH, form_of(complaint) | CONFIRMED)


def resume(visitor: Visitor) -> TestResponse:
    form = form_of(visitor.get("/admin/chains/resume?all=1")) | {"chain": ["1", "10"]}
    return visitor.post("/admin/chains/resume", form | CONFIRMED)


def take_over(visitor: Visitor) -> TestResponse:
    rows = changed_file()
    for row in rows["chains"]:
        if row["id"] in STOPPED:
            row |= {"disabled": True, "disabled_reason": "leak"}
    page = visitor.post("/admin/document/compare", {"text": text(rows).decode()})
    picks = {"whole": ["chains", "validators", "config_fields", "route_blocks"]}
    preview = visitor.post("/admin/document/apply", form_of(page) | picks)
    return visitor.post("/admin/document/apply", form_of(preview) | picks | CONFIRMED)


KINDS: dict[str, tuple[Callable[[Visitor], TestResponse], str, Callable[[dict[str, Any]], bool]]] = {
    "connect": (connect, "network.connect", lambda now: now["chains"][-1]["name"] == "Base"),
    "resume": (resume, "network.resume", lambda now: not any(row["disabled"] for row in now["chains"])),
    "document": (take_over, "network.import", lambda now: now["config_fields"][0]["name"] == "tag"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_second_person_applies_all_rows(app: Flask, stopped: Flask, database: Database, kind: str) -> None:
    propose, action, made = KINDS[kind]
    visitor, before = signed_in(app, Role.ADMIN), document(database)
    assert propose(visitor).location == PAGE
    assert document(database) == before
    second = signed_in(app, Role.OPERATOR)
    page = second.get(PAGE)
    assert "Approve change" in page.text
    assert "Effects" in page.text
    assert second.post(f"{PAGE}/approve").location == PAGE
    assert made(document(database))
    record = next(row for row in records(database) if row.action == action)
    assert "proposed by admin@example.org, approved by operator@example.org" in record.detail
    assert second.get(f"/admin/audit/{record.id}").status_code == 200
