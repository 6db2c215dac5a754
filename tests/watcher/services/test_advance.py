"""A step: events and cursor together, what a reorganisation forgets, how far a chain is reread and proven."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from flask import Flask
from sqlalchemy import select, text

from app.db.database import Database
from app.db.engine import reading
from app.feed.services.ingest import Intake
from app.transfers import models as log
from app.transfers.models import Transfer
from app.values.codes import SendKind
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import BlockNumber
from app.watcher.queries import newest_misses
from app.watcher.rules.steps import Missed, SpanState, Waiting, WaitingKey, WaitingKind
from app.watcher.services import advance as module
from app.watcher.services.advance import Advanced, StepRefused, advance
from app.watcher.services.lease import Lease, take
from app.watcher.services.readings import follow_terms, load
from tests.builders.clock import MovableClock
from tests.feed.services.world import NOW, feed
from tests.feed.services.world import sent as sent_line
from tests.watcher.kit import row
from tests.watcher.kit import terms as terms_of
from tests.watcher.services.world import (
    CHAIN,
    URL_A,
    URL_B,
    block,
    head_event,
    header,
    reorg_event,
    sent_event,
    span,
    step,
)

terms = partial(terms_of, vaults=frozenset({b"\x02" * 20}))
REREAD, PROVEN = SpanState.REREAD, SpanState.PROVEN


@pytest.fixture
def lease(database: Database) -> Lease:
    lease = take(database, CHAIN, "watcher", 8)
    assert lease is not None
    return lease


Move = Callable[..., Advanced]


@pytest.fixture
def move(database: Database, intake: Intake, lease: Lease) -> Move:
    """Writes a step with these values."""
    return lambda **values: advance(database, intake, lease, step(**values))


def statuses(database: Database) -> dict[int, int]:
    with reading(database.engine) as connection:
        rows = connection.execute(select(Transfer.transfer_id, Transfer.status))
        return {int.from_bytes(transfer_id): status for transfer_id, status in rows}


def waiting(key: str, number: int) -> Waiting:
    due = BlockNumber(number + 10)
    return Waiting(WaitingKind.SEND_DEPTH, key, BlockNumber(number), due, {"transfer_id": "0x01"})


def test_unread_chain_has_no_readings(database: Database) -> None:
    readings = load(database, CHAIN)
    assert (readings.live_to, readings.headers, readings.contracts) == (None, (), None)


def test_events_and_cursor_are_written_together(database: Database, move: Move) -> None:
    result = move(
        events=[sent_event(1), head_event(105)],
        live_from=101,
        backfill_from=1,
        live_to=block(105),
        backfilled_to=40,
        headers=[header(100), header(105)],
        spans=[span(101, 105), span(1, 40)],
        waiting=[waiting("w", 100)],
        head=header(107),
        calls=2,
        extra={"window": 40},
    )
    assert (result.accepted, result.refused) == (2, [])
    assert statuses(database) == {1: Status.TRANSFER_SUBMITTING}
    readings = load(database, CHAIN)
    assert (readings.live_from, readings.live_to, readings.backfill_from) == (101, block(105), 1)
    assert readings.backfilled_to == 40
    assert readings.headers == [header(100), header(105)]
    assert readings.spans == [span(1, 40), span(101, 105)]
    assert readings.waiting == [waiting("w", 100)]
    assert readings.extra == {"window": 40}
    with reading(database.engine) as connection:
        assert set(connection.scalars(select(log.Event.reporter))) == {"watcher"}


def test_reporter_and_watcher_report_once(app: Flask, move: Move) -> None:
    event = sent_event(1)
    line = sent_line(
        1, id=event.id, block=100, block_hash=event.block_hash, log_index=0, src_tx_hash=event.src_tx_hash
    )
    assert feed(app, line, reporter="relayer").accepted == 1
    result = move(events=[event])
    assert (result.accepted, result.repeated, result.refused) == (0, 1, [])


def test_future_event_undoes_the_step(database: Database, move: Move) -> None:
    late = sent_event(2, id="late", at=NOW + timedelta(minutes=11))
    with pytest.raises(StepRefused, match="more than 10 minutes ahead") as refused:
        move(events=[sent_event(1), late], live_from=1, live_to=block(9))
    assert refused.value.passing
    assert statuses(database) == {}
    assert load(database, CHAIN).live_to is None


def test_refused_reorg_undoes_the_step(database: Database, move: Move) -> None:
    move(events=[head_event(5000)], live_from=1, live_to=block(5000))
    with pytest.raises(StepRefused, match=r"block 3000.*at most 50") as refused:
        move(events=[reorg_event(3000)], forget_from=3000, live_to=block(2999), spans=())
    assert not refused.value.passing
    assert load(database, CHAIN).live_to == block(5000)


def test_conflicting_report_does_not_stop_reading(app: Flask, database: Database, move: Move) -> None:
    """It is raised."""
    other = sent_event(1, amount=5)
    feed(app, sent_line(1, id=other.id, block_hash=other.block_hash, src_tx_hash=other.src_tx_hash))
    result = move(events=[other, sent_event(2)], live_from=1, live_to=block(100))
    assert (result.accepted, [line.line for line in result.refused]) == (1, [1])
    assert load(database, CHAIN).live_to == block(100)
    assert row(database).refused == 1


def test_more_events_than_one_batch(monkeypatch: pytest.MonkeyPatch, move: Move) -> None:
    monkeypatch.setattr("app.feed.services.ingest.BATCH", 2)
    events = [sent_event(n) for n in range(1, 6)]
    bad = sent_event(6, id=events[0].id, transfer_id=events[0].transfer_id, kind=SendKind.BURN)
    result = move(events=[*events, bad])
    assert (result.accepted, [line.line for line in result.refused]) == (5, [6])


def test_reorg_forgets_later_readings(database: Database, move: Move) -> None:
    move(
        events=[sent_event(1, 100), sent_event(2, 104), head_event(105)],
        live_from=100,
        live_to=block(105),
        headers=[header(100), header(102), header(105)],
        spans=[span(100, 102), span(103, 105)],
        waiting=[waiting("stored", 100), waiting("gone", 104)],
    )
    move(
        events=[reorg_event(103), head_event(104, fork=1)],
        forget_from=103,
        live_to=block(104, fork=1),
        headers=[header(104, fork=1)],
        spans=[span(103, 104)],
        waiting=[waiting("new", 103)],
    )
    readings = load(database, CHAIN)
    assert statuses(database) == {1: Status.TRANSFER_SUBMITTING, 2: Status.TRANSFER_UNKNOWN}
    assert readings.live_to == block(104, fork=1)
    assert readings.headers == [header(100), header(102), header(104, fork=1)]
    assert readings.spans == [span(100, 102), span(103, 104)]
    assert [each.key for each in readings.waiting] == ["stored", "new"]


def test_cursors_return_to_stored_block(database: Database, move: Move) -> None:
    move(
        live_from=100,
        backfill_from=1,
        backfilled_to=99,
        live_to=block(105),
        headers=[header(60), header(105)],
        spans=[span(1, 99), span(100, 105)],
    )
    move(events=[reorg_event(61)], forget_from=61)
    readings = load(database, CHAIN)
    assert (readings.live_from, readings.live_to, readings.backfilled_to) == (61, block(60), 60)
    assert [(each.first, each.last, each.digest) for each in readings.spans] == [(1, 60, b"")]
    with pytest.raises(ValueError, match="block 49 is not stored"):
        move(events=[reorg_event(50, "again")], forget_from=50)


def test_advance_deletes_headers_below_given_block(database: Database, move: Move) -> None:
    move(headers=[header(n) for n in (10, 20, 30)], forget_headers_below=20)
    assert load(database, CHAIN).headers == [header(10), header(20), header(30)]
    move(forget_headers_below=20)
    assert load(database, CHAIN).headers == [header(20), header(30)]


def test_what_waits_no_longer(database: Database, move: Move) -> None:
    move(waiting=[waiting("a", 1), waiting("b", 2)])
    move(done=[WaitingKey(WaitingKind.SEND_DEPTH, "a"), WaitingKey(WaitingKind.QUEUED, "b")])
    assert [each.key for each in load(database, CHAIN).waiting] == ["b"]


def test_how_far_it_is_reread_and_proven(database: Database, clock: MovableClock, move: Move) -> None:
    move(backfill_from=1, live_from=51, spans=[span(1, 20), span(21, 50), span(51, 60)])
    assert (row(database).reread_to, row(database).proven_to) == (None, None)
    move(spans=[span(51, 60, PROVEN)])
    assert (row(database).reread_to, row(database).proven_to) == (None, None)
    clock.forward(seconds=60)
    move(spans=[span(1, 20, PROVEN)])
    assert (row(database).reread_to, row(database).proven_to, row(database).proven_at) == (20, 20, clock())
    clock.forward(seconds=60)
    move(spans=[span(21, 50, REREAD)])
    assert (row(database).reread_to, row(database).proven_to) == (60, 20)
    assert (row(database).reread_at, row(database).proven_at) == (clock(), clock() - timedelta(minutes=1))
    move(spans=[span(21, 50, PROVEN, URL_B)])
    assert (row(database).reread_to, row(database).proven_to) == (60, 60)
    with reading(database.engine) as connection:
        assert connection.execute(text("SELECT first, last FROM watch_spans")).all() == [(1, 60)]
    move(forget_from=55, live_to=block(54))
    assert (row(database).reread_to, row(database).proven_to) == (54, 54)


def test_calls_are_counted_by_the_minute(database: Database, clock: MovableClock, move: Move) -> None:
    move(calls=3)
    clock.forward(seconds=30)
    move(calls=2)
    assert (row(database).calls_now, row(database).calls_before) == (5, 0)
    clock.forward(seconds=60)
    move(calls=1)
    assert (row(database).calls_now, row(database).calls_before) == (1, 5)
    clock.forward(seconds=180)
    move(calls=1)
    assert (row(database).calls_now, row(database).calls_before) == (1, 0)


def test_differing_rereads_are_counted(
    database: Database, monkeypatch: pytest.MonkeyPatch, move: Move
) -> None:
    """The newest are stored."""
    monkeypatch.setattr(module, "STORED_MISSES", 3)
    for n in range(5):
        missed = Missed(BlockNumber(n), BlockNumber(n + 1), 2, 0, URL_A, URL_B)
        move(missed=[missed])
    assert row(database).differed == 5
    with reading(database.engine) as connection:
        assert [miss.first for miss in newest_misses(connection, CHAIN, 9)] == [4, 3, 2]


def test_unchanged_head_and_new_events_are_dated(database: Database, clock: MovableClock, move: Move) -> None:
    move(events=[head_event(5), sent_event(1)], head=header(5))
    clock.forward(seconds=60)
    move(events=[head_event(5)], head=header(5))
    assert (row(database).head_moved_at, row(database).found_at, row(database).read_at) == (NOW, NOW, clock())
    move(events=[head_event(6)], head=header(6))
    assert (row(database).head_moved_at, row(database).found_at) == (clock(), NOW)


def test_another_contract_is_read_from_the_beginning(database: Database, lease: Lease, move: Move) -> None:
    assert follow_terms(database, lease, terms())
    assert not follow_terms(database, lease, terms())
    move(
        backfill_from=1,
        backfilled_to=50,
        live_from=51,
        live_to=block(60),
        spans=[span(1, 50, PROVEN), span(51, 60)],
    )
    assert row(database).proven_to == 50
    added = terms(bridges=frozenset({b"\x03" * 20}))
    assert follow_terms(database, lease, added)
    readings = load(database, CHAIN)
    assert readings.contracts == added.contracts
    assert (readings.backfill_from, readings.backfilled_to, readings.live_from) == (1, None, 61)
    assert (readings.live_to, readings.spans, readings.proven_to) == (block(60), [], None)


def test_removed_contract_leaves_nothing_to_compare(database: Database, lease: Lease, move: Move) -> None:
    follow_terms(database, lease, terms())
    move(backfill_from=1, live_from=1, spans=[span(1, 5, REREAD), span(6, 9)])
    assert follow_terms(database, lease, terms(vaults=frozenset()))
    assert [each.digest for each in load(database, CHAIN).spans] == [span(1, 5).digest, b""]
    assert row(database).reread_to == 5


def test_later_first_block_skips_earlier(database: Database, lease: Lease, move: Move) -> None:
    follow_terms(database, lease, terms())
    move(backfill_from=1, backfilled_to=10, live_from=100, live_to=block(100))
    assert follow_terms(database, lease, terms(from_block=BlockNumber(50)))
    readings = load(database, CHAIN)
    assert (readings.backfill_from, readings.backfilled_to) == (50, 49)
