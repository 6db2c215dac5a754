"""What is shown of chains that are watched, and the operators' switch."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from app.audit.keys import AuditKeys
from app.audit.services import list_audit
from app.db.database import Database
from app.db.engine import writing
from app.feed.services.ingest import Intake
from app.http.application import part_of
from app.network.document import export_network, import_network
from app.network.models import Chain
from app.network.snapshot import SnapshotSource
from app.values.identifiers import BlockNumber, ChainId
from app.watcher.rules.steps import Missed, SpanState, Waiting, WaitingKind
from app.watcher.rules.watched import WatchedChain, WatchState
from app.watcher.services.advance import advance
from app.watcher.services.chains import SwitchRefused, start, stop, watch_details, watched_chains
from app.watcher.services.lease import Lease, LeaseLost, halt, note_fault, renew, take
from app.watcher.services.readings import load
from tests.actors import TESTER
from tests.applications import Audited, Editing
from tests.builders.clock import MovableClock
from tests.watcher.services.world import (
    CHAIN,
    URL_A,
    URL_B,
    block,
    head_event,
    header,
    sent_event,
    span,
    step,
)


@pytest.fixture
def watched(app: Flask, database: Database) -> Flask:
    """Chain 1 is configured to be watched from block 11 on."""
    with writing(database.engine) as connection:
        values = {"watch_from_block": 11, "rpc": [URL_A, URL_B], "poll_seconds": 2}
        connection.execute(update(Chain).where(Chain.chain_id == CHAIN).values(**values))
    return app


def taken(database: Database, owner: str = "host 1") -> Lease:
    lease = take(database, CHAIN, owner, 8)
    assert lease is not None
    return lease


def the_one(app: Flask) -> WatchedChain:
    (chain,) = watched_chains(part_of(app, Database), part_of(app, SnapshotSource))
    return chain


def read(app: Flask, lease: Lease, **more: Any) -> None:
    advance(
        part_of(app, Database),
        part_of(app, Intake),
        lease,
        step(
            events=[head_event(120)],
            backfill_from=11,
            backfilled_to=40,
            live_from=101,
            live_to=block(118),
            head=header(120),
            calls=3,
            spans=[span(11, 40, SpanState.PROVEN), span(101, 118)],
            **more,
        ),
    )


def test_unwatched_network_shows_no_chain(database: Database, snapshots: SnapshotSource) -> None:
    assert watched_chains(database, snapshots) == []


def test_chain_view_is_not_read_before_first_poll(watched: Flask) -> None:
    chain = the_one(watched)
    assert (chain.chain_id, chain.name, chain.from_block, chain.rpc) == (1, "Chain 1", 11, (URL_A, URL_B))
    assert (chain.state, chain.head) == (WatchState.NOT_READ, None)
    assert (chain.lag, chain.backfill_left) == (None, None)


def test_chain_is_shown_while_it_is_read(
    watched: Flask, database: Database, intake: Intake, clock: MovableClock
) -> None:
    lease = taken(database)
    read(watched, lease)
    chain = the_one(watched)
    assert (chain.state, chain.owner, chain.source, chain.calls_a_minute) == (
        WatchState.READING, "host 1", URL_A, 3,
    )  # fmt: skip
    assert (chain.head, chain.read_to, chain.lag, chain.backfill_left) == (120, 118, 2, 60)
    assert (chain.reread_to, chain.proven_to, chain.proven_at) == (40, 40, clock())
    clock.forward(seconds=61)
    renew(database, lease, 8)
    assert the_one(watched).state is WatchState.NOT_READ  # it has the lease, and reads nothing
    advance(database, intake, lease, step(head=header(120)))
    assert the_one(watched).state is WatchState.READING
    clock.forward(seconds=9)
    assert the_one(watched).state is WatchState.NOT_READ  # it is gone
    assert the_one(watched).owner is None


def test_unchanged_head_is_not_quiet(
    watched: Flask, database: Database, intake: Intake, clock: MovableClock
) -> None:
    lease = taken(database)
    read(watched, lease)
    assert the_one(watched).is_quiet(clock())  # nothing was ever for us
    advance(database, intake, lease, step(events=[sent_event(1)], head=header(121)))
    assert not the_one(watched).is_quiet(clock())
    for minute in range(16):
        clock.forward(seconds=60)
        renew(database, lease, 8)
        advance(database, intake, lease, step(head=header(122 + minute)))
    assert (the_one(watched).state, the_one(watched).is_quiet(clock())) == (WatchState.READING, True)
    for _ in range(16):
        clock.forward(seconds=60)
        renew(database, lease, 8)
        advance(database, intake, lease, step(head=header(137)))
    assert (the_one(watched).state, the_one(watched).is_quiet(clock())) == (WatchState.STANDING, False)


def test_faults_and_details(watched: Flask, database: Database, clock: MovableClock) -> None:
    lease = taken(database)
    missed = Missed(BlockNumber(11), BlockNumber(40), 2, 1, URL_A, URL_B)
    waits = Waiting(WaitingKind.UNKNOWN, "1:0xab:0xcd:0", BlockNumber(12), None, {"log": []})
    read(watched, lease, missed=[missed], waiting=[waits])
    note_fault(database, lease, "it answers with another chain's blocks", URL_A)
    chain, details = the_one(watched), watch_details(database, CHAIN)
    assert (chain.fault, chain.fault_source, chain.fault_at) == (
        "it answers with another chain's blocks", URL_A, clock(),
    )  # fmt: skip
    assert (chain.differed, [each.missed for each in details.misses]) == (1, [missed])
    assert details.waiting == {"unknown": 1}


def test_operator_stops_and_starts_chain(
    watched: Flask,
    database: Database,
    snapshots: SnapshotSource,
    intake: Intake,
    audit_keys: AuditKeys,
    audited: Audited,
    clock: MovableClock,
) -> None:
    lease = taken(database)
    read(watched, lease)
    with pytest.raises(SwitchRefused, match="enter a reason"):
        stop(database, snapshots, audit_keys, CHAIN, " ", actor=TESTER)
    stop(database, snapshots, audit_keys, CHAIN, "the node is being replaced", actor=TESTER)
    chain = the_one(watched)
    assert (chain.state, chain.stopped, chain.stopped_by) == (
        WatchState.STOPPED, "the node is being replaced", TESTER.name,
    )  # fmt: skip
    with pytest.raises(LeaseLost):
        advance(database, intake, lease, step(events=[sent_event(1)]))
    with pytest.raises(SwitchRefused, match="is already stopped: the node is being replaced"):
        stop(database, snapshots, audit_keys, CHAIN, "again", actor=TESTER)
    clock.forward(seconds=60)
    assert take(database, CHAIN, "host 2", 8) is None
    start(*audited, CHAIN, actor=TESTER)
    with pytest.raises(SwitchRefused, match="is not stopped"):
        start(*audited, CHAIN, actor=TESTER)
    assert load(database, CHAIN).live_to == block(118)
    assert taken(database, "host 2").epoch > lease.epoch
    actions = [(entry.action, entry.detail) for entry in list_audit(database)]
    assert ("watch.stop", "the node is being replaced") in actions
    assert ("watch.start", "was stopped: the node is being replaced") in actions


def test_unread_chain_can_be_stopped(
    watched: Flask, database: Database, snapshots: SnapshotSource, audit_keys: AuditKeys, audited: Audited
) -> None:
    stop(database, snapshots, audit_keys, CHAIN, "not yet", actor=TESTER)
    assert take(database, CHAIN, "host 1", 8) is None
    with pytest.raises(SwitchRefused, match="chain 2 is not configured to be watched"):
        stop(database, snapshots, audit_keys, ChainId(2), "why", actor=TESTER)
    with pytest.raises(SwitchRefused, match="chain 2 is not stopped"):
        start(*audited, ChainId(2), actor=TESTER)


def test_what_the_watcher_stopped_an_operator_starts(
    watched: Flask, database: Database, audited: Audited
) -> None:
    halt(database, taken(database), "a reorganisation deeper than is believed")
    chain = the_one(watched)
    assert (chain.state, chain.stopped, chain.stopped_by) == (
        WatchState.STOPPED, "a reorganisation deeper than is believed", None,
    )  # fmt: skip
    start(*audited, CHAIN, actor=TESTER)
    taken(database, "host 2")


def test_import_leaves_what_was_read(watched: Flask, database: Database, editing: Editing) -> None:
    lease = taken(database)
    read(watched, lease)
    import_network(*editing, export_network(database), actor=TESTER)
    assert the_one(watched).read_to == 118
