"""A batch does not read the network that another has read, and is validated by that of now all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import event as sql_event

from app.db.database import Database
from app.db.engine import writing
from app.feed.services.ingest import Intake, ingest_within
from app.network.document import import_network, import_within, read_document
from tests.actors import TESTER
from tests.applications import OpenApp, editing_of
from tests.builders import network as build
from tests.feed.services.world import (
    NOW,
    address,
    network,
    prepared,
    request,
    sent,
)
from tests.feed.views.kit import post, verdict

CONFIGURATION = ("chains", "tokens", "pegged_pairs", "routes", "opening_validators")
"""Of pools a batch reads those whose counters it moves."""


@contextmanager
def rows_read(database: Database) -> Iterator[list[str]]:
    """The statements of batches that read tables of the configuration."""
    found: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        if any(f"FROM {table}" in " ".join(statement.split()) for table in CONFIGURATION):
            found.append(statement)

    sql_event.listen(database.feed, "before_cursor_execute", note)
    try:
        yield found
    finally:
        sql_event.remove(database.feed, "before_cursor_execute", note)


@pytest.fixture
def elsewhere(open_app: OpenApp) -> Flask:
    """The application of another process on the same database."""
    return open_app(own=True)


def listing(symbol_address: str) -> bytes:
    """The small network, with another token on chain 1."""
    document = network()
    listed = build.token(1, "NEW", symbol_address, 6)
    return build.text(document | {"tokens": [*document["tokens"], listed]})


def naming(n: int) -> dict[str, Any]:
    """A send that names which token NEW is: it is refused where the configuration has another."""
    return sent(n, symbol="NEW", token=address(7001))


def test_configuration_is_read_once_for_batches(client: FlaskClient, database: Database) -> None:
    assert verdict(post(client, [sent(1)]))["accepted"] == 1
    with rows_read(database) as found:
        for n in range(2, 6):
            assert verdict(post(client, [sent(n), prepared(n, request(n))]))["accepted"] == 2
    assert found == []


@pytest.mark.every_database
def test_foreign_change_counts_in_next_batch(
    client: FlaskClient, database: Database, elsewhere: Flask
) -> None:
    """One by another process."""
    assert verdict(post(client, [sent(1)]))["accepted"] == 1
    import_network(*editing_of(elsewhere), listing(address(7002)), actor=TESTER)
    with rows_read(database) as found:
        (refused,) = verdict(post(client, [naming(2)]))["refused"]
    assert refused["reason"].startswith("token: is not what is configured as NEW on chain 1")
    assert found, "the new version is read"
    import_network(*editing_of(elsewhere), listing(address(7001)), actor=TESTER)
    assert verdict(post(client, [naming(3)]))["accepted"] == 1


def test_rolled_back_network_is_not_used(
    client: FlaskClient, database: Database, intake: Intake, elsewhere: Flask
) -> None:
    """The next change has its version, and with the clock of this test its time as well."""
    with pytest.raises(ZeroDivisionError), writing(database.feed) as connection:
        import_within(connection, read_document(listing(address(7002))), NOW)
        ingest_within(connection, database, intake, [build.text(sent(9))], "test")
        raise ZeroDivisionError
    import_network(*editing_of(elsewhere), listing(address(7001)), actor=TESTER)
    assert verdict(post(client, [naming(1)]))["accepted"] == 1
