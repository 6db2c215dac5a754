"""The console's transfers: lists with filters, and pages that show where a transfer is."""

from __future__ import annotations

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update
from werkzeug.datastructures import MultiDict

from app.accounts.rules.roles import Role
from app.console.transfers.labels import NEXT_ACTOR_WORDS, STATUS_WORDS
from app.console.transfers.list_request import read_list_request
from app.db.database import Database
from app.db.engine import writing
from app.network.models import Chain
from app.network.snapshot import SnapshotSource
from app.sandbox.catalogue import SANDBOX_TRANSFERS, sandbox_id
from app.transfers.rules.progress import NextActor
from app.values.codes import FINISHED_STATUSES
from app.values.codes import TransferHistoryStatus as Status
from tests.applications import OpenApp
from tests.builders.clock import MovableClock
from tests.console.forms import pre, send
from tests.console.visitor import Visitor, signed_in
from tests.databases import SharedDatabase
from tests.feed.services.world import (
    NOW,
    SENDER,
    about,
    address,
    event,
    feed,
    fill_network,
    prepared,
    request,
    sent,
    transfer_id,
)

COMPLETED = SANDBOX_TRANSFERS[7]
SIGNING = sandbox_id(SANDBOX_TRANSFERS[18].status)
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def world(app: Flask, database: Database, clock: MovableClock, shared_database: SharedDatabase) -> Flask:
    """The small network at its own time."""
    clock.now = NOW
    fill_network(shared_database, database.engine)
    return app


def test_every_transfer_page_shows_status_and_missing_step(sandbox: Flask, viewer: Visitor) -> None:
    for transfer in SANDBOX_TRANSFERS:
        answer = viewer.get(f"/admin/transfers/{transfer.transfer_id}")
        assert answer.status_code == 200, transfer
        words = STATUS_WORDS[transfer.status]
        assert f"{words.label}</span></h1>" in answer.text, transfer
        assert words.meaning in unescape(answer.text)
        requested = viewer.client.post("/v2/getTransferStatus", json={"transfer_id": transfer.transfer_id})
        (actor,) = re.findall(r"<dt>Next to act</dt><dd>([^<]*?)(?: <span|</dd>)", answer.text)
        assert actor == NEXT_ACTOR_WORDS[NextActor(requested.headers["X-Transfer-Next-Actor"])]
        assert ("clients query again after" in answer.text) == (
            "X-Transfer-Next-Poll-Seconds" in requested.headers
        )
        assert transfer.transfer_id in pre(answer.text, "reply")
        assert "style=" not in answer.text
        assert ("Waits for" in answer.text) == (transfer.status not in FINISHED_STATUSES), transfer
        if transfer.status not in FINISHED_STATUSES:
            card = re.search(r'<section class="card waiting.*?</section>', answer.text, re.DOTALL)
            assert card, transfer
            waits = " ".join(re.sub("<[^>]+>", " ", card[0]).split())
            for label in ("Missing", "From", "Since", "To do", "Read so far"):
                assert f" {label} " in waits, transfer
            assert ("Since Not known" in waits) == (transfer.status == Status.TRANSFER_UNKNOWN), transfer
        for link in re.findall(r'href="([^"]*)" rel="noreferrer"', answer.text):
            assert link.startswith("https://")


def test_reply_links_to_public_page(open_app: OpenApp, sandbox: Flask) -> None:
    """Where PUBLIC_URL is set; the page is there and reads the same."""
    address = f"https://gateway.example.org/transfer/{COMPLETED.transfer_id}"
    path = f"/admin/transfers/{COMPLETED.transfer_id}"
    app = open_app(public_url="https://gateway.example.org")
    visitor = signed_in(app, Role.VIEWER)
    answer = visitor.get(path)
    reply = pre(answer.text, "reply")
    assert f"You can follow your transfer here: {address}\n" in reply
    assert f'href="{address}"' in answer.text
    users = unescape(visitor.get(f"/transfer/{COMPLETED.transfer_id}").text)
    assert all(sentence in users for sentence in reply.partition("\n")[0].split(". ")[1:])
    plain = signed_in(open_app(), Role.OPERATOR).get(path)
    assert "follow your transfer" not in plain.text


@pytest.mark.parametrize(
    ("powers", "needed"),
    [((10**24,) * 3, "66.67 %"), ((1, 1, 1), "100.0 %"), ((40, 30, 30), "67.0 %"), ((6, 2, 1), "77.78 %")],
)
def test_share_for_quorum_is_rounded_up(
    app: Flask, world: Flask, powers: tuple[int, ...], needed: str
) -> None:
    members: dict[str, Any] = {
        "signers": [address(n) for n in range(1, 4)],
        "powers": [str(power) for power in powers],
    }
    feed(world, event("validators.updated", chain_id=1, **members), sent(1), prepared(1, request(1)))
    visitor = signed_in(app, Role.VIEWER)
    page = visitor.get(f"/admin/transfers/{transfer_id(1)}").text
    assert f"<strong>{needed}</strong> is needed" in page
    assert f"of {needed} needed" in visitor.get("/admin/").text


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ({"signers": [], "powers": []}, "is empty"),
        ({"signers": [address(1)], "powers": ["0"]}, "has no power"),
        ({"signers": [address(1)], "powers": [str(2**255)]}, "has powers that add up to 2^255 or more"),
    ],
)
def test_set_unable_to_sign_is_marked(app: Flask, world: Flask, members: dict[str, Any], why: str) -> None:
    feed(world, event("validators.updated", chain_id=1, **members), sent(1), prepared(1, request(1)))
    visitor = signed_in(app, Role.VIEWER)
    page = visitor.get(f"/admin/transfers/{transfer_id(1)}").text
    assert why in page and "cannot sign, so no signature counts" in page
    assert "The validator set cannot sign" in visitor.get("/admin/").text
    sets = visitor.get("/admin/chains/1").text
    assert f"The validator set of Chain 1 {why}" in sets


def test_stages_show_retracted_events(app: Flask, world: Flask) -> None:
    feed(
        world,
        sent(1, at=-300),
        about(1, "transfer.confirmed", at=-200),
        event("chain.reorged", at=-150, chain_id=1, from_block=100),
        sent(1, at=-100, block=101, event_id="again"),
    )
    page = signed_in(app, Role.VIEWER).get(f"/admin/transfers/{transfer_id(1)}").text
    stages = re.findall(r'<li class="stage stage-(\w+)".*?stage-name">([^<]*)', page, re.DOTALL)
    assert ("done", "In a source block") in stages
    assert ("current", "Final on the source") in stages
    assert page.count('aria-current="step"') == 1
    assert "for 1 min 40 s" in page
    fallen = re.findall(r'<li class="event fallen">.*?</li>', page, re.DOTALL)
    assert len(fallen) == 2
    assert "Its block was orphaned: Chain 1 reorganised from block 100" in fallen[0]
    assert "Not counted" in fallen[0]


def test_lists_are_filtered_and_go_on(sandbox: Flask, viewer: Visitor) -> None:
    everything = rows_of(viewer.get("/admin/transfers/").text)
    assert len(everything) == 50
    failed = rows_of(viewer.get("/admin/transfers/?status=2").text)
    assert failed == [t.transfer_id for t in SANDBOX_TRANSFERS if t.status == Status.TRANSFER_FAILED]
    refunds = rows_of(viewer.get("/admin/transfers/?status=refunds").text)
    assert set(refunds) == {
        t.transfer_id
        for t in SANDBOX_TRANSFERS
        if t.status
        in (
            Status.TRANSFER_TO_BE_REFUNDED,
            Status.TRANSFER_REQUESTING_REFUND,
            Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
            Status.TRANSFER_CONFIRMING_YOUR_REFUND,
        )
    }
    page = viewer.get("/admin/transfers/?src=1&dst=56&token=USDT&since=2026-11-01T00:00").text
    assert rows_of(page)
    assert page.count("Ethereum → BNB Chain") == len(rows_of(page))
    assert not rows_of(viewer.get("/admin/transfers/?until=2020-01-01").text)
    older = re.search(r'href="(/admin/transfers/\?[^"]*)">Older', viewer.get("/admin/transfers/").text)
    assert older
    assert not set(rows_of(viewer.get(unescape(older[1])).text)) & set(everything)


def test_span_ends_now(
    app: Flask,
    sandbox: Flask,
    database: Database,
    snapshots: SnapshotSource,
    clock: MovableClock,
    viewer: Visitor,
) -> None:
    """So the address of a list means the same tomorrow."""
    page = viewer.get("/admin/transfers/?within=24h&since=2020-01-01T00:00").text
    assert rows_of(page)
    assert '<option value="24h" selected>' in page
    with app.app_context():
        for _ in range(2):
            requested = read_list_request(
                database, snapshots, MultiDict({"within": "24h", "since": "2020-01-01T00:00"})
            )
            assert requested.filters.since == clock.now - timedelta(hours=24)
            assert requested.fields == {"within": "24h"}
            clock.forward(minutes=5)
    answer = viewer.get("/admin/transfers/?within=1y").text
    assert "is not one of the periods" in answer


def test_stuck_alone_and_filtered(sandbox: Flask, viewer: Visitor) -> None:
    page = viewer.get("/admin/transfers/?stuck=1").text
    stuck = rows_of(page)
    assert SIGNING in stuck
    assert "times the median transfer time" in page
    some = rows_of(viewer.get("/admin/transfers/?stuck=1&status=7&src=1").text)
    assert SIGNING in some
    assert set(some) < set(stuck)
    assert not rows_of(viewer.get("/admin/transfers/?stuck=1&status=5").text)
    assert not rows_of(viewer.get("/admin/transfers/?stuck=1&until=2020-01-01").text)


ODD_FILTERS = (
    "status=99", "status=²", "status=x%00y", "src=-1", "src=99999999999999999999999", "dst=٣",
    "since=yesterday", "until=0001-01-01T00:00:00%2B14:00", "account=" + "a" * 129,
)  # fmt: skip


def test_invalid_filter_value_is_ignored(world: Flask, viewer: Visitor) -> None:
    """It is reported."""
    feed(world, sent(1))
    for query in ODD_FILTERS:
        stuck, answer = (viewer.get(f"/admin/transfers/?{query}{more}") for more in ("&stuck=1", ""))
        assert stuck.status_code == answer.status_code == 200, query
        assert "so it was ignored" in stuck.text and "so it was ignored" in answer.text, query
        assert rows_of(answer.text) == [transfer_id(1)], query


def test_ids_that_are_none_or_not_known(world: Flask, viewer: Visitor) -> None:
    for text in ("0", "0x12", "x" * 64, "0x" + "1" * 63):
        assert viewer.get(f"/admin/transfers/{text}").status_code == 404
    unknown = viewer.get(f"/admin/transfers/{transfer_id(1)}")
    assert unknown.status_code == 404
    assert "Transfer not found" in unknown.text
    feed(world, sent(0xAB))
    odd = viewer.get(f"/admin/transfers/{transfer_id(0xAB)[2:].upper()}")
    assert (odd.status_code, odd.location) == (302, f"/admin/transfers/{transfer_id(0xAB)}")


def test_event_and_network_texts_are_escaped(app: Flask, world: Flask, database: Database) -> None:
    with writing(database.engine) as connection:
        connection.execute(
            update(Chain)
            .where(Chain.chain_id == 1)
            .values(name=f"One{SCRIPT}", explore_url="javascript:alert(1)")
        )
    image = '"><img src=x onerror=alert(1)>'
    verdict = feed(
        world,
        sent(1, sender=SCRIPT, receiver=image),
        sent(2, symbol=f"T{SCRIPT}"),
        about(3, "transfer.failed", at=-90, reason=SCRIPT),
        reporter=f"reporter{SCRIPT}",
    )
    assert not verdict.refused
    visitor = signed_in(app, Role.VIEWER)
    shown = ""
    for path in (
        *(f"/admin/transfers/{transfer_id(n)}" for n in (1, 2, 3)),
        "/admin/transfers/",
        f"/admin/search/?q={image}",
        f"/admin/transfers/?token={image}&account={image}&since={image}",
        f"/admin/estimates/?src=1&dst=2&token={image}&user={image}&amount={image}",
    ):
        answer = visitor.get(path)
        assert answer.status_code == 200 or answer.location == f"/admin/transfers/{transfer_id(1)}", path
        assert SCRIPT not in answer.text
        assert "<img" not in answer.text
        assert 'href="javascript' not in answer.text
        shown += answer.text
    for text in ("One", "reporter", "T"):
        assert f"{text}&lt;script&gt;" in shown, text
    assert "&lt;img src=x" in shown


def test_transfer_page_blocks_its_sender(app: Flask, world: Flask) -> None:
    feed(world, sent(1))
    page, link = f"/admin/transfers/{transfer_id(1)}", f"/admin/blocked_addresses/new?address={SENDER}"
    operator = signed_in(app, Role.OPERATOR)
    assert f'href="{link}"' in operator.get(page).text
    form = operator.get(link).text
    assert re.search(r"<textarea[^>]*>\s*" + SENDER, form)
    assert re.findall(r'<[^>]* autofocus[^>]* name="(\w+)"', form) == ["reason"]
    saved = send(operator, link, reason="stolen key", confirm="1")
    assert saved.status_code == 302, saved.text
    blocked = operator.get(page).text
    assert f'href="{link}"' not in blocked
    assert (
        f'<a href="/admin/blocked_addresses/?search={SENDER}"><span class="pill pill-bad">blocked' in blocked
    )
    viewer = signed_in(app, Role.VIEWER)
    assert "Block sender" not in viewer.get(page).text


def test_unknown_transfer_has_a_reply(app: Flask, world: Flask) -> None:
    viewer, nothing = signed_in(app, Role.VIEWER), "0x" + "12" * 32
    for path in (
        f"/admin/search/?q={nothing}",
        f"/admin/search/?q={address(77)}",
        f"/admin/transfers/{nothing}",
    ):
        reply = pre(viewer.get(path).text, "reply")
        assert "Please look at the transaction in your wallet" in reply, path
        assert nothing in reply or address(77) in reply
    assert 'id="reply"' not in viewer.get("/admin/search/?q=nothing+like+it").text


def rows_of(page: str) -> list[str]:
    """The ids of the transfers that a list shows, in its order."""
    return re.findall(r'class="row-link mono" href="/admin/transfers/(0x[0-9a-f]{64})"', page)
