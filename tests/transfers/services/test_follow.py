"""A stream sends every change of a status that was ever answered, once, wherever it is cut."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select

from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.models import JournalRow
from app.feed.services.retract import retract_ids
from app.http.application import part_of
from app.refunds import services
from app.transfers.models import Event, Transfer
from app.transfers.rules.published_changes import BEGINNING, Position, parse_position
from app.values.codes import TransferHistoryStatus as Status
from app.values.identifiers import TransferId, account_key
from app.waiting import queries as touched
from app.waiting.register import Key
from app.waiting.services import PlacedChange, present_position, published_after
from tests.actors import TESTER
from tests.amounts import costly
from tests.applications import audited_of
from tests.databases import SharedDatabase
from tests.feed.services.any_order import EVERYTHING, REORGS
from tests.feed.services.world import (
    NOW,
    SENDER,
    about,
    event,
    feed,
    forget_events,
    released,
    sent,
    small_network,
    transfer_id,
)

IDS = [TransferId(bytes.fromhex(transfer_id(n)[2:])) for n in (1, 2, 3)]
ACCOUNT = account_key(SENDER)
REQUESTS = [{"request": n} for n in (1, 2, 3)]
UNDO = [{"undo": n} for n in range(3)]
STEPS = [*EVERYTHING, *REORGS * 5, *REQUESTS * 4, *UNDO * 5]

Changes = list[tuple[TransferId, int, int]]
"""Transfer, status before and after."""


@pytest.fixture
def app(app: Flask, shared_database: SharedDatabase) -> Flask:
    return small_network(app, shared_database, clock=lambda: NOW)


def statuses(database: Database) -> dict[TransferId, int]:
    with reading(database.engine) as connection:
        rows = connection.execute(select(Transfer.transfer_id, Transfer.status)).all()
    return {row.transfer_id: row.status for row in rows}


def happen(app: Flask, step: dict[str, Any]) -> None:
    """One entry of the log, a request for a refund, or the retraction of one of the last entries."""
    database = part_of(app, Database)
    if "request" in step:
        wanted = IDS[step["request"] - 1]
        if statuses(database).get(wanted) == Status.TRANSFER_TO_BE_REFUNDED:
            with writing(database.engine) as connection:
                services._store(connection, wanted, NOW)
    elif "undo" in step:
        with reading(database.engine) as connection:
            last = connection.execute(
                select(Event.event_id, Event.subject).order_by(Event.seq.desc()).offset(step["undo"]).limit(1)
            ).one_or_none()
        if last is not None:
            retract_ids(*audited_of(app), [last.event_id], "a mistake", actor=TESTER, subject=last.subject)
    else:
        feed(app, step)


def all_changes(database: Database, key: Key, after: Position = BEGINNING) -> list[PlacedChange]:
    published = published_after(database, key, after)
    assert published.changes is not None
    assert published.until >= after
    return list(published.changes)


def status_changes(changes: list[PlacedChange]) -> Changes:
    return [
        (each.change.transfer_id, int(each.change.previous_status), int(each.change.status))
        for each in changes
    ]


@pytest.mark.every_database
def test_stream_repeats_answers_from_any_position(app: Flask, database: Database) -> None:
    @costly
    @given(st.lists(st.sampled_from(STEPS), max_size=30), st.data())
    def every_change_is_sent(steps: list[dict[str, Any]], data: st.DataObject) -> None:
        forget_events(app)
        answered = [(BEGINNING, statuses(database))]
        received: dict[Key, list[PlacedChange]] = {ACCOUNT: [], **{wanted: [] for wanted in IDS}}
        cursors: dict[Key, Position] = dict.fromkeys(received, BEGINNING)
        for step in steps:
            happen(app, step)
            answered.append((present_position(database), statuses(database)))
            for key in [
                key for key in received if data.draw(st.booleans())
            ]:  # a client that reads now and then
                published = published_after(database, key, cursors[key])
                if published.changes is None:  # an event of a chain was retracted: the stream begins again
                    del received[key]
                else:
                    received[key] += published.changes
                    cursors[key] = published.until
        assert received.keys() >= set(IDS)
        for key, changes in received.items():
            if published_after(database, key, BEGINNING).changes is not None:
                whole = all_changes(database, key)
                assert changes + all_changes(database, key, cursors[key]) == whole
                assert_cut_anywhere(database, key, whole)
        for wanted in IDS:
            rows = [(position, each.get(wanted, 0)) for position, each in answered]
            assert_as_answered(all_changes(database, wanted), rows)

    every_change_is_sent()


def assert_as_answered(whole: list[PlacedChange], answered: list[tuple[Position, int]]) -> None:
    """Each change follows from the one before, and after each commit the last one is what was answered.

    One commit may add several entries to the log (signatures that were waiting), each of which is sent.
    """
    status = 0
    for change in (each.change for each in whole):
        assert (int(change.previous_status), change.status != change.previous_status) == (status, True)
        status = int(change.status)
    for position, status_then in answered:
        before = (each for each in reversed(whole) if each.position <= position)
        assert status_then == next((int(each.change.status) for each in before), 0)


def assert_cut_anywhere(database: Database, key: Key, whole: list[PlacedChange]) -> None:
    """A client that comes again with the id of its last event receives the others."""
    ids = [str(change.position) for change in whole]
    assert len(set(ids)) == len(ids)
    assert sorted(change.position for change in whole) == [change.position for change in whole]
    for received, last in enumerate(ids, start=1):
        assert parse_position(last) == whole[received - 1].position
        assert all_changes(database, key, parse_position(last)) == whole[received:]


@pytest.mark.every_database
def test_orphaned_status_is_sent(app: Flask, database: Database) -> None:
    feed(app, sent(1), about(1, "transfer.confirmed", block=100), released(1, block=200))
    feed(app, event("chain.reorged", chain_id=2, from_block=200))
    feed(app, event("chain.reorged", chain_id=1, from_block=100))
    changes = all_changes(database, IDS[0])
    assert [(int(each.change.status), each.change.taken_back) for each in changes] == [
        (1, False),
        (3, False),
        (5, False),
        (3, True),
        (0, True),
    ]
    assert [str(each.position) for each in changes] == ["1", "2", "3", "4", "5"]
    assert all_changes(database, ACCOUNT) == changes


@pytest.mark.every_database
def test_request_follows_all_earlier_changes(app: Flask, database: Database) -> None:
    feed(app, sent(1), about(1, "network.status", at=-40, xfer_status=4), sent(2))
    happen(app, {"request": 1})
    feed(app, released(2))
    changes = all_changes(database, ACCOUNT)
    assert [int(each.change.status) for each in changes] == [1, 6, 1, 7, 5]
    assert [each.position.seq for each in changes] == [1, 2, 3, 3, 4]
    assert str(changes[3].position) == f"3+{changes[3].position.later}"
    assert changes[3].position.later > 0
    assert_cut_anywhere(database, ACCOUNT, changes)
    refused = all_changes(database, IDS[0])[1]
    assert refused.change.refund_reason == 4


def begin_journal(database: Database, seq: int) -> None:
    """As after an upgrade from before there was a journal, when the log reached so far."""
    with writing(database.engine) as connection:
        connection.execute(delete(JournalRow).where(JournalRow.seq <= seq))
        numbers = {"sequence": 1, "seq": seq, "status": 0, "previous_status": 0, "refund_reason": 0}
        rest = {"is_later": False, "taken_back": False, "at": NOW}
        connection.execute(insert(JournalRow), numbers | rest)


@pytest.mark.every_database
def test_time_before_journal_is_one_change(app: Flask, database: Database) -> None:
    feed(app, sent(1), sent(2), about(2, "network.status", at=-40, xfer_status=4), released(1))
    begin_journal(database, 4)
    first = all_changes(database, IDS[0])
    assert (status_changes(first), str(first[0].position)) == ([(IDS[0], 0, 5)], "4")
    assert all_changes(database, IDS[0], Position(4)) == []
    assert [each.change.refund_reason for each in all_changes(database, IDS[1])] == [4]
    feed(app, sent(3), about(1, "refund.completed"), released(3))
    assert status_changes(all_changes(database, IDS[0])) == [(IDS[0], 0, 5), (IDS[0], 5, 10)]
    assert status_changes(all_changes(database, IDS[2])) == [(IDS[2], 0, 1), (IDS[2], 1, 5)]


@pytest.mark.parametrize("most", ["MOST_BEHIND", "MOST_OF_ACCOUNT"])
def test_lagging_account_gets_no_changes(
    app: Flask, database: Database, monkeypatch: pytest.MonkeyPatch, most: str
) -> None:
    feed(app, sent(1), sent(2))
    monkeypatch.setattr(touched, most, 2)
    assert len(all_changes(database, ACCOUNT)) == 2
    monkeypatch.setattr(touched, most, 1)
    published = published_after(database, ACCOUNT, BEGINNING)
    assert (published.changes, str(published.until)) == (None, "2")
    assert len(all_changes(database, IDS[0])) == 1


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "1.", "1+", "1.2+3", "٣", "1" * 20, "9" * 19, "1+" + "9" * 19]
)
def test_other_text_is_refused_as_id(text: str) -> None:
    with pytest.raises(ValueError, match="must be the id of an event"):
        parse_position(text)


def test_ids_sort_like_their_positions() -> None:
    ordered = ["0", "1.1", "1.2", "1", "1+1", "1+12", "2.1", "2"]
    assert sorted(map(parse_position, reversed(ordered))) == list(map(parse_position, ordered))
    assert [str(parse_position(text)) for text in ordered] == ordered


@pytest.mark.every_database
def test_changes_of_entry_come_singly(app: Flask, database: Database) -> None:
    feed(app, *(sent(n) for n in (3, 1, 2)), event("chain.reorged", chain_id=1, from_block=100))
    *_, first, second, third = all_changes(database, ACCOUNT)
    assert [each.change.transfer_id for each in (first, second, third)] == IDS
    assert [str(each.position) for each in (first, second, third)] == ["4.1", "4.2", "4"]


@pytest.mark.every_database
def test_transfer_is_reported_once_listed(app: Flask, database: Database) -> None:
    feed(app, about(1, "network.status", at=-40, xfer_status=1), sent(1), released(1))
    assert status_changes(all_changes(database, IDS[0])) == [(IDS[0], 0, 3), (IDS[0], 3, 5)]
    assert status_changes(all_changes(database, ACCOUNT)) == [(IDS[0], 0, 3), (IDS[0], 3, 5)]
    assert [str(each.position) for each in all_changes(database, ACCOUNT)] == ["2", "3"]
    assert all_changes(database, account_key("0x" + "bb" * 20)) == []


@pytest.mark.every_database
def test_later_journal_makes_account_reread(app: Flask, database: Database) -> None:
    feed(app, sent(1), sent(2))
    begin_journal(database, 2)
    feed(app, released(1))
    assert published_after(database, ACCOUNT, Position(1)).changes is None
    assert status_changes(all_changes(database, ACCOUNT, Position(2))) == [(IDS[0], 1, 5)]
