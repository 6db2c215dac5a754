"""A database of the release before is taken over where it is what that release made, and else left alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa
from flask import Flask
from flask_migrate import check, upgrade

from app import create_app
from app.db.models import db
from app.db.takeover import BACKFILLS
from tests.applications import close_connections, make_settings
from tests.databases import new_postgres_database
from tests.migrating.planted import PLANTED, plant

DIRECTORY = "migrations"
FORGET = "UPDATE latency_window SET middles_since = NULL WHERE middles_since IS NOT NULL"
ID = {"postgresql": "bigserial", "sqlite": "integer"}
TRIGGERS = {
    "postgresql": (
        "CREATE FUNCTION forget_latency_middles() RETURNS trigger LANGUAGE plpgsql"
        f" AS $$ BEGIN {FORGET}; RETURN NULL; END $$",
        "CREATE TRIGGER forget_latency_middles AFTER INSERT OR UPDATE OR TRUNCATE"
        " ON latency_records FOR EACH STATEMENT EXECUTE FUNCTION forget_latency_middles()",
        "CREATE TRIGGER forget_latency_middles_on_delete AFTER DELETE"
        " ON latency_records FOR EACH ROW EXECUTE FUNCTION forget_latency_middles()",
    ),
    "sqlite": tuple(
        f"CREATE TRIGGER forget_latency_middles_on_{change} AFTER {change} ON latency_records"
        f" BEGIN {FORGET}; END"
        for change in ("insert", "update", "delete")
    ),
}


def run(*statements: str) -> None:
    with db.engine.begin() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))


def dialect() -> str:
    return db.engine.dialect.name


@contextmanager
def release_before(url: str) -> Iterator[Flask]:
    """A database as the release before leaves it: with what neither release uses, and its backfills done."""
    application = create_app(make_settings(url))
    with application.app_context():
        upgrade(directory=DIRECTORY, revision="0048")
        now = "'2026-11-01 00:00:00'"
        run(
            "CREATE TABLE latency_middles (src_chain_id bigint PRIMARY KEY, latencies json NOT NULL)",
            f"CREATE TABLE saved_filters (id {ID[dialect()]} PRIMARY KEY,"
            " operator_id bigint NOT NULL REFERENCES operators (id))",
            "ALTER TABLE latency_window ADD COLUMN middles_since timestamp",
            *TRIGGERS[dialect()],
            *(
                "INSERT INTO backfills (name, done_to, looked_at, changed, moved_at, ended_at)"
                f" VALUES ('{name}', '', 0, 0, {now}, {now})"
                for name in sorted(BACKFILLS)
            ),
            "DELETE FROM schema_floors",
            "UPDATE alembic_version SET version_num = '0047'",
        )
        yield application
        close_connections()


@pytest.fixture
def before(empty_url: str) -> Iterator[Flask]:
    with release_before(empty_url) as application:
        yield application


def schema() -> dict[str, object]:
    """Everything that stands in the database."""
    inspector = sa.inspect(db.engine)
    found: dict[str, object] = {
        table: [[column["name"] for column in columns], inspector.get_pk_constraint(table)]
        for (_, table), columns in inspector.get_multi_columns().items()
    }
    queries = {
        "postgresql": ("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal", "SELECT proname FROM pg_proc p"
        " JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = 'public'"),
        "sqlite": ("SELECT name FROM sqlite_master WHERE type = 'trigger'",),
    }  # fmt: skip
    with db.engine.connect() as connection:
        found |= {
            query: sorted(connection.scalars(sa.text(query)))
            for query in (*queries[dialect()], "SELECT version_num FROM alembic_version")
        }
    return {name: str(part) for name, part in found.items()}


def test_takeover_equals_new_database(before: Flask, caplog: pytest.LogCaptureFixture) -> None:
    upgrade(directory=DIRECTORY)
    assert "it is at 0048 now" in caplog.text
    check(directory=DIRECTORY)
    names = sa.inspect(db.engine).get_table_names()
    assert not {"latency_middles", "saved_filters"} & set(names)
    with db.engine.connect() as connection:
        floors = connection.execute(sa.text("SELECT revision, oldest_code FROM schema_floors")).all()
    assert ("0048", "0047") in floors
    assert "latency_middles" not in str(schema())
    upgrade(directory=DIRECTORY)
    assert "nothing to do" in caplog.text


def test_later_migrations_follow_at_once(before: Flask, tmp_path: Path) -> None:
    upgrade(directory=plant(tmp_path, PLANTED))
    with db.engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT version_num FROM alembic_version")) == "9001"
    assert "planted" in sa.inspect(db.engine).get_table_names()


OTHERWISE = {
    "a column more": ("ALTER TABLE tokens ADD COLUMN surplus integer", "- tokens: column surplus INTEGER"),
    "an index less": (
        "DROP INDEX ix_transfers_id_end",
        "+ transfers: index CREATE INDEX ix_transfers_id_end",
    ),
    "an index more": ("CREATE INDEX mine ON transfers (amount)", "- transfers: index CREATE INDEX mine"),
    "a table less": ("DROP TABLE webhook_deliveries", "+ webhook_deliveries: column"),
}
TRIGGER = {
    "postgresql": "CREATE TRIGGER {name} AFTER DELETE ON {table}"
    " FOR EACH ROW EXECUTE FUNCTION forget_latency_middles()",
    "sqlite": "CREATE TRIGGER {name} AFTER DELETE ON {table} BEGIN " + FORGET + "; END",
}
ON_POSTGRESQL = {
    "a check less": ("ALTER TABLE pools DROP CONSTRAINT ck_pools_epoch_seconds", "+ pools: check constraint"),
    "a wider column": (
        "ALTER TABLE tokens ALTER name TYPE varchar(999)",
        "- tokens: column name VARCHAR(999)",
    ),
    "a column that may be empty": (
        "ALTER TABLE events ALTER type DROP NOT NULL",
        "- events: column type VARCHAR",
    ),
    "a reference less": (
        "ALTER TABLE refund_basis DROP CONSTRAINT fk_refund_basis_transfer_id_transfers",
        "+ refund_basis: foreign key fk_refund_basis_transfer_id_transfers",
    ),
    "no key": ("ALTER TABLE pruned_pools DROP CONSTRAINT pk_pruned_pools", "+ pruned_pools: primary key"),
    "another default": ("ALTER TABLE chains ALTER tx_path SET DEFAULT '/'", "- chains: column tx_path"),
    "an invalid index": (
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ix_transfers_age'::regclass",
        "- transfers: index invalid: CREATE INDEX ix_transfers_age",
    ),
}


def refused(caplog: pytest.LogCaptureFixture) -> str:
    """What a refused upgrade says, without the form of the log, which another test may have set."""
    was = schema()
    with pytest.raises(SystemExit):
        upgrade(directory=DIRECTORY)
    assert schema() == was
    return "\n".join(caplog.messages)


@pytest.mark.parametrize("change", OTHERWISE)
def test_one_that_differs_is_left_alone(before: Flask, caplog: pytest.LogCaptureFixture, change: str) -> None:
    statement, said = OTHERWISE[change]
    run(statement)
    assert said in refused(caplog)


@pytest.mark.parametrize(
    ("table", "name"), [("events", "mine"), ("latency_records", "forget_latency_middles_too")]
)
def test_a_trigger_that_nobody_knows_is_found(
    before: Flask, caplog: pytest.LogCaptureFixture, table: str, name: str
) -> None:
    run(TRIGGER[dialect()].format(table=table, name=name))
    assert refused(caplog).endswith(f"instead -:\n- {table}: trigger {name}")


@pytest.mark.parametrize("change", ON_POSTGRESQL)
def test_what_only_postgresql_changes_is_found(
    postgres_server: str, caplog: pytest.LogCaptureFixture, change: str
) -> None:
    statement, said = ON_POSTGRESQL[change]
    with release_before(new_postgres_database(postgres_server)):
        run(statement)
        assert said in refused(caplog)


def test_other_tables_do_not_matter(before: Flask) -> None:
    run("CREATE TABLE of_another_program (id integer)")
    upgrade(directory=DIRECTORY)
    assert "of_another_program" in sa.inspect(db.engine).get_table_names()


BEGUN = (
    "INSERT INTO status_changes"
    " (sequence, seq, is_later, status, previous_status, refund_reason, taken_back, at)"
    " VALUES (1, 7, false, 0, 0, 0, false, '2026-11-01 00:00:00')"
)
"""The journal of statuses is younger than the log: older code wrote transfers."""


def test_unfinished_backfill_is_named(before: Flask, caplog: pytest.LogCaptureFixture) -> None:
    run(BEGUN, "UPDATE backfills SET ended_at = NULL WHERE name = 'settled-transfers'")
    assert "these backfills have not ended: settled-transfers. Run flask" in refused(caplog)
    run("UPDATE backfills SET ended_at = moved_at")
    upgrade(directory=DIRECTORY)


def test_unneeded_backfill_is_not_required(before: Flask) -> None:
    """Where older code wrote nothing."""
    run("DELETE FROM backfills")
    upgrade(directory=DIRECTORY)
    check(directory=DIRECTORY)


def test_older_schema_is_sent_to_previous_release(before: Flask, caplog: pytest.LogCaptureFixture) -> None:
    run("UPDATE alembic_version SET version_num = '0031'")
    assert "the database has revision 0031: first upgrade it to 0047" in refused(caplog)
