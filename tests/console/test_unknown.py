"""What is not known never looks good: one definition of looks, and every page that shows a state by one."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from flask import Flask
from sqlalchemy import delete, insert, update

from app.accounts.rules.roles import Role
from app.console.shell.formats import STATIC, TONES, Look, Tone, look_of_age, look_of_count, pill, unknown
from app.console.transfers.labels import STATUS_WORDS
from app.db.database import Database
from app.db.engine import writing
from app.estimates.models import ReportedFee
from app.network.models import Chain, NetworkPart, Route
from app.sandbox.catalogue import sandbox_id
from app.transfers.models import ChainProgress
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import ChainId
from app.watcher.models import ChainWatch
from app.watcher.services.lease import take
from app.webhooks.models import Delivery, Subscription
from app.webhooks.rules.subscription import Audience, DeliveryState, State
from tests.console.visitor import NOW, Visitor, signed_in
from tests.watcher.services.world import watch_a_chain

LATE = timedelta(minutes=15)


def row_of(page: str, name: str) -> str:
    """The row of a list that names this."""
    (found,) = [row for row in page.split("<tr") if f">{name}<" in row]
    return found


def test_zero_count_looks_good_only_when_known() -> None:
    assert look_of_count(0, Look.BAD, known=True) is Look.GOOD
    assert look_of_count(0, Look.BAD, known=False) is Look.UNKNOWN
    assert look_of_count(3, Look.BAD, known=False) is Look.BAD


def test_what_never_happened_is_unknown() -> None:
    assert look_of_age(None, NOW, LATE) is Look.UNKNOWN
    assert look_of_age(NOW - LATE, NOW, LATE) is Look.GOOD
    assert look_of_age(NOW - LATE - timedelta(seconds=1), NOW, LATE) is Look.WARN


def test_unknown_value_shows_since_when() -> None:
    assert "so far" in unknown("not read")
    assert re.search('pill-unknown">not read<.*since <time datetime="2026-11-21', unknown("not read", NOW))


def test_pill_refuses_unknown_look() -> None:
    with pytest.raises(ValueError, match="green"):
        pill("fine", "green")


def test_only_good_parts_are_green() -> None:
    """In the style sheets: no part is green unless its look is."""
    for name in ("console.css", "dashboard.css", "transfers.css"):
        for rule in (STATIC / name).read_text().splitlines():
            if "var(--good)" in rule:
                selector = rule.partition("{")[0]
                assert re.search(r"-good|-success|^meter", selector), rule


def test_unknown_status_looks_unknown(app: Flask, sandbox: Flask) -> None:
    assert {status for status in Status if TONES[STATUS_WORDS[status].tone] is Look.UNKNOWN} == {
        Status.TRANSFER_UNKNOWN
    }
    assert TONES.keys() == set(Tone)
    page = signed_in(app, Role.VIEWER).get(f"/admin/transfers/{sandbox_id(Status.TRANSFER_UNKNOWN, 1)}").text
    assert '<span class="pill pill-unknown">Unknown</span>' in page


def test_chain_with_silent_reporters_is_unknown(sandbox: Flask, database: Database, viewer: Visitor) -> None:
    assert "pill-unknown" not in viewer.get("/admin/chains/").text
    with writing(database.engine) as connection:
        silent = update(ChainProgress).where(ChainProgress.chain_id == 137)
        connection.execute(silent.values(newest_at=database.clock() - timedelta(hours=2)))
        connection.execute(delete(ChainProgress).where(ChainProgress.chain_id == 10))
    page = viewer.get("/admin/chains/").text
    assert re.search("not reported</span> .*since <time", row_of(page, "Polygon"))
    assert "so far" in row_of(page, "Optimism")
    for key in (137, 10):
        state = viewer.get(f"/admin/chains/{key}").text.split('aria-label="State"')[1].split("</section>")[0]
        assert 'pill-unknown">not reported' in state


@pytest.mark.parametrize("standby", [True, False], ids=["a standby only", "no watcher"])
def test_unread_chain_is_unknown(app: Flask, sandbox: Flask, database: Database, standby: bool) -> None:
    with writing(database.engine) as connection:
        connection.execute(update(Chain).where(Chain.chain_id == 1).values(watch_from_block=1, rpc=["NODE"]))
        connection.execute(update(NetworkPart).values(version=NetworkPart.version + 1))
    if standby:
        assert take(database, ChainId(1), "standby", 3600), "it has the lease, and has read nothing"
    visitor = signed_in(app, Role.VIEWER)
    for path in ("/admin/chains/", "/admin/chains/1", "/admin/"):
        page = visitor.get(path).text
        assert re.search('pill-unknown">[Nn]ot read</span> <small class="smallest since">so far', page), path
    assert 'pill-good">in use' not in visitor.get("/admin/chains/1").text


def test_numbers_of_stopped_watcher_are_unknown(app: Flask, sandbox: Flask, database: Database) -> None:
    watch_a_chain(sandbox)
    visitor = signed_in(app, Role.VIEWER)
    assert 'pill-good">in use' in visitor.get("/admin/chains/1").text
    assert 'tile-good">0</span><span>Open anomalies' in visitor.get("/admin/").text
    with writing(database.engine) as connection:
        stopped = {"stopped": "nodes disagree", "stopped_at": database.clock(), "owner": None}
        connection.execute(update(ChainWatch).values(stopped))
    assert 'pill-good">in use' not in visitor.get("/admin/chains/1").text
    board = visitor.get("/admin/").text
    tile = board.split("Open anomalies")[1].split("</li>")[0]
    assert 'tile-unknown">0</span><span>Open anomalies' in board
    assert "not known: 1 chain is not read since <time" in tile


@pytest.mark.every_database
def test_route_without_base_fee_is_not_open(sandbox: Flask, database: Database, viewer: Visitor) -> None:
    listed = viewer.get("/admin/routes/").text
    assert 'pill-unknown">old base fee</span> <small class="smallest since">since <time' in listed
    assert "no base fee" not in listed
    with writing(database.engine) as connection:
        connection.execute(delete(ReportedFee))
        connection.execute(update(Route).values(base_fee=None))
        connection.execute(update(NetworkPart).values(version=NetworkPart.version + 1))
    listed = viewer.get("/admin/routes/").text
    assert 'pill-unknown">no base fee</span>' in listed and 'pill-good">open' not in listed


@pytest.mark.every_database
def test_webhook_without_delivery_is_unknown(app: Flask, network: Flask, database: Database) -> None:
    hook = {
        "public_id": "wh_1", "name": "shop", "url": "https://shop.example/", "place": "shop.example:443",
        "audience": Audience.EVERYTHING,
        "state": State.ACTIVE, "state_reason": "", "state_at": NOW, "created_at": NOW, "created_by": "me",
        "salt": bytes(32), "key_id": "key",
    }  # fmt: skip
    delivery = {
        "id": 1, "message_id": "msg_1", "subscription_id": 1, "type": "transfer.status", "subject": "",
        "body": "{}", "created_at": NOW, "state": DeliveryState.WAITING, "claims": 0, "attempts": 0,
        "next_at": NOW,
    }  # fmt: skip
    with writing(database.engine) as connection:
        connection.execute(insert(Subscription).values({"id": 1, **hook}))
    visitor = signed_in(app, Role.OPERATOR)
    paths = ("/admin/webhooks/", "/admin/webhooks/wh_1")

    def states() -> set[str]:
        pattern = 'pill-([a-z]+)">(active[^<]*)<'
        return {": ".join(found) for path in paths for found in re.findall(pattern, visitor.get(path).text)}

    assert states() == {"unknown: active, nothing delivered"}
    for state, shown in (
        (DeliveryState.WAITING, "unknown: active, nothing delivered"),
        (DeliveryState.DELIVERED, "good: active"),
        (DeliveryState.FAILED, "bad: active, last delivery failed"),
    ):
        with writing(database.engine) as connection:
            connection.execute(delete(Delivery))
            connection.execute(insert(Delivery).values(delivery | {"state": state}))
        assert states() == {shown}
    with writing(database.engine) as connection:
        late = {"id": 2, "message_id": "msg_2", "created_at": NOW, "next_at": NOW - timedelta(hours=1)}
        connection.execute(insert(Delivery).values(delivery | late))
        connection.execute(update(Subscription).values(state_at=NOW - timedelta(days=1)))
    assert states() == {"unknown: active, nothing is sent"}
