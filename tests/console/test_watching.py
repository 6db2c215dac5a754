"""The pages of watched chains, their switch, and their state on the dashboard and in /readyz."""

from __future__ import annotations

import json
import re

import pytest
from flask import Flask

from app.accounts.rules.roles import Role
from app.audit.services import list_audit
from app.db.database import Database
from app.db.engine import writing
from app.db.upserts import upsert
from app.feed.services.ingest import Intake
from app.network.document import export_network
from app.values.identifiers import BlockNumber
from app.watcher.models import FaultyUrl
from app.watcher.rules.steps import Doubt, SpanState
from app.watcher.services.advance import advance
from tests.builders.clock import MovableClock
from tests.console.forms import send
from tests.console.visitor import Visitor, signed_in
from tests.watcher.services.world import CHAIN, URL_A, URL_B, span, step, watch_a_chain

PAGE = f"/admin/chains/{CHAIN}"
SWITCH = f"/admin/watching/{CHAIN}"


@pytest.fixture
def read(app: Flask, network: Flask) -> Flask:
    """Chain 1 is watched."""
    watch_a_chain(network)
    return network


def test_nothing_is_watched(app: Flask, operator: Visitor) -> None:
    assert "by reporters" in operator.get("/admin/chains/").text
    assert "Reporters send the events of this chain. None has arrived yet." in operator.get(PAGE).text
    for chain in (CHAIN, 10**12, 10**30):
        assert operator.post(f"/admin/watching/{chain}/stop", {"reason": "no"}).status_code == 404
    assert app.test_client().get("/readyz").get_json() == {"err": None, "watching": [], "stale_feeds": []}


def test_list_and_page_show_reading(read: Flask, viewer: Visitor) -> None:
    assert viewer.get("/admin/watching/").location == "/admin/chains/"
    listed = viewer.get("/admin/chains/").text
    for text in ("Ethereum", "reading", "2 blocks behind"):
        assert text in listed
    page = viewer.get(PAGE).text
    for text in (
        "21 000 120", "21 000 118", URL_A, "429", "50.0 %",
        "2 blocks behind", "500 blocks left", "11 to 40", URL_B, "in use", "host 1",
    ):  # fmt: skip
        assert text in page
    assert "Stop reading" not in page  # a viewer only looks


def test_page_names_nodes_with_false_answers(read: Flask, database: Database, viewer: Visitor) -> None:
    assert "False answers" not in viewer.get(PAGE).text
    words = "wrong chain: it is a node of chain 9, not of 1"
    with writing(database.engine) as connection:
        row = {"chain_id": CHAIN, "source": URL_B, "at": database.clock(), "words": words}
        upsert(connection, FaultyUrl, [row])
    page = viewer.get(PAGE).text
    assert "False answers" in page and "Wrong chain: it is a node of chain 9, not of 1." in page


def test_reading_is_stopped_and_started(app: Flask, read: Flask) -> None:
    visitor = signed_in(app, Role.OPERATOR)
    assert "Stop reading Ethereum" in visitor.get(PAGE).text
    assert "Enter a reason" in visitor.post(f"{SWITCH}/stop", {"reason": ""}, follow_redirects=True).text
    stopped = visitor.post(f"{SWITCH}/stop", {"reason": "the node moves"}, follow_redirects=True).text
    assert "Stopped reading Ethereum" in stopped and "The node moves." in stopped
    assert "by console:operator@example.org" in stopped or "by operator@example.org" in stopped
    assert (
        "is already stopped"
        in visitor.post(f"{SWITCH}/stop", {"reason": "again"}, follow_redirects=True).text
    )
    started = visitor.post(f"{SWITCH}/start", follow_redirects=True).text
    assert "Started reading Ethereum" in started and "Stop reading" in started


def test_only_read_chains_are_quiet(read: Flask, clock: MovableClock, viewer: Visitor) -> None:
    assert states(viewer.get("/admin/").text).items() >= {("Ethereum", "Quiet"), ("Optimism", "Not read")}
    clock.forward(minutes=2)
    assert states(viewer.get("/admin/").text)["Ethereum"] == "Not read"


def states(page: str) -> dict[str, str]:
    """Of each chain on the dashboard, in whichever of its tables."""
    rows = page.split('id="freshness"')[1].partition("</section>")[0].split('data-label="Chain">')[1:]
    pills = (row.split('class="pill')[1].split(">")[1].partition("<")[0] for row in rows)
    return {row.partition("<")[0]: pill for row, pill in zip(rows, pills, strict=True)}


def test_lag_without_reader_is_unknown(read: Flask, clock: MovableClock, viewer: Visitor) -> None:
    """It is that of the last look, and grows unseen."""
    seen_at = f"{clock():%Y-%m-%dT%H:}"
    clock.forward(minutes=45)
    listed, page = viewer.get("/admin/chains/").text, viewer.get(PAGE).text
    assert "not read" in listed and "blocks behind" not in listed
    unknown = re.search(r'lag unknown since <time datetime="([^"]+)"', page)
    assert unknown and unknown[1].startswith(seen_at)
    assert "2 blocks behind" not in page
    assert '<a href="#reading">No watcher reads the chain' in page


def test_ready_reports_progress(app: Flask, read: Flask, clock: MovableClock) -> None:
    answer = app.test_client().get("/readyz")
    (reported,) = answer.get_json()["watching"]
    assert reported == {
        "chain_id": 1,
        "state": "reading",
        "head": 21_000_120,
        "head_at": clock().isoformat(),
        "read_to": 21_000_118,
        "backfill_left": 500,
        "reread_to": 500,
        "reread_at": clock().isoformat(),
        "proven_to": 500,
        "proven_at": clock().isoformat(),
        "unproven_blocks": 0,
    }
    clock.forward(hours=2)
    later = app.test_client().get("/readyz")
    assert (later.status_code, later.get_json()["watching"][0]["state"]) == (200, "not_read")


@pytest.mark.parametrize("matched_to", [490, None])
def test_blocks_that_are_not_proven(
    app: Flask, network: Flask, database: Database, intake: Intake, matched_to: int | None
) -> None:
    words = "not agreed by two URLs and not proven, so transfers in them are only reported"
    lease = watch_a_chain(network)
    found = step(
        at=database.clock(),
        spans=[span(1, 500, SpanState.PROVEN)],
        doubts=[Doubt(block=BlockNumber(number), since=database.clock()) for number in (20, 40)],
        matched_to=matched_to and BlockNumber(matched_to),
    )
    advance(database, intake, lease, found)
    (reported,) = app.test_client().get("/readyz").get_json()["watching"]
    assert (reported["unproven_blocks"], reported["proven_to"]) == (2, 500)
    page = signed_in(app, Role.VIEWER).get(PAGE).text
    assert re.search(rf"<dt>In doubt</dt><dd>2 blocks <span[^>]*>{words}", page)
    shown_text = app.test_cli_runner().invoke(args=["watch", "--status"]).output
    assert f"chain 1: 2 blocks are in doubt: {words}" in shown_text


def test_preview_notes_a_name_that_is_not_a_node(operator: Visitor) -> None:
    fields = {
        "watch_from_block": "17",
        "rpc": "RPC_URL_A\nRPC_URL_B",
        "rpc_independent": "RPC_URL_A\nRPC_URL_X",
    }
    page = send(operator, "/admin/chains/1", **fields)
    assert page.status_code == 200
    assert "has no node RPC_URL_X" in page.text
    fields["rpc_independent"] = "RPC_URL_A\nRPC_URL_B"
    assert "has no node" not in send(operator, "/admin/chains/1", **fields).text


def test_console_sets_chain_nodes(database: Database, operator: Visitor) -> None:
    values = {"watch_from_block": "17", "finality": "Finalized", "poll_seconds": "0.5"}
    names = "RPC_URL_A\n  RPC_URL_B \n"
    lists = {"rpc": names, "rpc_same_provider": names, "rpc_independent": "RPC_URL_B"}
    saved = send(operator, "/admin/chains/1", confirm="1", **lists, **values)
    assert saved.status_code == 302, saved.text
    chain = json.loads(export_network(database))["chains"][0]
    assert {key: chain[key] for key in (*values, *lists)} == {
        "watch_from_block": 17,
        "finality": "finalized",
        "poll_seconds": 0.5,
        "rpc": [URL_A, URL_B],
        "rpc_same_provider": [URL_A, URL_B],
        "rpc_independent": [URL_B],
    }
    grouped = {"watch_from_block": "21 000 000", "finality": "1 0\u202f00", "poll_seconds": "1 000.5"}
    assert send(operator, "/admin/chains/1", confirm="1", **grouped).status_code == 302
    chain = json.loads(export_network(database))["chains"][0]
    assert [chain[key] for key in values] == [21_000_000, 1000, 1000.5], "as pages write numbers"
    cleared = {"watch_from_block": "", "finality": "", "poll_seconds": "5", **dict.fromkeys(lists, "")}
    assert send(operator, "/admin/chains/1", confirm="1", **cleared).status_code == 302
    assert not {*values, *lists} & json.loads(export_network(database))["chains"][0].keys()


@pytest.mark.every_database
def test_nul_is_left_out_of_the_reason(app: Flask, network: Flask, database: Database) -> None:
    watch_a_chain(network)
    visitor, stop = signed_in(app, Role.OPERATOR), f"/admin/watching/{CHAIN}/stop"
    assert "Enter a reason" in visitor.post(stop, {"reason": " \0"}, follow_redirects=True).text
    assert "Stopped reading" in visitor.post(stop, {"reason": "the\0node"}, follow_redirects=True).text
    assert "The node." in visitor.get(f"/admin/chains/{CHAIN}").text
    assert list_audit(database)[0].detail == "the node"
