"""The time that an answer names is never later than what it shows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import Engine, create_engine

from app.db.database import Database
from app.db.engine import READER_OPTIONS, pool_options, prepare
from app.db.replica import PublicReads
from app.db.timeouts import REPLICA
from app.http.application import part_of
from app.network.snapshot import SnapshotSource
from app.transfers.services.lookups import find_transfers
from app.transfers.services.status import transfer_status, transfer_statuses
from app.values.codes import TransferHistoryStatus
from app.values.identifiers import TransferId
from tests.applications import change_part
from tests.feed.services.world import NOW, feed, released, sent, transfer_id, write_network

pytestmark = pytest.mark.one_database  # the replica is a copy of a file

LATER = NOW + timedelta(seconds=3)
THE_ONE = TransferId(bytes.fromhex(transfer_id(1)[2:]))


class Behind:
    """A replica without what was reported last. It may be behind that far, and is used or not."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.used = False

    def is_usable(self) -> bool:
        return self.used


@pytest.fixture
def replica(app: Flask, tmp_path: Path) -> Iterator[Behind]:
    change_part(app, Database, clock=lambda: NOW)
    database = part_of(app, Database)
    write_network(database.engine)
    feed(app, sent(1))
    file = tmp_path / "replica.db"
    with sqlite3.connect(database.engine.url.database or "") as here, sqlite3.connect(file) as there:
        here.backup(there)
    options: dict[str, Any] = pool_options(2) | READER_OPTIONS
    engine = create_engine(f"sqlite:///{file}", **options)
    prepare(engine, REPLICA)
    handed_in = database.reads.get_execution_options().items()
    engine.update_execution_options(**{n: act for n, act in handed_in if n.startswith("gateway_handed_in")})
    behind = Behind(engine)
    reads: Any = PublicReads(database.engine, database.reads, behind)  # type: ignore[arg-type]
    change_part(app, Database, clock=lambda: LATER, public=reads)
    feed(app, released(1))
    yield behind
    engine.dispose()


def look_up_statuses(app: Flask) -> set[tuple[TransferHistoryStatus, datetime | None]]:
    """By each look-up, the status and the time."""
    parts = part_of(app, Database), part_of(app, SnapshotSource)
    (listed,) = transfer_statuses(*parts, [THE_ONE])
    (found,) = find_transfers(*parts, transfer_id(1), None).transfers
    statuses: Any = [transfer_status(*parts, THE_ONE), listed, found.listed.status]
    return {(each.status, each.as_of) for each in statuses}


@pytest.mark.parametrize("cached_seconds", [0.0, 60.0])
def test_it_is_that_of_the_replica_which_answers(app: Flask, replica: Behind, cached_seconds: float) -> None:
    """Also when the primary has just returned its newest event."""
    database = part_of(app, Database)
    change_part(app, Database, cached=type(database.cached)(cached_seconds, database.cached._writes))
    ended = {(TransferHistoryStatus.TRANSFER_COMPLETED, LATER)}
    assert look_up_statuses(app) == ended
    replica.used = True
    assert look_up_statuses(app) == {(TransferHistoryStatus.TRANSFER_SUBMITTING, NOW)}
    replica.used = False
    statuses = {status for status, _ in look_up_statuses(app)}
    assert statuses == {TransferHistoryStatus.TRANSFER_COMPLETED}
