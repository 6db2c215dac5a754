"""What events are validated by: in memory, where that is of the version a transaction sees; else read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, event, update

from app.db.database import Database
from app.db.engine import reading_consistently, writing
from app.network.changes import raise_versions
from app.network.document import import_network
from app.network.models import Chain
from app.network.queries import load_configured_facts, load_network_facts, load_versions, share_facts
from app.network.rules.validation_facts import NetworkFacts
from app.network.sections import Part
from app.network.services import NetworkSnapshots
from app.values.crypto import parse_evm_address
from tests.actors import TESTER
from tests.applications import Editing
from tests.network.services.network_kit import CONTRACT, ETHEREUM, VAULT, changed, text

pytestmark = pytest.mark.every_database


@pytest.fixture
def memory(database: Database) -> NetworkSnapshots:
    """As of another process, which serves no request meanwhile."""
    memory = NetworkSnapshots(database.engine, 3600)
    memory.current()
    share_facts(database.engine, memory)
    return memory


@pytest.fixture
def tables(database: Database) -> Iterator[list[str]]:
    """The statements that read the tables of chains."""
    seen: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        seen.extend([statement] if "FROM chains" in statement else [])

    event.listen(database.engine, "before_cursor_execute", note)
    yield seen
    event.remove(database.engine, "before_cursor_execute", note)


def of_tables(connection: Connection) -> NetworkFacts:
    return load_configured_facts(connection.execution_options(gateway_facts=None))


def test_memory_equals_the_tables(database: Database, memory: NetworkSnapshots, tables: list[str]) -> None:
    with reading_consistently(database.engine) as connection:
        facts, with_reported = load_configured_facts(connection), load_network_facts(connection)
        assert not tables
        assert facts.validators and facts.pairs
        assert with_reported == facts == of_tables(connection)
    assert len(tables) == 1


@pytest.mark.parametrize(("path", "value"), [("chains.0.contract_addr", VAULT), ("validators.0.power", "1")])
def test_another_version_is_read(
    database: Database, editing: Editing, memory: NetworkSnapshots, path: str, value: Any
) -> None:
    with reading_consistently(database.engine) as connection:
        before = load_configured_facts(connection)
    share_facts(database.engine, NetworkSnapshots(database.engine, 3600))
    import_network(*editing, text(changed(path, value)), actor=TESTER)
    share_facts(database.engine, memory)
    with reading_consistently(database.engine) as connection:
        now = load_configured_facts(connection)
        assert now == of_tables(connection) != before
        assert memory.facts_of(load_versions(connection)) is None, "a reader renews nothing"


def test_transaction_sees_only_lasting_changes(database: Database, memory: NetworkSnapshots) -> None:
    """Its own change at once, and none that was rolled back."""
    with pytest.raises(ZeroDivisionError), writing(database.engine) as connection:
        connection.execute(update(Chain).where(Chain.chain_id == 1).values(contract_addr=VAULT))
        raise_versions(connection, [Part.CORE], database.clock())
        assert load_network_facts(connection).pool_bridges[ETHEREUM] == parse_evm_address(VAULT)
        1 / 0  # noqa: B018
    with writing(database.engine) as connection:
        assert load_network_facts(connection).pool_bridges[ETHEREUM] == parse_evm_address(CONTRACT[1])


def test_writer_renews_memory_after_commit(
    database: Database, editing: Editing, memory: NetworkSnapshots, tables: list[str]
) -> None:
    import_network(*editing, text(changed("chains.0.contract_addr", VAULT)), actor=TESTER)
    share_facts(database.engine, fresh := NetworkSnapshots(database.engine, 3600))
    with writing(database.engine) as connection:
        load_network_facts(connection)
        assert fresh.facts_of(load_versions(connection)) is None
    tables.clear()
    with writing(database.engine) as connection:
        assert load_network_facts(connection).pool_bridges[ETHEREUM] == parse_evm_address(VAULT)
    assert not tables


def test_blocked_accounts_change_no_facts(database: Database, memory: NetworkSnapshots) -> None:
    with writing(database.engine) as connection:
        raise_versions(connection, [Part.BLOCKED_ADDRESSES], database.clock())
    with reading_consistently(database.engine) as connection:
        assert memory.facts_of(load_versions(connection)) is not None
