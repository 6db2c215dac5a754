"""Growing a database: the rows are those that feeding the same transfers' events leads to."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import inspect

from app.db.database import Database
from app.db.engine import reading, writing
from app.db.models import db
from app.feed.services.ingest import Intake, ingest_lines
from app.feed.services.log import NoEventLog
from app.feed.services.reprojection import replay
from app.network.document import import_network
from app.sandbox.catalogue import network_document
from app.sandbox.services import SandboxRefused
from app.values.codes import TransferHistoryStatus as Status
from bench import synthetic_transfers
from bench.grow import grow
from bench.grow_command import grow_transfers
from bench.synthetic_transfers import SyntheticTransfers, events_of
from tests.actors import TESTER
from tests.applications import Audited, Editing, change_part
from tests.feed.services.world import projections
from tests.sandbox.conftest import NOW

COUNT = 300
MADE_UP = SyntheticTransfers(COUNT, NOW, days=6, pair_share=0.3)


@pytest.fixture
def app(app: Flask) -> Flask:
    change_part(app, Database, clock=lambda: NOW)
    return app


def state(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    with reading(database.engine) as connection:
        return projections(connection)


def schema() -> list[str]:
    """Every key, reference and index."""
    found = inspect(db.engine)
    tables = found.get_table_names()
    of_table = (found.get_pk_constraint, found.get_foreign_keys, found.get_unique_constraints)
    keys = [f"{name} {read(name)}" for name in tables for read in of_table]
    indexes = [(name, index) for name in tables for index in found.get_indexes(name)]
    return sorted(keys + [f"{name} {index['name']} {index['column_names']}" for name, index in indexes])


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection")
def test_grown_rows_equal_fed_rows(
    database: Database, intake: Intake, audited: Audited, editing: Editing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthetic_transfers, "UNUSUAL_IN", 5)  # so that a few are enough to meet all of them
    before = schema()
    grow(*audited, MADE_UP, actor=TESTER)
    assert schema() == before
    grown = state(database)
    with writing(database.engine) as connection:
        for table in reversed(db.metadata.sorted_tables):
            connection.execute(table.delete())
    import_network(*editing, orjson.dumps(network_document()), actor=TESTER)
    lines = [orjson.dumps(event) for transfer in MADE_UP for event in events_of(transfer)]
    assert ingest_lines(database, intake, lines, "test").refused == []
    reported = state(database)
    assert {name: len(rows) for name, rows in grown.items()} == {
        name: len(rows) for name, rows in reported.items()
    }
    assert grown == reported
    assert {row[1] for row in grown["transfers"]} == set(Status) - {Status.TRANSFER_UNKNOWN}


def test_growing_needs_empty_database(database: Database, audited: Audited, client: FlaskClient) -> None:
    """It leaves no log."""
    grow(*audited, SyntheticTransfers(50, NOW), actor=TESTER)
    before = state(database)
    with pytest.raises(SandboxRefused, match="not empty"):
        grow(*audited, SyntheticTransfers(50, NOW), actor=TESTER)
    with pytest.raises(NoEventLog, match="its 50 transfers have no events"):
        replay(*audited, actor=TESTER)
    assert state(database) == before
    run = client.application.test_cli_runner().invoke
    for command in (["replay"], ["export"], ["prune", "--before", "2026-01-01T00:00:00Z"], ["ingest", "-"]):
        refused = run(args=["events", *command])
        assert (refused.exit_code, "filled by `sandbox grow`" in refused.stderr) == (1, True), command


def test_grow_command_prints_its_result(app: Flask) -> None:
    done = app.test_cli_runner().invoke(grow_transfers, args=["--transfers", "40"])
    assert done.exit_code == 0
    assert done.stdout.startswith("grown: 40 transfers in ")
