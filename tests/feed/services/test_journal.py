"""The journal of statuses: a row for each entry of the log that changes an answer, in any batches."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select

from app.db.engine import reading, writing
from app.feed.models import JournalRow
from app.feed.services.prune import prune
from app.feed.services.reprojection import replay
from app.feed.services.retract import retract_ids
from app.feed.verifying.mismatches import Difference
from app.feed.verifying.run import verify
from app.network.document import import_network
from app.transfers.models import Event, Transfer
from app.transfers.rules.refunds.request import withdraw_id_of
from app.waiting.queries import Heads, load_heads
from tests.actors import TESTER
from tests.builders import network as build
from tests.everyday import volume
from tests.feed.services.any_order import EVERYTHING, REORGS, Events, members
from tests.feed.services.world import (
    KEYS,
    NOW,
    about,
    event,
    feed,
    forget_events,
    network,
    prepared,
    released,
    request,
    sent,
    signature,
    signed,
    transfer_id,
)
from tests.gateway import Gateway
from tests.refunds.kit import PEOPLE, rotation

Rows = list[tuple[Any, ...]]

STORIES = [*EVERYTHING, *REORGS * 4]


def rows(gateway: Gateway) -> Rows:
    """By transfer and in their order, without the numbers that say it."""
    table = JournalRow
    query = select(
        table.transfer_id, table.seq, table.is_later, table.previous_status, table.status,
        table.refund_reason, table.taken_back, table.accounts_before,
    ).where(table.transfer_id.is_not(None)).order_by(table.transfer_id, table.sequence)  # fmt: skip
    with reading(gateway.engine) as connection:
        return [tuple(row) for row in connection.execute(query)]


def steps(gateway: Gateway) -> list[tuple[int, int, int]]:
    """Position, status before and status."""
    return [(row[1], row[3], row[4]) for row in rows(gateway)]


def log(gateway: Gateway) -> Rows:
    with reading(gateway.engine) as connection:
        return [tuple(row) for row in connection.execute(select(Event.seq, Event.subject, Event.event_id))]


def statuses(gateway: Gateway) -> dict[bytes, tuple[int, int]]:
    with reading(gateway.engine) as connection:
        found = connection.execute(select(Transfer.transfer_id, Transfer.status, Transfer.refund_reason))
        return {row.transfer_id: (row.status, row.refund_reason) for row in found}


def fed(gateway: Gateway, batches: list[Events]) -> tuple[Rows, Rows]:
    forget_events(gateway)
    for batch in batches:
        feed(gateway, *batch)
    last = {row[0]: (row[4], row[5]) for row in rows(gateway)}
    assert last == statuses(gateway)
    return log(gateway), rows(gateway)


@settings(max_examples=volume(200, 12))
@given(data=st.data())
def test_rows_are_the_same_in_any_batches(gateway: Gateway, data: st.DataObject) -> None:
    told = data.draw(st.lists(st.sampled_from(STORIES), min_size=1, max_size=40))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(told)), max_size=4)))
    in_some = [told[a:b] for a, b in zip([0, *cuts], [*cuts, len(told)], strict=True) if a < b]
    log_of_one, one_by_one = fed(gateway, [[each] for each in told])
    for batches in (in_some, [told]):
        log_of_batches, in_batches = fed(gateway, batches)
        # Signatures that were aside come into the log at the end of what makes them right.
        assume(log_of_batches == log_of_one)
        assert in_batches == one_by_one


def test_batch_entries_are_reported_singly(gateway: Gateway) -> None:
    told = [sent(1), about(1, "transfer.confirmed"), sent(2), released(1), about(2, "transfer.confirmed")]
    feed(gateway, *told)
    assert steps(gateway) == [(1, 0, 1), (2, 1, 3), (4, 3, 5), (3, 0, 1), (5, 1, 3)]


def test_what_changes_no_answer_has_no_row(gateway: Gateway) -> None:
    feed(gateway, sent(1), about(1, "network.status", at=-40, xfer_status=1))
    before = rows(gateway)
    feed(gateway, about(1, "transfer.confirmed"), sent(1), event("chain.head", chain_id=1, block=400))
    assert rows(gateway) == before


@pytest.mark.every_database
def test_entry_has_row_per_transfer(gateway: Gateway) -> None:
    feed(gateway, *(sent(n) for n in (3, 1, 2)), event("chain.reorged", chain_id=1, from_block=100))
    assert [row for row in steps(gateway) if row[0] == 4] == [(4, 1, 0)] * 3


def test_paid_id_reaches_other_at_its_entry(gateway: Gateway) -> None:
    """The refund requests of both transfers have one withdraw id."""
    told: Events = []
    for n in (1, 2):
        wd_onchain = request(n)
        told += [
            sent(n),
            about(n, "network.status", at=-40, xfer_status=4),
            about(n, "refund.requested", at=-30),
        ]
        told += [prepared(n, wd_onchain), *(signed(n, signature(wd_onchain, key)) for key in KEYS)]
    told += [about(1, "refund.completed", block=400)]
    _, one_by_one = fed(gateway, [[each] for each in told])
    _, at_once = fed(gateway, [told])
    assert at_once == one_by_one
    last = [row for row in at_once if row[1] == max(each[1] for each in at_once)]
    assert [row[0].hex() for row in last] == [transfer_id(1)[2:], transfer_id(2)[2:]]


def test_each_validator_set_changes_open_refund(gateway: Gateway) -> None:
    """The second set takes the quorum away, the third gives it back."""
    first, second = PEOPLE[:2]
    wd_onchain = request(1)
    told = [
        rotation(1, {first: 1}, at=-300),
        sent(1),
        about(1, "network.status", at=-40, xfer_status=4),
        about(1, "refund.requested", at=-30),
        prepared(1, wd_onchain),
        signed(1, signature(wd_onchain, first)),
        rotation(1, {second: 1}, at=-20),
        rotation(1, {first: 1}, at=-10),
    ]
    _, one_by_one = fed(gateway, [[each] for each in told])
    _, at_once = fed(gateway, [told])
    assert at_once == one_by_one
    assert steps(gateway)[-2:] == [(7, 8, 7), (8, 7, 8)]


def test_several_projections_make_one_row(gateway: Gateway) -> None:
    """A reorganisation gives the withdraw id back, and then takes the validators away who signed."""
    first, second = PEOPLE[:2]
    wd_onchain = request(1)
    used = withdraw_id_of(wd_onchain)
    assert used is not None
    feed(
        gateway,
        rotation(1, {second: 1}, at=-300),
        sent(1),
        about(1, "network.status", at=-40, xfer_status=4),
        about(1, "refund.requested", at=-30),
        prepared(1, wd_onchain),
        signed(1, signature(wd_onchain, first)),
        rotation(1, {first: 1}, at=-20, block=310),
        event("withdraw.done", chain_id=1, block=300, withdraw_id="0x" + used.hex(), ref_id=transfer_id(9)),
    )
    assert steps(gateway)[-1] == (8, 8, 7)
    feed(gateway, event("chain.reorged", chain_id=1, from_block=290))
    assert [row for row in steps(gateway) if row[0] == 9] in ([], [(9, 7, 7)])


def test_a_replay_changes_no_row(gateway: Gateway) -> None:
    feed(gateway, sent(1), released(1, event_id="paid"))
    retract_ids(*gateway.audited, ["paid"], "was another's", actor=TESTER)
    before = rows(gateway)
    assert [row[6] for row in before] == [False, False, True]
    replay(*gateway.audited, actor=TESTER)
    assert rows(gateway) == before


def test_missing_last_row_is_reported(gateway: Gateway) -> None:
    """As beside code from before there was a journal, which writes none."""
    feed(gateway, sent(1), sent(2), released(1))
    with writing(gateway.engine) as connection:
        connection.execute(delete(JournalRow).where(JournalRow.seq == 3))
    found: list[Difference] = []
    verify(gateway.database, found.append)
    assert [(each.table, each.key) for each in found] == [("status_changes", {"transfer_id": id_of(1)})]
    assert str(found[0]).endswith("status is 1 and should be 5")
    replay(*gateway.audited, actor=TESTER)
    verify(gateway.database, lambda found: pytest.fail(str(found)))
    assert rows(gateway)[1][1:5] == (3, True, 1, 5)


def id_of(n: int) -> bytes:
    return bytes.fromhex(transfer_id(n)[2:])


def heads(gateway: Gateway) -> Heads:
    with reading(gateway.engine) as connection:
        return load_heads(connection)


@pytest.mark.every_database
def test_rows_go_with_transfer_numbers_stay_used(gateway: Gateway) -> None:
    feed(gateway, sent(1), released(1))
    before = heads(gateway)
    for number in (2, 3):
        later = gateway.but(clock=lambda: NOW + timedelta(days=30))
        prune(later.database, later.audit_keys, later.intake, NOW + timedelta(days=1), actor=TESTER)
        assert rows(gateway) == []
        assert heads(gateway).changes == before.changes + 1  # for those who cached them
        feed(gateway, sent(number), released(number))
        assert heads(gateway).changes == before.changes + 3
        before = heads(gateway)


def test_display_change_has_no_row(gateway: Gateway) -> None:
    feed(gateway, sent(1))
    before = rows(gateway)
    document = network()
    changed = [each | {"explore_url": "https://other.example/"} for each in document["chains"]]
    import_network(*gateway.editing, build.text(document | {"chains": changed}), actor=TESTER)
    assert rows(gateway) == before


def test_evidence_that_others_signed_has_a_row(gateway: Gateway) -> None:
    """The status is 8 before and after: nobody is told, and the answer is another one."""
    wd = request(1)
    feed(gateway, sent(1), prepared(1, wd), *(signed(1, signature(wd, key)) for key in KEYS[:4]))
    rotated = event("validators.updated", chain_id=1, block=130, **members(0, 1, 2))
    feed(gateway, rotated)
    assert rows(gateway)[-1][1:5] == (7, False, 8, 8)
