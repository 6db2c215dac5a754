"""The journal of statuses: a row for each entry of the log that changes an answer, in any batches."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import delete, select

from app.audit.keys import AuditKeys
from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.models import JournalRow
from app.feed.services.ingest import Intake
from app.feed.services.prune import prune
from app.feed.services.reprojection import replay
from app.feed.verifying.comparing import Difference
from app.feed.verifying.run import verify
from app.http.application import part_of
from app.transfers.models import Event, Transfer
from app.transfers.rules.refunds.request_message import withdraw_id_of
from app.waiting.queries import Heads, load_heads
from tests.actors import TESTER
from tests.amounts import costly
from tests.applications import Audited
from tests.feed.services.any_order import EVERYTHING, REORGS, Events
from tests.feed.services.world import (
    KEYS,
    NOW,
    about,
    event,
    feed,
    forget_events,
    id_of,
    prepared,
    released,
    request,
    sent,
    signature,
    signed,
    transfer_id,
)
from tests.refunds.kit import PEOPLE, rotation

Rows = list[tuple[Any, ...]]

STORIES = [*EVERYTHING, *REORGS * 4]


def rows(database: Database) -> Rows:
    """By transfer and in their order, without the numbers of that order."""
    table = JournalRow
    query = select(
        table.transfer_id, table.seq, table.is_later, table.previous_status, table.status,
        table.refund_reason, table.taken_back, table.accounts_before,
    ).where(table.transfer_id.is_not(None)).order_by(table.transfer_id, table.sequence)  # fmt: skip
    with reading(database.engine) as connection:
        return [tuple(row) for row in connection.execute(query)]


def steps(database: Database) -> list[tuple[int, int, int]]:
    """Position, status before and status."""
    return [(row[1], row[3], row[4]) for row in rows(database)]


def log(database: Database) -> Rows:
    with reading(database.engine) as connection:
        return [tuple(row) for row in connection.execute(select(Event.seq, Event.subject, Event.event_id))]


def statuses(database: Database) -> dict[bytes, tuple[int, int]]:
    with reading(database.engine) as connection:
        found = connection.execute(select(Transfer.transfer_id, Transfer.status, Transfer.refund_reason))
        return {row.transfer_id: (row.status, row.refund_reason) for row in found}


def fed(app: Flask, batches: list[Events]) -> tuple[Rows, Rows]:
    database = part_of(app, Database)
    forget_events(app)
    for batch in batches:
        feed(app, *batch)
    last = {row[0]: (row[4], row[5]) for row in rows(database)}
    assert last == statuses(database)
    return log(database), rows(database)


@costly
@given(data=st.data())
def test_any_batches_give_the_same_rows(app: Flask, data: st.DataObject) -> None:
    reported = data.draw(st.lists(st.sampled_from(STORIES), min_size=1, max_size=40))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(reported)), max_size=4)))
    in_some = [reported[a:b] for a, b in zip([0, *cuts], [*cuts, len(reported)], strict=True) if a < b]
    log_of_one, one_by_one = fed(app, [[each] for each in reported])
    for batches in (in_some, [reported]):
        log_of_batches, in_batches = fed(app, batches)
        # Signatures that were aside come into the log at the end of what makes them right.
        assume(log_of_batches == log_of_one)
        assert in_batches == one_by_one


def test_batch_forgets_block_of_an_end_that_is_none(app: Flask) -> None:
    """The failure ended the transfer in block 101, until the network refunds it."""
    reported = [
        about(1, "transfer.failed", block=101),
        about(1, "network.status", at=-30, xfer_status=6),
        about(1, "transfer.confirmed", block=100),
    ]
    _, one_by_one = fed(app, [[each] for each in reported])
    assert fed(app, [reported])[1] == one_by_one


def test_batch_entries_are_reported_singly(app: Flask, database: Database) -> None:
    reported = [sent(1), about(1, "transfer.confirmed"), sent(2), released(1), about(2, "transfer.confirmed")]
    feed(app, *reported)
    assert steps(database) == [(1, 0, 1), (2, 1, 3), (4, 3, 5), (3, 0, 1), (5, 1, 3)]


def test_event_without_effect_has_no_row(app: Flask, database: Database) -> None:
    feed(app, sent(1), about(1, "network.status", at=-40, xfer_status=1))
    before = rows(database)
    feed(app, about(1, "transfer.confirmed"), sent(1), event("chain.head", chain_id=1, block=400))
    assert rows(database) == before


@pytest.mark.every_database
def test_entry_has_row_per_transfer(app: Flask, database: Database) -> None:
    feed(app, *(sent(n) for n in (3, 1, 2)), event("chain.reorged", chain_id=1, from_block=100))
    assert [row for row in steps(database) if row[0] == 4] == [(4, 1, 0)] * 3


def test_each_validator_set_changes_open_refund(app: Flask, database: Database) -> None:
    """The second set takes the quorum away, the third gives it back."""
    first, second = PEOPLE[:2]
    wd_onchain = request(1)
    reported = [
        rotation(1, {first: 1}, at=-300),
        sent(1),
        about(1, "network.status", at=-40, xfer_status=4),
        about(1, "refund.requested", at=-30),
        prepared(1, wd_onchain),
        signed(1, signature(wd_onchain, first)),
        rotation(1, {second: 1}, at=-20),
        rotation(1, {first: 1}, at=-10),
    ]
    _, one_by_one = fed(app, [[each] for each in reported])
    _, at_once = fed(app, [reported])
    assert at_once == one_by_one
    assert steps(database)[-2:] == [(7, 8, 7), (8, 7, 8)]


def test_missing_last_row_is_reported(app: Flask, database: Database, audited: Audited) -> None:
    """As next to code from before there was a journal, which writes none."""
    feed(app, sent(1), sent(2), released(1))
    with writing(database.engine) as connection:
        connection.execute(delete(JournalRow).where(JournalRow.seq == 3))
    found: list[Difference] = []
    verify(database, found.append)
    assert [(each.table, each.key) for each in found] == [("status_changes", {"transfer_id": id_of(1)})]
    assert str(found[0]).endswith("status is 1 and should be 5")
    replay(*audited, actor=TESTER)
    verify(database, lambda found: pytest.fail(str(found)))
    assert rows(database)[1][1:5] == (3, True, 1, 5)


def heads(database: Database) -> Heads:
    with reading(database.engine) as connection:
        return load_heads(connection)


@pytest.mark.every_database
def test_rows_go_with_transfer_numbers_stay_used(
    app: Flask, database: Database, intake: Intake, audit_keys: AuditKeys
) -> None:
    feed(app, sent(1), released(1))
    before = heads(database)
    for number in (2, 3):
        later = replace(database, clock=lambda: NOW + timedelta(days=30))
        prune(later, audit_keys, intake, NOW + timedelta(days=1), actor=TESTER)
        assert rows(database) == []
        assert heads(database).changes == before.changes + 1  # for those who cached them
        feed(app, sent(number), released(number))
        assert heads(database).changes == before.changes + 3
        before = heads(database)


def test_paid_id_reaches_other_at_its_entry(app: Flask) -> None:
    """The refund requests of both transfers have one withdraw id."""
    reported: Events = []
    for n in (1, 2):
        wd_onchain = request(n)
        reported += [
            sent(n),
            about(n, "network.status", at=-40, xfer_status=4),
            about(n, "refund.requested", at=-30),
        ]
        reported += [prepared(n, wd_onchain), *(signed(n, signature(wd_onchain, key)) for key in KEYS)]
    reported += [about(1, "refund.completed", block=400)]
    _, one_by_one = fed(app, [[each] for each in reported])
    _, at_once = fed(app, [reported])
    assert at_once == one_by_one
    last = [row for row in at_once if row[1] == max(each[1] for each in at_once)]
    assert [row[0].hex() for row in last] == [transfer_id(1)[2:], transfer_id(2)[2:]]


def test_several_projections_make_one_row(app: Flask, database: Database) -> None:
    """A reorganisation gives the withdraw id back, and then takes the validators away who signed."""
    first, second = PEOPLE[:2]
    wd_onchain = request(1)
    used = withdraw_id_of(wd_onchain)
    assert used is not None
    feed(
        app,
        rotation(1, {second: 1}, at=-300),
        sent(1),
        about(1, "network.status", at=-40, xfer_status=4),
        about(1, "refund.requested", at=-30),
        prepared(1, wd_onchain),
        signed(1, signature(wd_onchain, first)),
        rotation(1, {first: 1}, at=-20, block=310),
        event("withdraw.done", chain_id=1, block=300, withdraw_id="0x" + used.hex(), ref_id=transfer_id(9)),
    )
    assert steps(database)[-1] == (8, 8, 7)
    feed(app, event("chain.reorged", chain_id=1, from_block=290))
    assert [row for row in steps(database) if row[0] == 9] in ([], [(9, 7, 7)])
