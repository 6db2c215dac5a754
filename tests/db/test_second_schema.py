"""The gateway's role gets the second schema, or `events verify` prints how."""

from __future__ import annotations

import fcntl
import shlex
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask import Flask
from flask_migrate import downgrade, upgrade
from sqlalchemy.engine import make_url

from app import create_app
from app.db.database import Database
from app.db.second_schema import NoSecondSchema
from app.feed.verifying.projecting import projected_again
from app.http.application import current
from tests.applications import close_connections, make_settings
from tests.databases import new_postgres_database, run_on


class Roles:
    """A database of one role that another one serves, as in deploy/postgres/roles.sql."""

    def __init__(self, server: str) -> None:
        name = uuid.uuid4().hex[:8]
        self.admin = new_postgres_database(server)
        self.owner, self.serving = f"owner_{name}", f'serving "{name}"'
        quoted = self.serving.replace('"', '""')
        database = make_url(self.admin).database
        run_on(
            self.admin,
            f"CREATE ROLE {self.owner} LOGIN",
            f'CREATE ROLE "{quoted}" LOGIN',
            f"ALTER DATABASE {database} OWNER TO {self.owner}",
            f"GRANT USAGE, CREATE ON SCHEMA public TO {self.owner}",
            f"ALTER DEFAULT PRIVILEGES FOR ROLE {self.owner} IN SCHEMA public"
            f' GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO "{quoted}"',
        )

    def application(self, role: str) -> Flask:
        url = make_url(self.admin).set(username=role)
        return create_app(make_settings(url.render_as_string(hide_password=False)))

    def migrate(self, revision: str = "head") -> None:
        with self.application(self.owner).app_context():
            (downgrade if revision < "head" else upgrade)(directory="migrations", revision=revision)
            close_connections()

    def verify(self) -> tuple[int, str]:
        """The exit code, and what is printed."""
        app = self.application(self.serving)
        result = app.test_cli_runner().invoke(args=["events", "verify"])
        with app.app_context():
            close_connections()
        return result.exit_code, result.output


@pytest.fixture
def roles(postgres_server: str) -> Roles:
    return Roles(postgres_server)


def command_in(output: str) -> str:
    """The statement of the command that is printed."""
    _, printed, command = output.partition(
        "may not use the schema verifying. Run this once, as a superuser: "
    )
    assert printed, output
    assert shlex.split(command)[:2] == ["psql", "-d"]
    return shlex.split(command)[-1]


def test_missing_schema_is_made_by_printed_command(roles: Roles) -> None:
    roles.migrate()
    assert roles.verify()[0] == 0, "the migration gives it to the serving role"
    for taken in (
        "DROP SCHEMA verifying",
        f"ALTER SCHEMA verifying OWNER TO {roles.owner};"
        f'REVOKE ALL ON SCHEMA verifying FROM "{roles.serving.replace(chr(34), chr(34) * 2)}"',
    ):
        run_on(roles.admin, *taken.split(";"))
        code, output = roles.verify()
        assert code == 1
        run_on(roles.admin, command_in(output))
        assert roles.verify()[0] == 0


def test_migration_without_right_changes_nothing(roles: Roles) -> None:
    run_on(
        roles.admin,
        f"ALTER DATABASE {make_url(roles.admin).database} OWNER TO postgres",
    )
    roles.migrate()
    code, output = roles.verify()
    assert code == 1
    assert command_in(output).startswith("CREATE SCHEMA verifying AUTHORIZATION ")


def test_schema_goes_down_and_up_again(roles: Roles) -> None:
    for revision in ("head", "0054", "head"):
        roles.migrate(revision)
    assert roles.verify()[0] == 0


@pytest.mark.parametrize("path", ["other, public", '"$user", public'])
def test_tables_behind_another_schema_are_found(roles: Roles, path: str) -> None:
    """Which is the current one, where new tables would be."""
    roles.migrate()
    serving = roles.serving.replace('"', '""')
    run_on(
        roles.admin,
        "CREATE SCHEMA other",
        f'CREATE SCHEMA "{serving}"',
        f'GRANT USAGE ON SCHEMA other, "{serving}" TO "{serving}"',
        f'ALTER ROLE "{serving}" SET search_path = {path}',
    )
    code, output = roles.verify()
    assert (code, output.splitlines()[-1]) == (0, "verified: 0 transfers, 0 rows differ from the log")


@pytest.fixture
def second_file(tmp_path: Path) -> Path:
    """The file of a second schema, next to a migrated database of SQLite."""
    with _on_sqlite(tmp_path / "a.db").app_context():
        upgrade(directory="migrations")
        close_connections()
    return tmp_path / "a.db-verifying"


def _on_sqlite(file: Path) -> Flask:
    return create_app(make_settings(f"sqlite:///{file}"))


@contextmanager
def _projected(file: Path) -> Iterator[None]:
    with _on_sqlite(file).app_context():
        try:
            with projected_again(current(Database)):
                yield
        finally:
            close_connections()


def test_second_schema_is_locked_through_links(second_file: Path) -> None:
    link = second_file.with_name("link.db")
    link.symlink_to("a.db")
    with (
        _projected(link),
        pytest.raises(NoSecondSchema, match="another"),
        _projected(second_file.with_name("a.db")),
    ):
        pass
    assert not second_file.exists()


def test_file_that_was_removed_is_not_used(second_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that opened it before has a lock that no other sees."""
    lock = fcntl.flock

    def lock_too_late(descriptor: int, how: int) -> None:
        second_file.unlink()
        lock(descriptor, how)

    monkeypatch.setattr("fcntl.flock", lock_too_late)
    with pytest.raises(NoSecondSchema, match="another"), _projected(second_file.with_name("a.db")):
        pass


def test_file_that_cannot_be_made_is_named(second_file: Path) -> None:
    second_file.mkdir()
    app = _on_sqlite(second_file.with_name("a.db"))
    result = app.test_cli_runner().invoke(args=["events", "verify"])
    with app.app_context():
        close_connections()
    assert result.exit_code == 1
    assert f"Error: this needs a file {second_file}: Is a directory" in result.output
