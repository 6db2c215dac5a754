"""An event with a time in the future counts from that time on."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.db.database import Database
from app.feed.services.ingest import Intake, ingest_lines
from app.http.application import part_of
from app.values.codes import TransferHistoryStatus as Status
from tests.api.estimates import QUERY
from tests.api.shapes import ESTIMATE, LATENCY, STATUS
from tests.api.world import configure, event, released, report_events, sent
from tests.applications import Applications
from tests.builders.clock import MovableClock
from tests.console.visitor import NOW
from tests.databases import SharedDatabase

pytestmark = pytest.mark.every_database

ID = "0x" + "5a" * 32
MINUTE = timedelta(minutes=1)


class World:
    """An application whose clock the test moves, and its answers."""

    def __init__(self, applications: Applications, shared_database: SharedDatabase) -> None:
        self.clock = MovableClock(NOW)
        self.app = applications.opener(shared_database, self.clock, FlaskClient)()
        self._client = self.app.test_client()
        configure(self.app)

    def status(self, transfer_id: str = ID) -> int | None:
        """None while the transfer is not known."""
        answer = self._client.post(STATUS, json={"transfer_id": transfer_id}).get_json()
        return None if answer["err"] else int(answer["status"])

    def estimate(self) -> Any:
        return self._client.get(ESTIMATE, query_string=QUERY).get_json()

    def latency(self) -> int:
        """In seconds; 0 while no transfer counts."""
        answer = self._client.get(f"{LATENCY}?src_chain_id=1&dst_chain_id=56").get_json()
        return round(answer["median_transfer_latency_in_second"])


@pytest.fixture
def world(applications: Applications, shared_database: SharedDatabase) -> World:
    return World(applications, shared_database)


def at(world: World, reported: dict[str, Any], **by: float) -> dict[str, Any]:
    """The event at a time from the clock of now on."""
    return reported | {"at": (world.clock.now + timedelta(**by)).isoformat()}


def fee(base_fee: int) -> dict[str, Any]:
    route = {"symbol": "USDT", "src_chain_id": 1, "dst_chain_id": 56}
    return event("fee.updated", base_fee=str(base_fee), **route)


def test_status_changes_at_time_of_early_event(world: World) -> None:
    """Nothing is written then."""
    report_events(world.app, at(world, sent(ID), minutes=-5), at(world, released(ID, MINUTE), minutes=5))
    assert (world.status(), world.latency()) == (Status.TRANSFER_SUBMITTING, 0)
    world.clock.forward(minutes=5, microseconds=-1)
    assert world.status() == Status.TRANSFER_SUBMITTING
    world.clock.forward(microseconds=1)
    assert (world.status(), world.latency()) == (Status.TRANSFER_COMPLETED, 600)


def test_future_network_status_does_not_count(world: World) -> None:
    words = (event("network.status", transfer_id=ID, xfer_status=n) for n in (2, 4))
    report_events(
        world.app, at(world, sent(ID), minutes=-5), *(at(world, w, minutes=m) for m, w in enumerate(words))
    )
    assert world.status() == Status.TRANSFER_WAITING_FOR_FUND_RELEASE
    world.clock.forward(minutes=1)
    assert world.status() == Status.TRANSFER_TO_BE_REFUNDED


def test_estimate_uses_fee_from_its_effective_time(world: World) -> None:
    report_events(world.app, at(world, fee(20), minutes=9), at(world, fee(10), minutes=-1))
    assert world.estimate()["base_fee"] == "10"
    world.clock.forward(minutes=9)
    assert world.estimate()["base_fee"] == "20"


def test_pools_move_at_their_time(world: World) -> None:
    emptied = event("liquidity.withdrawn", chain_id=56, symbol="USDT", amount="5" + "0" * 24)
    report_events(world.app, at(world, emptied, minutes=2))
    assert world.estimate()["err"] is None
    world.clock.forward(minutes=2)
    assert world.estimate()["err"]["code"] == 1004


def test_future_event_waits_after_clock_correction(world: World) -> None:
    """A day later it counts: then it is the latest."""
    report_events(world.app, at(world, fee(5), minutes=-1), at(world, sent(ID), minutes=-5))
    world.clock.forward(days=1)
    tomorrow = event("network.status", transfer_id=ID, xfer_status=4)
    report_events(world.app, at(world, fee(20)), at(world, tomorrow))
    assert (world.estimate()["base_fee"], world.status()) == ("20", Status.TRANSFER_TO_BE_REFUNDED)
    world.clock.forward(days=-1)
    now = event("network.status", transfer_id=ID, xfer_status=2)
    report_events(world.app, at(world, fee(10)), at(world, now))
    assert (world.estimate()["base_fee"], world.status()) == ("10", Status.TRANSFER_WAITING_FOR_FUND_RELEASE)
    world.clock.forward(days=1)
    assert (world.estimate()["base_fee"], world.status()) == ("20", Status.TRANSFER_TO_BE_REFUNDED)


def test_reorganisation_retracts_future_events(world: World) -> None:
    """At once."""
    report_events(
        world.app,
        at(world, sent(ID, block=100), minutes=-5),
        at(world, released(ID, MINUTE, block=7), minutes=3),
    )
    report_events(world.app, at(world, event("chain.reorged", chain_id=56, from_block=7), minutes=4))
    world.clock.forward(minutes=10)
    assert world.status() == Status.TRANSFER_SUBMITTING


def test_future_send_is_known_and_repeatable(world: World) -> None:
    """No event of it counts yet."""
    ahead = at(world, sent(ID), minutes=2)
    report_events(world.app, ahead)
    assert world.status() == Status.TRANSFER_UNKNOWN
    verdict = ingest_lines(
        part_of(world.app, Database), part_of(world.app, Intake), [json.dumps(ahead).encode()], "test"
    )
    assert (verdict.accepted, verdict.repeated) == (0, 1)
    world.clock.forward(minutes=2)
    assert world.status() == Status.TRANSFER_SUBMITTING
