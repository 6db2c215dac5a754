"""Every projection is compared with the log while the gateway goes on, and what differs is repaired."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask
from msgspec.structs import replace
from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import OperationalError

from app.audit.keys import AuditKeys
from app.audit.models import AuditRecord
from app.db.database import Database
from app.db.engine import reading, writing
from app.db.models import projected_models, table_of
from app.db.second_schema import NoSecondSchema
from app.estimates.models import PoolCounter, PoolVolume, ReportedFee
from app.feed.models import TransferBlock
from app.feed.services.ingest import IngestResult, Intake
from app.feed.services.prune import prune
from app.feed.services.reprojection import StillDiffers, replay
from app.feed.services.retract import NothingToRetract, retract_ids
from app.feed.verifying.comparing import Difference, key_of
from app.feed.verifying.run import verify
from app.http.application import part_of
from app.latency.models import LatencyCount, LatencyRecord
from app.network.models import Pool, ReportedValidatorSet
from app.refunds.models import WithdrawDone, WithdrawId
from app.transfers.models import (
    Anomaly,
    ChainProgress,
    Refund,
    RefundBasis,
    RetractedEvent,
    RetractionTarget,
    Transfer,
    TransferAccount,
    TransferHash,
    TrendCount,
)
from tests.actors import TESTER
from tests.amounts import few_or_many
from tests.applications import Audited, audited_of
from tests.databases import SharedDatabase
from tests.feed.services.any_order import EVERYTHING, REORGS, members
from tests.feed.services.everything import everything, forget_projections
from tests.feed.services.histories import EVENTS
from tests.feed.services.world import (
    KEYS,
    NO_LIQUIDITY,
    NOW,
    about,
    event,
    feed,
    id_of,
    prepared,
    released,
    request,
    sent,
    signature,
    signed,
    write_network,
)

ALL = projected_models()
TABLES = sorted({model.__tablename__ for model in ALL} - {"signatures_not_needed"})


Damage = Callable[[Connection], object]

WRONG: dict[str, Damage] = {
    "transfers": lambda c: c.execute(
        update(Transfer).where(Transfer.transfer_id == id_of(10)).values(status=4)
    ),
    "transfer_blocks": lambda c: c.execute(update(TransferBlock).values(highest=TransferBlock.highest + 1)),
    "transfer_hashes": lambda c: c.execute(
        insert(TransferHash).values(transfer_id=id_of(10), tx_hash="0x" + "77" * 32)
    ),
    "transfer_accounts": lambda c: c.execute(
        insert(TransferAccount).values(account="0xff", began_ms=5, transfer_id=id_of(10))
    ),
    "refunds": lambda c: c.execute(update(Refund).values(wd_onchain=b"other")),
    "refund_basis": lambda c: c.execute(insert(RefundBasis).values(transfer_id=id_of(5), event_id="other")),
    "withdraw_ids": lambda c: c.execute(update(WithdrawId).values(paid=~WithdrawId.paid)),
    "latency_records": lambda c: c.execute(
        update(LatencyRecord).values(latency_us=LatencyRecord.latency_us + 1)
    ),
    "pool_counters": lambda c: c.execute(update(PoolCounter).values(sent=77)),
    "pool_volumes": lambda c: c.execute(update(PoolVolume).values(amount=77)),
    "course_counts": lambda c: c.execute(update(TrendCount).values(begun=TrendCount.begun + 1)),
    "fed_fees": lambda c: c.execute(update(ReportedFee).values(base_fee=77)),
    "fed_validator_sets": lambda c: c.execute(update(ReportedValidatorSet).values(version=77)),
    "withdraws_done": lambda c: c.execute(update(WithdrawDone).values(withdraw_id=b"\7" * 32)),
    "chain_progress": lambda c: c.execute(update(ChainProgress).values(highest_block=10**9)),
    "retracted_events": lambda c: c.execute(update(RetractedEvent).values(seq=RetractedEvent.seq - 1)),
    "retraction_targets": lambda c: c.execute(update(RetractionTarget).values(event_id="another")),
    "anomalies": lambda c: c.execute(update(Anomaly).values(detail="other")),
    "latency_counts": lambda c: c.execute(update(LatencyCount).values(n=LatencyCount.n + 1)),
}
"""By table, what does not follow from the log."""


def differing(database: Database) -> list[str]:
    """What differs, in words."""
    found: list[str] = []
    verify(database, lambda difference: found.append(str(difference)))
    return found


def full(app: Flask) -> None:
    """Something of everything."""
    wd = request(5, seqnum=99)
    with writing(part_of(app, Database).engine) as connection:
        connection.execute(insert(Pool).values(chain_id=3, symbol="USDT", epoch_seconds=1, **NO_LIQUIDITY))
    feed(app, *EVERYTHING, *REORGS)
    feed(app, *EVERYTHING)
    feed(
        app,
        *(each for n in (10, 11, 12) for each in (sent(n), released(n, at=-10 - n))),
        event("validators.updated", "now", at=-1, chain_id=1, block=300, **members(0, 1, 2, 3)),
        sent(5),
        prepared(5, wd),
        *(signed(5, signature(wd, key)) for key in KEYS[:4]),
        signed(5, signature(wd, KEYS[0]), at=-29),
        sent(6, src_chain_id=3),
        about(6, "refund.completed"),
        event("liquidity.withdrawn", chain_id=3, symbol="USDT", amount="5"),
        event("liquidity.added", "wrong", chain_id=1, symbol="USDT", amount="5"),
    )
    retract_ids(*audited_of(app), ["wrong"], "wrong", actor=TESTER)


def stored(database: Database) -> dict[str, Any]:
    """Every projection, and what else is compared, as it is stored."""
    found: dict[str, Any] = everything(database)
    with reading(database.engine) as connection:
        counts = connection.execute(select(LatencyCount.__table__))
        found["latency_counts"] = sorted(map(tuple, counts))
    return found


@pytest.fixture
def filled(app: Flask, shared_database: SharedDatabase) -> Flask:
    """The application, its log with something of everything."""

    def fill() -> None:
        write_network(part_of(app, Database).engine)
        full(app)

    shared_database.empty()
    shared_database.fill(full, fill)
    return app


def test_damage_covers_every_projection(filled: Flask, database: Database) -> None:
    """And the log of these tests has something for each."""
    assert sorted(WRONG) == TABLES
    with reading(database.engine) as connection:
        for model in ALL:
            assert connection.scalar(select(func.count()).select_from(model)), model
    assert differing(database) == []


OTHER: dict[type, Callable[[Any], Any]] = {
    bytes: lambda _value: b"\7" * 32,
    int: lambda value: value + 1_000,
    str: lambda value: f"{value}x",
}
"""Another value of a key, by its type."""

SURPLUS_OF = {"refunds": 10, "latency_records": 5, "refund_basis": 5}
"""Transfers that get a surplus row."""


def with_surplus_row(connection: Connection, model: Any) -> None:
    """Copy a row to another key."""
    key = key_of(model)[-1]
    row = connection.execute(select(table_of(model))).mappings().first()
    assert row is not None
    surplus = {name: row[name] for name in row if name != "id"}
    surplus[key] = OTHER[type(row[key])](row[key])
    # Some refer to a transfer: to one that has none, or whose refund is open.
    table = model.__tablename__
    surplus |= {"transfer_id": id_of(SURPLUS_OF[table])} if table in SURPLUS_OF else {}
    connection.execute(insert(model).values(surplus))


def with_wrong_rows(connection: Connection, table: str) -> None:
    WRONG[table](connection)


def without_rows(connection: Connection, table: str) -> None:
    connection.execute(delete(model_of(table)))


def with_surplus_rows(connection: Connection, table: str) -> None:
    with_surplus_row(connection, model_of(table))


def model_of(table: str) -> Any:
    return next(each for each in ALL if each.__tablename__ == table)


KINDS = {
    "wrong rows": (with_wrong_rows, ""),
    "missing rows": (without_rows, ""),
    "surplus rows": (with_surplus_rows, "does not follow from the log"),
}
"""How a table is damaged, and what its difference shows."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "tables",
    [
        pytest.param(TABLES, id="all"),
        *(pytest.param([table], id=table, marks=pytest.mark.slow) for table in TABLES),
    ],
)
def test_damage_is_found_and_repaired(
    filled: Flask, database: Database, audited: Audited, tables: list[str], kind: str
) -> None:
    """Of all tables at once, and as slow tests of each table by itself."""
    before = stored(database)
    damage, shown = KINDS[kind]
    with writing(database.engine) as connection:
        for table in reversed(tables):
            damage(connection, table)
    found = differing(database)
    for table in tables:
        assert any(line.startswith(table) and shown in line for line in found), (table, found)
    repaired: list[object] = []
    replay(*audited, actor=TESTER, found=repaired.append)
    assert repaired
    assert differing(database) == []
    after = stored(database)
    for name in before:
        assert after[name] == before[name], name


def test_missing_needed_signature_is_found(filled: Flask, database: Database, audited: Audited) -> None:
    with writing(database.engine) as connection:
        query = select(func.max(RefundBasis.event_id)).where(RefundBasis.transfer_id == id_of(5))
        assert connection.scalar(query)
        from_log = "SELECT seq, transfer_id FROM events WHERE type = 'refund.signed'"
        connection.exec_driver_sql("DELETE FROM signatures_not_needed")
        connection.exec_driver_sql(f"INSERT INTO signatures_not_needed (seq, transfer_id) {from_log}")
    assert [line for line in differing(database) if line.startswith("signatures_not_needed")]
    replay(*audited, actor=TESTER)
    assert differing(database) == []


@pytest.mark.every_database
def test_feed_continues_during_replay(
    filled: Flask, database: Database, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between two parts the lock is free, and what was not reached yet and what was answer alike."""
    monkeypatch.setattr("app.feed.verifying.projecting.TRANSFERS", 1)
    before = stored(database)
    forget_projections(database)
    reported: list[int] = []

    def report(_transfers: int) -> None:
        n = 100 + len(reported)
        if n > 110:
            return
        assert feed(filled, sent(n), released(n)).accepted == 2
        retract_ids(*audited, [sent(n)["id"], released(n)["id"]], "only tried", actor=TESTER)
        reported.append(n)

    replay(*audited, report, actor=TESTER)
    assert len(reported) > 4
    assert differing(database) == []
    after = stored(database)
    ours = {id_of(n) for n in range(1, 20)}
    for name in ("transfers", "transfer_hashes", "refunds", "latency_records"):
        assert [row for row in after[name] if row[0] in ours] == before[name]


class Killed(BaseException):
    """In the place of SIGKILL: tests/faults/test_replay_killed.py sends that."""


@pytest.mark.parametrize("after", [1, 3, 6])
def test_ended_replay_can_be_started_again(
    filled: Flask, database: Database, audited: Audited, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    monkeypatch.setattr("app.feed.verifying.run.ROWS_AT_ONCE", 1)
    before = stored(database)
    forget_projections(database)
    left = after

    def kill(repaired: Difference) -> None:
        nonlocal left
        left -= repaired.table == "transfers"
        if not left:
            raise Killed

    with pytest.raises(Killed):
        replay(*audited, actor=TESTER, found=kill)
    some = {row[0]: row for row in stored(database)["transfers"]}
    assert 0 < len(some) < len(before["transfers"])
    assert all(row in before["transfers"] for row in some.values())
    replay(*audited, actor=TESTER)
    after_all = stored(database)
    for name in before:
        if name != "latency_counts":
            assert after_all[name] == before[name], name


def test_replay_repairs_sums_that_change(filled: Flask, database: Database, audited: Audited) -> None:
    """Found as it was at one moment, and added when more was reported."""
    with writing(database.engine) as connection:
        for table in ("pool_counters", "pool_volumes", "course_counts"):
            WRONG[table](connection)
    replay(*audited, lambda _transfers: accept(feed(filled, sent(50), released(50))), actor=TESTER)
    assert differing(database) == []


def accept(result: IngestResult) -> None:
    assert (result.accepted, result.refused) == (2, [])


def test_replay_fails_where_damage_goes_on(
    filled: Flask, database: Database, audited: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody damages it again whenever it was repaired."""
    monkeypatch.setattr("app.feed.verifying.run.ROUNDS", 2)
    _damage(database)
    with pytest.raises(StillDiffers, match="run it again"):
        replay(*audited, actor=TESTER, found=lambda _difference: _damage(database))
    with reading(database.engine) as connection:
        details = connection.scalars(select(AuditRecord.detail).order_by(AuditRecord.id.desc()).limit(1))
        assert details.one().endswith("; some may differ still")


@pytest.mark.every_database
def test_second_verify_or_replay_is_refused(filled: Flask, database: Database, audited: Audited) -> None:
    """Else both might add what a sum lacks."""

    def another(_transfers: int) -> None:
        for start in (lambda: verify(database, print), lambda: replay(*audited, actor=TESTER)):
            with pytest.raises(NoSecondSchema, match="another events verify or replay runs"):
                start()

    _damage(database)
    replay(*audited, another, actor=TESTER)
    assert differing(database) == []


def _damage(database: Database) -> None:
    with writing(database.engine) as connection:
        WRONG["pool_counters"](connection)


def test_replay_leaves_acknowledgements(filled: Flask, database: Database, audited: Audited) -> None:
    with writing(database.engine) as connection:
        connection.execute(update(Anomaly).values(acknowledged_at=NOW, acknowledged_by="me"))
        connection.execute(delete(Transfer))
    replay(*audited, actor=TESTER)
    with reading(database.engine) as connection:
        assert connection.scalar(select(func.count()).where(Anomaly.acknowledged_at.is_(None))) == 0


@pytest.fixture
def busy(app: Flask, filled: Flask, intake: Intake, audited: Audited) -> Iterator[threading.Event]:
    """Reporters and operators who never rest, until the event is set."""
    stop, failed = threading.Event(), list[BaseException]()

    def work(seed: int) -> None:
        choice = random.Random(seed)
        with app.app_context():
            while not stop.is_set():
                try:
                    feed(filled, *choice.choices(EVENTS, k=choice.randint(1, 10)), reporter=f"r{seed}")
                    if choice.random() < 0.2:
                        feed(filled, choice.choice(REORGS))
                    with suppress(NothingToRetract):
                        if choice.random() < 0.2:
                            retract_ids(*audited, [choice.choice(EVENTS)["id"]], "wrong", actor=TESTER)
                    if choice.random() < 0.05:
                        prune(
                            *audited,
                            intake,
                            NOW - timedelta(days=8),
                            actor=TESTER,
                        )
                except OperationalError as error:
                    assert "locked" in str(error), error  # SQLite lets nobody queue: who waits long gives up
                except BaseException as error:
                    failed.append(error)
                    raise

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    yield stop
    stop.set()
    for thread in threads:
        thread.join()
    assert not failed


@pytest.mark.every_database
@pytest.mark.parametrize("times", few_or_many(1, 15))
def test_verify_ignores_concurrent_writes(
    database: Database, audit_keys: AuditKeys, busy: threading.Event, times: int
) -> None:
    for _ in range(times):
        assert differing(database) == []
    waiting = replace(database, engine=database.feed)  # which waits longer for its turn
    replay(waiting, audit_keys, actor=TESTER)
    busy.set()
    assert differing(database) == []


def test_replay_removes_transfer_without_log(filled: Flask, database: Database, audited: Audited) -> None:
    with writing(database.engine) as connection:
        connection.exec_driver_sql("DELETE FROM events WHERE reporter = 'test' AND transfer_id IS NOT NULL")
    replay(*audited, actor=TESTER)
    assert differing(database) == []
    with reading(database.engine) as connection:
        assert connection.scalar(select(func.count()).select_from(Transfer)) == 0
        assert connection.scalar(select(func.sum(PoolVolume.amount))) in (0, None)


def test_replay_repairs_changed_transfer_next_round(
    filled: Flask, database: Database, audited: Audited
) -> None:
    """What is reported of a damaged transfer moves sums by how it was stored."""
    feed(filled, sent(50))
    with writing(database.engine) as connection:
        connection.execute(
            update(Transfer).where(Transfer.transfer_id == id_of(50)).values(status=5, amount=7)
        )

    def report(_transfers: int) -> None:
        feed(filled, released(50))

    replay(*audited, report, actor=TESTER)
    assert differing(database) == []
