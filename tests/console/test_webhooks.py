"""The pages of webhooks: made, looked at, switched, sent again, removed."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from app.audit.services import list_audit
from app.db.database import Database
from app.http.application import part_of
from app.webhooks.rules.subscription import DeliveryState
from app.webhooks.services.delivering import Due, Outcome, bring_back, take
from app.webhooks.services.shown import delivery_log, list_subscriptions
from tests.applications import Audited, audited_of
from tests.console.visitor import MovableClock, Visitor, signed_in
from tests.webhooks.services.hooks import Plenty

URL = "https://hooks.example/in?token=hidden"
ID = f"0x{7:064x}"
NOBODY_SENDS = "no sender seems to run"


def made(visitor: Visitor, **fields: object) -> str:
    """The id of a webhook that was just made; its secret is on the page once."""
    page = visitor.post("/admin/webhooks/new", {"url": URL, "audience": "everything"} | fields).text
    (public_id,) = set(re.findall(r"/admin/webhooks/(whk_[0-9a-f]{16})", page))
    assert re.search(r"whsec_[A-Za-z0-9+/]{43}=", page)
    return public_id


def attempted(app: Flask, status: int | None, error: str = "") -> Due:
    (due,) = take(*audited_of(app), Plenty())
    bring_back(part_of(app, Database), [Outcome(due, part_of(app, Database).clock(), 31, status, error)])
    return due


def test_webhook_is_made_tested_removed(app: Flask, network: Flask, database: Database) -> None:
    visitor = signed_in(app, Role.OPERATOR)
    assert "No webhooks yet" in visitor.get("/admin/webhooks/").text
    public_id = made(visitor, name="the ledger")
    page = f"/admin/webhooks/{public_id}"
    assert "the ledger" in visitor.get("/admin/webhooks/").text
    assert "whsec_" not in visitor.get(page).text
    assert "Test event written" in visitor.post(f"{page}/test", follow_redirects=True).text
    due = attempted(network, 503, "HTTP 503")
    shown = visitor.get(page).text
    for text in ("webhook.test", "HTTP 503", "31 ms", "waiting", due.message_id):
        assert text in shown
    assert due.message_id not in visitor.get(f"{page}?state=delivered").text
    assert visitor.post(f"{page}/remove").location == "/admin/webhooks/"
    assert visitor.get(page).status_code == 404
    assert "No webhooks yet" in visitor.get("/admin/webhooks/").text
    done = [row.action for row in list_audit(database)]
    assert done[:2] == ["webhook.removed", "webhook.create"]


def test_it_is_said_when_nothing_is_sent(app: Flask, network: Flask, clock: MovableClock) -> None:
    visitor = signed_in(app, Role.OPERATOR)
    page = f"/admin/webhooks/{made(visitor)}"
    visitor.post(f"{page}/test")
    clock.forward(seconds=60)
    assert NOBODY_SENDS not in visitor.get(page).text
    clock.forward(seconds=1)
    for each in (page, "/admin/webhooks/"):
        assert NOBODY_SENDS in visitor.get(each).text
    visitor.post(f"{page}/pause")
    assert NOBODY_SENDS not in visitor.get(page).text
    visitor.post(f"{page}/resume")  # only from now on could it be sent
    assert NOBODY_SENDS not in visitor.get(page).text
    clock.forward(seconds=61)
    assert NOBODY_SENDS in visitor.get(page).text
    attempted(network, 200)
    assert NOBODY_SENDS not in visitor.get(page).text


def test_hanging_receiver_is_no_missing_sender(
    app: Flask, network: Flask, audited: Audited, clock: MovableClock
) -> None:
    visitor = signed_in(app, Role.OPERATOR)
    page = f"/admin/webhooks/{made(visitor)}"
    for _ in range(3):
        visitor.post(f"{page}/test")
    clock.forward(minutes=2)
    assert NOBODY_SENDS in visitor.get(page).text
    assert len(take(*audited, Plenty(each=2))) == 2  # the third waits until there is room
    assert NOBODY_SENDS not in visitor.get(page).text
    clock.forward(seconds=61)  # and the sender was killed
    assert NOBODY_SENDS in visitor.get(page).text


def test_pausing_and_resuming(app: Flask, network: Flask, audited: Audited) -> None:
    visitor = signed_in(app, Role.OPERATOR)
    page = f"/admin/webhooks/{made(visitor)}"
    paused = visitor.post(f"{page}/pause", follow_redirects=True).text
    assert "Paused by operator@example.org" in paused
    visitor.post(f"{page}/test")
    assert take(*audited, Plenty()) == []
    assert "What waits is sent now" in visitor.post(f"{page}/resume", follow_redirects=True).text
    assert len(take(*audited, Plenty())) == 1


def test_a_new_secret_is_shown_once(app: Flask, network: Flask) -> None:
    visitor = signed_in(app, Role.OPERATOR)
    page = f"/admin/webhooks/{made(visitor)}"
    assert "whsec_" in visitor.post(f"{page}/rotate").text
    assert "signs until" in visitor.get(page).text


def test_a_span_is_sent_again(app: Flask, network: Flask, database: Database, clock: MovableClock) -> None:
    visitor = signed_in(app, Role.OPERATOR)
    public_id = made(visitor)
    page = f"/admin/webhooks/{public_id}"
    visitor.post(f"{page}/test")
    attempted(network, 200)
    since = f"{clock() - timedelta(minutes=2):%Y-%m-%d %H:%M}"
    until = f"{clock() + timedelta(minutes=2):%Y-%m-%d %H:%M}"
    span = {"since": since, "until": until}
    assert "0 deliveries are" in visitor.post(f"{page}/replay", span, follow_redirects=True).text
    span["delivered_too"] = "y"
    assert "1 delivery is" in visitor.post(f"{page}/replay", span, follow_redirects=True).text
    (row,) = delivery_log(database, public_id)
    assert (row.state, row.attempts, len(row.tries)) == (DeliveryState.WAITING, 0, 1)
    for wrong in ({}, {"since": "soon"}, {"since": until, "until": since}):
        assert "message-error" in visitor.post(f"{page}/replay", wrong, follow_redirects=True).text


def test_failed_delivery_is_retried_by_hand(
    app: Flask, network: Flask, database: Database, audited: Audited, clock: MovableClock
) -> None:
    """Hours before its next attempt, and before the receiver's own Retry-After is over."""
    visitor = signed_in(app, Role.OPERATOR)
    public_id = made(visitor)
    page = f"/admin/webhooks/{public_id}"
    for _ in range(2):
        visitor.post(f"{page}/test")
    for due in take(*audited, Plenty()):
        hours = timedelta(hours=5)
        bring_back(database, [Outcome(due, database.clock(), 31, 503, "HTTP 503", retry_after=hours)])
    assert ">2 failing<" in visitor.get("/admin/webhooks/").text
    shown = visitor.get(page).text
    assert shown.count(">failing<") == 2
    newest, oldest = re.findall(rf'action="({page}/retry/\d+)"', shown)
    clock.forward(minutes=1)
    assert take(*audited, Plenty()) == []
    assert "It is tried now" in visitor.post(oldest, follow_redirects=True).text
    (due,) = take(*audited, Plenty())
    assert (oldest, due.attempts) == (f"{page}/retry/{due.id}", 1), "its attempts count on"
    assert "Nothing to try again" in visitor.post(oldest, follow_redirects=True).text, "it is under way"
    assert take(*audited, Plenty()) == []
    bring_back(database, [Outcome(due, database.clock(), 31, 200)])
    assert "Nothing to try again" in visitor.post(oldest, follow_redirects=True).text
    assert "It is tried now" in visitor.post(f"{page}/retry", follow_redirects=True).text
    (due,) = take(*audited, Plenty())
    assert newest == f"{page}/retry/{due.id}"
    assert [row.action for row in list_audit(database)][:2] == ["webhook.retry"] * 2
    assert "Nothing to try again" in visitor.post(f"{page}/retry/999999", follow_redirects=True).text
    assert visitor.post(f"{page}/retry/{10**30}").status_code == 404
    assert visitor.post("/admin/webhooks/whk_0000000000000000/retry/1").status_code == 404
    visitor.post(f"{page}/pause")
    assert "Retry" not in visitor.get(page).text, "nothing would be sent"


EVM, TEZOS = "0x" + "aB" * 20, "tz1VSUr8wwNhLAzempoch5d6hLRiTh8Cjcjb"


def test_accounts_transfers_and_alerts_are_kept(app: Flask, network: Flask, database: Database) -> None:
    visitor = signed_in(app, Role.OPERATOR)
    made(visitor, audience="subjects", accounts=f"{EVM}\n {EVM.lower()} \n{TEZOS}", transfers=ID)
    made(visitor, audience="alerts", alerts=["stuck", "audit_broken"], accounts="left out")
    of_subjects, of_alerts = list_subscriptions(database)
    assert (of_subjects.accounts, of_subjects.transfer_ids) == ((EVM.lower(), TEZOS.lower()), (ID,))
    assert (of_alerts.accounts, of_alerts.alerts) == ((), ("stuck", "audit_broken"))
    page = visitor.get(f"/admin/webhooks/{of_alerts.public_id}").text
    assert "Stuck transfers" in page


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"url": ""}, "Must be a URL"),
        ({"url": "http://hooks.example/"}, "Must begin with https"),
        ({"url": "https://10.0.0.1/"}, "Cannot be sent to"),
        ({"url": "https://2130706433/"}, "Must have a host name"),
        ({"audience": "subjects"}, "Name accounts or transfers"),
        ({"audience": "subjects", "transfers": "0x12"}, "32 bytes in hex"),
        ({"audience": "subjects", "accounts": "0xab"}, "An account or a transfer id must be an address"),
        ({"audience": "alerts"}, "Choose alerts"),
        ({"name": "n" * 101}, "at most 100 characters"),
    ],
)
def test_what_cannot_be_used_is_refused(
    app: Flask, network: Flask, database: Database, wrong: dict[str, str], words: str
) -> None:
    visitor = signed_in(app, Role.OPERATOR)
    answer = visitor.post("/admin/webhooks/new", {"url": URL, "audience": "everything"} | wrong)
    assert words in answer.text
    assert list_subscriptions(database) == []


@pytest.mark.parametrize("action", ["pause", "resume", "test", "rotate", "remove"])
def test_one_that_is_not_there(app: Flask, network: Flask, action: str) -> None:
    visitor = signed_in(app, Role.OPERATOR)
    assert visitor.get("/admin/webhooks/whk_none").status_code == 404
    assert visitor.post(f"/admin/webhooks/whk_none/{action}").status_code == 404
