"""Pruning: old and finished transfers go, and no answer changes, not even after a replay."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from flask import Flask
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import insert, select, update

from app.credentials.rules.ingest_token import EnvironmentTokens
from app.db.database import Database
from app.db.engine import reading, writing
from app.feed.services.ingest import Intake, cursor
from app.feed.services.prune import prune
from app.feed.services.reprojection import replay
from app.feed.services.retract import NothingToRetract, retract_ids, retract_reporter
from app.http.application import add_part
from app.network.models import Pool
from app.transfers.models import Anomaly, Event
from app.values.codes import TransferHistoryStatus as Status
from tests.actors import TESTER
from tests.amounts import costly
from tests.applications import Audited, audited_of, change_part
from tests.feed.services.any_order import EVERYTHING, REORGS, answers_after, arrival
from tests.feed.services.pruning import LATER, prune_later, pruned_ids, without
from tests.feed.services.world import (
    NO_LIQUIDITY,
    NOW,
    about,
    address,
    event,
    feed,
    id_of,
    released,
    sent,
    state,
)


@pytest.mark.every_database
@settings(costly, phases=(Phase.explicit, Phase.generate))  # finding a smaller example takes minutes
@given(data=st.data())
def test_prune_changes_no_answer(app: Flask, database: Database, data: st.DataObject) -> None:
    add_part(app, Database, database)  # as late as before the last example
    events = data.draw(st.lists(st.sampled_from(EVERYTHING), min_size=20, unique_by=lambda e: e["id"]))
    reorg = data.draw(st.lists(st.sampled_from(REORGS), max_size=1))
    answers_after(app, data.draw(arrival(events)), [reorg], data.draw(arrival(events)) if reorg else [])
    with writing(database.engine) as connection:
        connection.execute(update(Anomaly).values(acknowledged_at=NOW))
    change_part(app, Database, clock=lambda: LATER)
    replay(*audited_of(app), actor=TESTER)  # as replay has it, to the last time of a chain
    before, limit = state(database), NOW + timedelta(seconds=data.draw(st.sampled_from([-70, -20, 60])))

    result = prune_later(app, limit, dry_run=True)
    assert state(database) == before
    done = prune_later(app, limit)
    assert done == result
    gone = pruned_ids(database)
    assert done.transfers.total() == len(gone)
    after = state(database)
    assert without(after, set()) == without(before, gone)

    replay(*audited_of(app), actor=TESTER)
    assert state(database) == after
    about_gone = [e for e in events if bytes.fromhex(e.get("transfer_id", "")[2:]) in gone]
    assert feed(app, *about_gone).accepted == 0
    assert without(state(database), set()) | {"anomalies": []} == without(after, set()) | {"anomalies": []}


def test_chain_progress_survives_pruning(app: Flask, database: Database, audited: Audited) -> None:
    wrong = event("chain.head", chain_id=1, block=10**12)
    feed(app, sent(1, block=500), released(1, at=-10), wrong)
    prune_later(app, NOW)
    assert pruned_ids(database)
    retract_ids(*audited, [wrong["id"]], "wrong", actor=TESTER)
    assert [row[:2] for row in state(database)["chain_progress"] if row[0] == 1] == [(1, 500)]


def test_prune_reports_what_it_removes(app: Flask, database: Database) -> None:
    feed(app, sent(1), released(1, at=-10), sent(2), about(3, "transfer.failed"), sent(4))
    feed(app, about(4, "refund.completed", at=-5), sent(5), released(5, at=10))
    feed(app, sent(6), released(6, at=-10), about(6, "transfer.confirmed", at=30))
    result = prune_later(app, NOW)
    statuses = (Status.TRANSFER_COMPLETED, Status.TRANSFER_FAILED, Status.TRANSFER_REFUNDED)
    assert result.transfers == dict.fromkeys(statuses, 1)
    assert (result.events, result.oldest, result.newest) == (
        5,
        NOW - timedelta(seconds=100),
        NOW - timedelta(seconds=5),
    )
    assert {key: (m.sent, m.relayed) for key, m in result.moved.items()} == {
        (1, "USDT"): (1_000_000_000, 0),
        (2, "USDT"): (0, 1_000_000_000 * 10**12),
    }
    assert pruned_ids(database) == {id_of(n) for n in (1, 3, 4)}


def test_prune_leaves_what_answers_need(app: Flask, intake: Intake) -> None:
    feed(app, sent(1), released(1, at=-10))
    for clock, is_retained in ((NOW + timedelta(days=6), 1), (NOW + timedelta(days=7, seconds=1), 0)):
        change_part(app, Database, clock=lambda clock=clock: clock)
        result = prune(*audited_of(app), intake, LATER, actor=TESTER)
        assert result.before == clock - timedelta(days=7)
        assert result.transfers.total() == 1 - is_retained


def test_prune_leaves_epoch_of_capped_pool(app: Flask, database: Database) -> None:
    with writing(database.engine) as connection:
        days = {"epoch_cap": 10**18, "epoch_seconds": 60 * 86_400}
        connection.execute(insert(Pool).values(chain_id=1, symbol="USDT", **days, **NO_LIQUIDITY))
    assert prune_later(app, LATER, dry_run=True).before == datetime(2026, 5, 7, tzinfo=UTC)


def test_prune_leaves_transfer_with_open_anomaly(app: Flask, database: Database) -> None:
    feed(app, sent(1), released(1), about(1, "refund.completed"))
    assert prune_later(app, LATER).retained == {"has an open anomaly": 1}
    with writing(database.engine) as connection:
        connection.execute(update(Anomaly).values(acknowledged_at=NOW))
    assert prune_later(app, LATER).transfers.total() == 1
    assert state(database)["anomalies"] == []


def test_pruned_ids_stay_known(app: Flask, database: Database) -> None:
    gone = [sent(1), released(1)]
    feed(app, *gone)
    prune_later(app, LATER)
    before = state(database)
    verdict = feed(app, *gone, gone[0] | {"amount": "5"}, about(1, "refund.completed"), sent(2))
    assert (verdict.accepted, verdict.repeated) == (1, 2)
    assert [(r.line, r.reason.partition(":")[0]) for r in verdict.refused] == [(3, "id"), (4, "transfer_id")]
    assert feed(app, sent(3) | {"id": gone[0]["id"]}).accepted == 1, "another transfer's is another fact"
    assert state(database)["latency_records"] == before["latency_records"] == []
    assert [row[1] for row in state(database)["anomalies"]] == [
        f"event:transfer:{gone[0]['transfer_id']}:{gone[0]['id']}"
    ]


def test_reorg_reaching_pruned_is_refused(app: Flask) -> None:
    feed(app, sent(1, block=100), released(1, block=205), sent(2, block=101))
    prune_later(app, LATER)
    verdict = feed(app, event("chain.reorged", chain_id=1, from_block=100))
    assert "must be above block 100 of the chain, which is final" in verdict.refused[0].reason
    assert feed(app, event("chain.reorged", chain_id=2, from_block=205)).accepted == 0
    assert feed(app, event("chain.reorged", chain_id=1, from_block=101)).accepted == 1


def test_pruned_event_cannot_be_retracted(app: Flask) -> None:
    feed(app, sent(1, event_id="the-send"), released(1), reporter="relayer")
    prune_later(app, LATER)
    with pytest.raises(NothingToRetract, match="'the-send' belongs to a pruned transfer"):
        retract_ids(*audited_of(app), ["the-send"], "wrong", actor=TESTER)
    with pytest.raises(NothingToRetract, match="were pruned"):
        retract_reporter(*audited_of(app), "relayer", NOW - timedelta(days=1), "wrong", actor=TESTER)


def fee(name: str, at: float, base_fee: int) -> dict[str, Any]:
    route = {"symbol": "USDT", "src_chain_id": 1, "dst_chain_id": 2}
    return event("fee.updated", name, at=at, base_fee=str(base_fee), **route)


def liquidity(name: str, kind: str, at: float, amount: int, **fields: Any) -> dict[str, Any]:
    pool = {"chain_id": 1, "symbol": "USDT", "amount": str(amount)}
    return event(f"liquidity.{kind}", name, at=at, **pool, **fields)


def log_ids(database: Database) -> list[str]:
    with reading(database.engine) as connection:
        return list(connection.scalars(select(Event.event_id).order_by(Event.seq)))


def test_prune_removes_fees_and_liquidity(app: Flask, database: Database, audited: Audited) -> None:
    reported = [
        fee("f1", -90, 1),
        fee("f2", -80, 2),
        fee("f3", -70, 3),
        liquidity("a1", "added", -90, 50, block=100),
        liquidity("a2", "added", -60, 7, block=103),
        liquidity("a3", "added", -60, 9, block=110),
        liquidity("a4", "added", -5, 11, block=111),
    ]
    feed(app, *reported, reporter="other")
    feed(app, event("chain.reorged", "r", at=-4, chain_id=1, from_block=110))
    retract_ids(*audited, ["a2"], "wrong", actor=TESTER)
    before = state(database)
    limit = NOW - timedelta(seconds=30)
    dry = prune_later(app, limit, dry_run=True)
    assert state(database) == before
    assert prune_later(app, limit) == dry
    assert dry.others == {"fees": 2, "liquidity": 2}
    assert [i for i in log_ids(database) if not i.startswith("retract-")] == ["f3", "a1", "a4", "r"]
    assert state(database) == before
    replay(*audited_of(app), actor=TESTER)
    assert state(database) == before
    again = feed(app, *reported)
    assert (again.accepted, again.repeated) == (5, 2), "they are taken as if they were new"
    assert [row[2:] for row in state(database)["pool_counters"]] == [(77, 0, 0, 0)], "and are canonical again"
    assert [row[3] for row in state(database)["fed_fees"]] == [3]


def test_prune_removes_heads_of_earlier_releases(
    app: Flask, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that an earlier release left, also of a reporter that is silent now."""
    monkeypatch.setattr("app.feed.services.write.drop_heads", lambda *_: None)
    reported = [event("chain.head", f"h{n}", at=n - 5000, chain_id=1, block=n) for n in range(2000)]
    feed(app, *reported, reporter="silent")
    before = state(database)
    dry = prune_later(app, NOW, dry_run=True)
    assert prune_later(app, NOW) == dry
    assert dry.others == {"heads": 998}
    assert len(log_ids(database)) == 1002
    assert state(database) == before
    replay(*audited_of(app), actor=TESTER)
    assert state(database) == before


@pytest.mark.every_database
def test_prune_leaves_every_cursor(
    app: Flask, database: Database, environment_tokens: EnvironmentTokens
) -> None:
    by = {"one": sent(1), "two": released(1), "three": about(1, "transfer.confirmed", at=-60)}
    for reporter, reported in by.items():
        feed(app, reported, reporter=f"env-{reporter}")
    feed(app, sent(2), released(2), reporter="env-one")
    tokens = [replace(environment_tokens[0], name=f"env-{reporter}") for reporter in by]
    before = [cursor(database, token) for token in tokens]
    assert prune_later(app, LATER).transfers.total() == 2
    assert [cursor(database, token) for token in tokens] == before
    assert None not in before


def test_prune_leaves_transfer_with_retraction(app: Flask, audited: Audited) -> None:
    wrong = about(1, "transfer.delayed")
    feed(app, sent(1), released(1), wrong)
    retract_ids(*audited, [wrong["id"]], "wrong", actor=TESTER)
    assert prune_later(app, LATER).retained == {"has retracted events": 1}


def test_pruned_content_may_have_fewer_fields(app: Flask) -> None:
    """More or fewer fields are the same content; other values are refused."""
    gone = sent(1, log_index=4, nonce=9)
    feed(app, gone, released(1))
    prune_later(app, LATER)
    bare = {name: value for name, value in gone.items() if name not in ("block", "nonce")}
    again = feed(app, gone, bare, bare | {"contract": address(7)}, gone | {"nonce": "9"})
    assert (again.repeated, again.refused) == (4, [])
    others = feed(app, gone | {"log_index": 5}, bare | {"nonce": 1})
    assert [refused.reason[:3] for refused in others.refused] == ["id:", "id:"]


def test_third_retraction_refuses_pruned_event(app: Flask, database: Database, audited: Audited) -> None:
    feed(app, sent(1, event_id="the-send"), released(1))
    (first,) = retract_ids(*audited, ["the-send"], "wrong", actor=TESTER)
    (second,) = retract_ids(*audited, [first], "it was right", actor=TESTER)
    prune_later(app, LATER)
    assert pruned_ids(database)
    before = state(database)
    with pytest.raises(NothingToRetract, match="'the-send', which was pruned"):
        retract_ids(*audited_of(app), [second], "it was wrong after all", actor=TESTER)
    assert state(database) == before
