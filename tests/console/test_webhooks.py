"""The pages of webhooks: made, looked at, switched, sent again, removed."""

from __future__ import annotations

import re
from datetime import timedelta

from flask import Flask

from app.audit.services import list_audit
from app.db.database import Database
from app.http.application import part_of
from app.webhooks.rules.subscription import DeliveryState
from app.webhooks.services.delivering import Due, Outcome, bring_back, take
from app.webhooks.services.shown import delivery_log, list_subscriptions
from tests.applications import Audited, audited_of
from tests.builders.clock import MovableClock
from tests.console.visitor import Visitor
from tests.webhooks.services.hooks import Plenty

URL = "https://hooks.example/in?token=hidden"
ID = f"0x{7:064x}"
NOBODY_SENDS = "no sender seems to run"


def create_webhook(visitor: Visitor, **fields: object) -> str:
    """The id of a webhook that was just made; its secret is on the page once."""
    page = visitor.post("/admin/webhooks/new", {"url": URL, "audience": "everything"} | fields).text
    (public_id,) = set(re.findall(r"/admin/webhooks/(whk_[0-9a-f]{16})", page))
    assert re.search(r"whsec_[A-Za-z0-9+/]{43}=", page)
    return public_id


def attempted(app: Flask, status: int | None, error: str = "") -> Due:
    (due,) = take(*audited_of(app), Plenty())
    bring_back(part_of(app, Database), [Outcome(due, part_of(app, Database).clock(), 31, status, error)])
    return due


def test_webhook_is_made_tested_removed(network: Flask, database: Database, operator: Visitor) -> None:
    assert "No webhooks yet" in operator.get("/admin/webhooks/").text
    public_id = create_webhook(operator, name="the ledger")
    page = f"/admin/webhooks/{public_id}"
    assert "the ledger" in operator.get("/admin/webhooks/").text
    assert "whsec_" not in operator.get(page).text
    assert "The gateway wrote a test event" in operator.post(f"{page}/test", follow_redirects=True).text
    due = attempted(network, 503, "HTTP 503")
    shown = operator.get(page).text
    for text in ("webhook.test", "HTTP 503", "31 ms", "waiting", due.message_id):
        assert text in shown
    assert due.message_id not in operator.get(f"{page}?state=delivered").text
    assert operator.post(f"{page}/remove").location == "/admin/webhooks/"
    assert operator.get(page).status_code == 404
    assert "No webhooks yet" in operator.get("/admin/webhooks/").text
    done = [row.action for row in list_audit(database)]
    assert done[:2] == ["webhook.removed", "webhook.create"]


def test_missing_sender_is_reported(network: Flask, clock: MovableClock, operator: Visitor) -> None:
    page = f"/admin/webhooks/{create_webhook(operator)}"
    operator.post(f"{page}/test")
    clock.forward(seconds=60)
    assert NOBODY_SENDS not in operator.get(page).text
    clock.forward(seconds=1)
    for each in (page, "/admin/webhooks/"):
        assert NOBODY_SENDS in operator.get(each).text
    operator.post(f"{page}/pause")
    assert NOBODY_SENDS not in operator.get(page).text
    operator.post(f"{page}/resume")  # only from now on could it be sent
    assert NOBODY_SENDS not in operator.get(page).text
    clock.forward(seconds=61)
    assert NOBODY_SENDS in operator.get(page).text
    attempted(network, 200)
    assert NOBODY_SENDS not in operator.get(page).text


def test_hanging_receiver_shows_running_sender(
    audited: Audited, clock: MovableClock, operator: Visitor
) -> None:
    page = f"/admin/webhooks/{create_webhook(operator)}"
    for _ in range(3):
        operator.post(f"{page}/test")
    clock.forward(minutes=2)
    assert NOBODY_SENDS in operator.get(page).text
    assert len(take(*audited, Plenty(each=2))) == 2  # the third waits until there is room
    assert NOBODY_SENDS not in operator.get(page).text
    clock.forward(seconds=61)  # and the sender was killed
    assert NOBODY_SENDS in operator.get(page).text


def test_new_secret_is_shown_once(operator: Visitor) -> None:
    page = f"/admin/webhooks/{create_webhook(operator)}"
    assert "whsec_" in operator.post(f"{page}/rotate").text
    assert "signs until" in operator.get(page).text


def test_span_is_replayed(network: Flask, database: Database, clock: MovableClock, operator: Visitor) -> None:
    public_id = create_webhook(operator)
    page = f"/admin/webhooks/{public_id}"
    operator.post(f"{page}/test")
    attempted(network, 200)
    since = f"{clock() - timedelta(minutes=2):%Y-%m-%d %H:%M}"
    until = f"{clock() + timedelta(minutes=2):%Y-%m-%d %H:%M}"
    span = {"since": since, "until": until}
    assert "0 deliveries are" in operator.post(f"{page}/replay", span, follow_redirects=True).text
    span["delivered_too"] = "y"
    assert "1 delivery is" in operator.post(f"{page}/replay", span, follow_redirects=True).text
    (row,) = delivery_log(database, public_id)
    assert (row.state, row.attempts, len(row.tries)) == (DeliveryState.WAITING, 0, 1)
    for wrong in ({}, {"since": "soon"}, {"since": until, "until": since}):
        assert "message-error" in operator.post(f"{page}/replay", wrong, follow_redirects=True).text


def test_failed_delivery_is_retried_by_hand(
    database: Database, audited: Audited, clock: MovableClock, operator: Visitor
) -> None:
    """Hours before its next attempt, and before the receiver's own Retry-After is over."""
    public_id = create_webhook(operator)
    page = f"/admin/webhooks/{public_id}"
    for _ in range(2):
        operator.post(f"{page}/test")
    for due in take(*audited, Plenty()):
        hours = timedelta(hours=5)
        bring_back(database, [Outcome(due, database.clock(), 31, 503, "HTTP 503", retry_after=hours)])
    assert ">2 failing<" in operator.get("/admin/webhooks/").text
    shown = operator.get(page).text
    assert shown.count(">failing<") == 2
    newest, oldest = re.findall(rf'action="({page}/retry/\d+)"', shown)
    clock.forward(minutes=1)
    assert take(*audited, Plenty()) == []
    assert "It is tried now" in operator.post(oldest, follow_redirects=True).text
    (due,) = take(*audited, Plenty())
    assert (oldest, due.attempts) == (f"{page}/retry/{due.id}", 1), "its attempts count on"
    assert "Nothing to send again" in operator.post(oldest, follow_redirects=True).text, "it is under way"
    assert take(*audited, Plenty()) == []
    bring_back(database, [Outcome(due, database.clock(), 31, 200)])
    assert "Nothing to send again" in operator.post(oldest, follow_redirects=True).text
    assert "It is tried now" in operator.post(f"{page}/retry", follow_redirects=True).text
    (due,) = take(*audited, Plenty())
    assert newest == f"{page}/retry/{due.id}"
    assert [row.action for row in list_audit(database)][:2] == ["webhook.retry"] * 2
    assert "Nothing to send again" in operator.post(f"{page}/retry/999999", follow_redirects=True).text
    assert operator.post(f"{page}/retry/{10**30}").status_code == 404
    assert operator.post("/admin/webhooks/whk_0000000000000000/retry/1").status_code == 404
    operator.post(f"{page}/pause")
    assert "Retry" not in operator.get(page).text, "nothing would be sent"


EVM, TEZOS = "0x" + "aB" * 20, "tz1VSUr8wwNhLAzempoch5d6hLRiTh8Cjcjb"


def test_accounts_transfers_and_alerts_are_stored(database: Database, operator: Visitor) -> None:
    create_webhook(operator, audience="subjects", accounts=f"{EVM}\n {EVM.lower()} \n{TEZOS}", transfers=ID)
    create_webhook(operator, audience="alerts", alerts=["stuck", "audit_broken"], accounts="left out")
    of_subjects, of_alerts = list_subscriptions(database)
    assert (of_subjects.accounts, of_subjects.transfer_ids) == ((EVM.lower(), TEZOS.lower()), (ID,))
    assert (of_alerts.accounts, of_alerts.alerts) == ((), ("stuck", "audit_broken"))
    page = operator.get(f"/admin/webhooks/{of_alerts.public_id}").text
    assert "Stuck transfers" in page


WRONG: list[tuple[dict[str, str], str]] = [
    ({"url": ""}, "Must be a URL"),
    ({"url": "http://hooks.example/"}, "Must begin with https"),
    ({"url": "https://10.0.0.1/"}, "Cannot be sent to"),
    ({"url": "https://2130706433/"}, "Must have a host name"),
    ({"audience": "subjects"}, "Name accounts or transfers"),
    ({"audience": "subjects", "transfers": "0x12"}, "32 bytes in hex"),
    ({"audience": "subjects", "accounts": "0xab"}, "An account or a transfer id must be an address"),
    ({"audience": "alerts"}, "Choose alerts"),
    ({"name": "n" * 101}, "at most 100 characters"),
]


def test_what_cannot_be_used_is_refused(database: Database, operator: Visitor) -> None:
    for wrong, words in WRONG:
        answer = operator.post("/admin/webhooks/new", {"url": URL, "audience": "everything"} | wrong)
        assert words in answer.text, wrong
    assert list_subscriptions(database) == []


def test_unknown_webhook_is_not_found(operator: Visitor) -> None:
    assert operator.get("/admin/webhooks/whk_none").status_code == 404
    for action in ("pause", "resume", "test", "rotate", "remove"):
        assert operator.post(f"/admin/webhooks/whk_none/{action}").status_code == 404, action


def test_paused_webhook_sends_nothing(audited: Audited, operator: Visitor) -> None:
    page = f"/admin/webhooks/{create_webhook(operator)}"
    paused = operator.post(f"{page}/pause", follow_redirects=True).text
    assert "Paused by operator@example.org" in paused
    operator.post(f"{page}/test")
    assert take(*audited, Plenty()) == []
    assert (
        "The gateway now sends the events that wait"
        in operator.post(f"{page}/resume", follow_redirects=True).text
    )
    assert len(take(*audited, Plenty())) == 1
