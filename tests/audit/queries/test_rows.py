"""Which records are about changes that were made to the network document."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from app.audit.keys import AuditKeys
from app.audit.queries import network_record, records_of_row
from app.audit.rules.records import SANDBOX_LOADED, changes_network
from app.audit.services import record
from app.db.database import Database
from app.db.engine import reading, writing
from tests.actors import TESTER

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
MADE = ("network.edit", "network.import", "network.base_fees", SANDBOX_LOADED)
NOT_MADE = ("two_persons.propose", "two_persons.approve", "sandbox.freshen", "networks.edit", "network")


@pytest.mark.parametrize("action", [*MADE, *NOT_MADE])
def test_records_of_changes_that_were_made(action: str, database: Database, audit_keys: AuditKeys) -> None:
    with writing(database.engine) as connection:
        number = record(connection, audit_keys, TESTER, action, subject="chain 56", now=NOON)
    with reading(database.engine) as connection:
        found = [
            network_record(connection, number) is not None,
            bool(records_of_row(connection, subject="chain 56")),
            changes_network(action),
        ]
    assert found == [action in MADE] * 3
