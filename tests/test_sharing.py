"""Applications and databases are shared by tests; nothing of one test reaches the next."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from flask import Flask
from sqlalchemy import event, func, insert, select

from app.db.database import Database
from app.db.engine import reading, writing
from app.estimates.models import EstimateCount
from app.grpcweb.calls import Methods
from app.http.application import part_of
from app.http.public import PublicInterface
from app.network.document import export_network, import_network
from app.network.models import BlockedNetwork
from app.transfer_page.views import PagesInterface
from app.transfers.services.lookups import Wording
from tests.actors import TESTER
from tests.applications import MOST_UNUSUAL, Applications, editing_of, renew_parts
from tests.databases import SharedDatabase
from tests.network.services.network_kit import network, text

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
OF_INTERFACES = {PublicInterface, PagesInterface, Methods, Wording}
STAYS = {"engine", "reads", "feed", "public", "answers"}
"""Connections to the database. All else of an application may know what a test did."""


@pytest.fixture
def some_applications() -> Applications:
    """Of this test's own, so that it can end one test and begin the next."""
    return Applications()


def imported(app: Flask) -> bytes:
    import_network(*editing_of(app), text(network()), actor=TESTER)
    return export_network(part_of(app, Database))


def test_next_test_reuses_application(
    some_applications: Applications, shared_database: SharedDatabase
) -> None:
    """With new parts."""
    opener = some_applications.opener(shared_database)
    app = opener()
    database = part_of(app, Database)
    assert opener() is not app  # within a test two are like two processes
    some_applications.release()
    again = [opener(), opener()]
    assert app in again
    assert part_of(app, Database) is not database
    some_applications.release()
    some_applications.close()


def test_all_parts_are_renewed(app: Flask, database: Database) -> None:
    before = dict(app.extensions["parts"])
    renew_parts(app, lambda: NOON)
    after = app.extensions["parts"]
    assert {kind for kind in before if after[kind] is before[kind]} == OF_INTERFACES
    assert {
        name
        for name in Database.__struct_fields__
        if getattr(after[Database], name) is getattr(database, name)
    } == STAYS


def test_observed_application_is_not_reused(
    some_applications: Applications, shared_database: SharedDatabase
) -> None:
    opener = some_applications.opener(shared_database)
    app = opener()
    event.listen(part_of(app, Database).engine, "before_cursor_execute", lambda *_: None)
    some_applications.release()
    assert opener() is not app
    some_applications.release()
    some_applications.close()


@pytest.mark.parametrize("changes", [{"own": True}, {"metrics_port": 9100}])
def test_changed_application_is_not_reused(
    some_applications: Applications, shared_database: SharedDatabase, changes: dict[str, object]
) -> None:
    opener = some_applications.opener(shared_database)
    app = opener(**changes)
    some_applications.release()
    assert opener(**changes) is not app
    some_applications.release()


def test_last_unusual_applications_are_reused(
    some_applications: Applications, shared_database: SharedDatabase
) -> None:
    opener = some_applications.opener(shared_database)
    made = [opener(trusted_proxies=n) for n in range(1, MOST_UNUSUAL + 2)]
    some_applications.release()
    for _ in range(2):  # its connections were closed meanwhile
        app = opener(trusted_proxies=MOST_UNUSUAL + 1)
        assert app in made
        assert imported(app)
        some_applications.release()
        shared_database.empty()
    assert opener(trusted_proxies=1) not in made
    some_applications.release()


def test_an_emptied_database_has_no_row(app: Flask, shared_database: SharedDatabase) -> None:
    imported(app)
    assert len(shared_database.filled()) > 5
    shared_database.empty()
    assert shared_database.filled() == []


def test_restored_rows_equal_the_originals(
    app: Flask, shared_database: SharedDatabase, database: Database
) -> None:
    exported = []
    for _ in range(2):
        shared_database.empty()
        shared_database.fill("tests.test_sharing", lambda: exported.append(imported(app)))
        with reading(database.engine) as connection:
            assert connection.scalar(select(func.count()).select_from(EstimateCount)) == 0
        assert export_network(database) == exported[0]
    assert len(exported) == 1  # the second time they came from memory
    with writing(database.engine) as connection:  # its number is none of theirs
        values = {"cidr": "198.51.100.0/24", "reason": "test", "expires_at": None}
        connection.execute(insert(BlockedNetwork).values(values))


def test_only_an_empty_database_is_filled(app: Flask, shared_database: SharedDatabase) -> None:
    imported(app)
    with pytest.raises(AssertionError, match="only an empty database"):
        shared_database.fill("tests.test_sharing, twice", lambda: None)
