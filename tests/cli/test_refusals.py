"""What commands refuse, as the person who typed one reads it: one line with what is wrong and what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest
from click.testing import Result
from flask import Flask
from sqlalchemy.exc import OperationalError

from app import create_app
from app.cli.commands import COMMANDS
from app.db.complaints import unusable
from app.db.schema import newest_schema
from tests.applications import close_connections, make_settings
from tests.remedies import says_what_to_do

ID: Final = "ab" * 32
NEWER: Final = "9999"

ONE_OF_EACH: Final = {
    "api-keys": "list",
    "audit": "verify",
    "backfill": "--status",
    "backup": "copy.db",
    "db": "current",
    "deliver": "--once",
    "events": "export",
    "evidence": f"verify {ID}",
    "ingest-tokens": "list",
    "network": "export",
    "operators": "list",
    "sandbox": "load",
    "watch": "--status",
}
"""A command of each group, which reads the database."""

REFUSED: Final = {
    "api-keys create A": ("'A' is not a valid name", 1),
    "api-keys create a --limit often": ("'often' is not a limit", 1),
    "api-keys create a --scope all": ("'all' is not one of", 2),
    "api-keys revoke nobody": ("no API key nobody", 1),
    "audit show 77": ("no record 77", 1),
    "audit list --since soon": ("--since", 2),
    "audit verify --head 1": ("ID:MAC", 2),
    "audit verify --log FILE": ("--log", 2),
    "audit verify --anchors FILE": ("--anchors", 2),
    "audit verify --archive MISSING": ("missing", 2),
    "audit verify --archive FILE": ("refused.txt", 1),
    "backup FILE": ("refused.txt exists", 1),
    "backup MISSING/copy.db": ("missing/copy.db", 1),
    "db upgrade nowhere": ("'nowhere'", 1),
    "db -x speed=1 upgrade": ("-x speed=1", 1),
    "events ingest MISSING": ("missing", 2),
    "events prune --before soon": ("--before", 2),
    "events retract --reason x": ("--id", 2),
    "events retract --reason x --id nope": ("'nope'", 1),
    "events retract --reason x --id a --chain 1 --route x": ("--route", 2),
    "events retract --reason x --id a --route x": ("--route", 2),
    "events retract --reason x --id a --transfer x": ("--transfer", 2),
    "events retract --reason x --token t --since soon": ("--since", 2),
    "events retract --reason x --token t --since 2026-01-31T12:00:00Z": ("'t'", 1),
    "events retract --reason x --token t --since 2026-01-31T12:00:00Z --chain 1": ("--chain", 2),
    "evidence verify 0x12": ("TRANSFER_ID", 2),
    "ingest-tokens create A": ("'A' is not a valid name", 1),
    "ingest-tokens create a --type t": ("'t' is not an event type", 1),
    "ingest-tokens create a --chain 0": ("0 is not a chain id", 1),
    "ingest-tokens create a --quota 1": ("quota", 1),
    "ingest-tokens create a --expires soon": ("--expires", 2),
    "ingest-tokens create a --expires 2000-01-31T12:00:00Z": ("expiry", 1),
    "ingest-tokens rotate nobody": ("no token nobody to replace", 1),
    "ingest-tokens revoke nobody": ("no token nobody", 1),
    "network import": ("FILE", 2),
    "network import FILE": ("the document is not JSON", 1),
    "network import MISSING": ("missing", 2),
    "network import FILE --print": ("--print", 2),
    "network import --from-configs FILE": ("the answer is not JSON", 1),
    "operators create nobody --role viewer --password x": ("'nobody'", 1),
    "operators create a@example.org --role viewer --password x": ("characters", 1),
    "operators create a@example.org --role viewer --password-file MISSING": ("missing", 2),
    "operators set-role a@example.org --role viewer": ("a@example.org", 1),
    "operaters list": ("has no command operaters: use operators", 2),
    "nothing": ("use one of api-keys, audit,", 2),
    "operators crate": ("flask --app wsgi operators has no command crate: use create", 2),
    "operators create": ("EMAIL is missing: run flask --app wsgi operators create EMAIL --role [", 2),
    "operators create a@example.org": ("--role is missing: run flask --app wsgi operators create EMAIL", 2),
    "operators create a@example.org --role king": ("'viewer', 'operator', 'admin': use one of these", 2),
    "operators create a@example.org --roll admin": ("has no option --roll: use --role", 2),
    "operators create a@example.org --role": ("'--role' requires an argument; add --help", 2),
    "operators create a@example.org b --role admin --password x": ("unexpected extra argument (b); see", 2),
    "operators list --everything": ("has no option --everything: use one of --help", 2),
    "audit list --limit x": ("--limit: 'x' is not a valid integer range: give a whole number", 2),
    "audit list --limit 0": ("--limit: 0 is not in the range 1<=x<=10000: give a whole number", 2),
    "backfill --pause x": ("--pause: 'x' is not a valid float range: give a number", 2),
    "db upgarde": ("use upgrade", 2),
    "watch --chek": ("has no option --chek: use --check", 2),
    "watch --check --status": ("--check", 2),
    "watch --status --chain 77": ("chain 77", 1),
}
"""What each is refused with: a part of its last line, and the exit code."""


def run(app: Flask, *words: str) -> Result:
    return app.test_cli_runner().invoke(args=[*words])


def refusal(result: Result, log: str = "") -> str:
    """The only line on standard error."""
    assert isinstance(result.exception, SystemExit), result.exception
    (line,) = (result.stderr or log).strip().splitlines()
    return line


@pytest.mark.parametrize("command", REFUSED)
def test_refused_command_says_what_to_do(
    app: Flask, caplog: pytest.LogCaptureFixture, tmp_path: Path, command: str
) -> None:
    file = tmp_path / "refused.txt"
    file.write_text("nothing that a command reads\n")
    missing = str(tmp_path / "missing")
    named, code = REFUSED[command]
    caplog.clear()
    words = command.replace("FILE", str(file)).replace("MISSING", missing).split()
    result = run(app, *words)
    last = refusal(result, "\n".join(caplog.messages[-1:]))
    assert result.exit_code == code
    assert named in last
    assert says_what_to_do(last)


WORKS: Final = {("db", "never migrated"), ("backup", "too new")}
"""What a command may do all the same: say that there is no revision, and copy the file."""


@pytest.fixture(params=["nobody listens", "no database", "never migrated", "too new", "a folder", "no file"])
def unusable_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Databases that no command can use, each in its way."""
    if request.param == "nobody listens":
        return "postgresql+psycopg://gateway:hidden-word@127.0.0.1:1/gateway"
    file = tmp_path / "gateway.db"
    if request.param == "no database":
        file.write_bytes(b"no database" * 1000)
    elif request.param == "a folder":
        file.mkdir()
    elif request.param == "no file":
        return f"sqlite:///{tmp_path / 'mistyped' / 'gateway.db'}"
    else:
        with closing(sqlite3.connect(file)) as made:
            made.execute("CREATE TABLE schema_floors (revision TEXT, oldest_code TEXT)")
            if request.param == "too new":
                made.execute("CREATE TABLE alembic_version (version_num TEXT)")
                made.execute("INSERT INTO alembic_version VALUES (?)", (NEWER,))
                made.execute("INSERT INTO schema_floors VALUES (?, ?)", (NEWER, NEWER))
            made.commit()
    return f"sqlite:///{file}"


@pytest.fixture
def without_database(unusable_url: str) -> Iterator[Flask]:
    app = create_app(make_settings(unusable_url))
    yield app
    with app.app_context():
        close_connections()


@pytest.mark.parametrize("group", ONE_OF_EACH)
def test_command_refuses_unusable_database(
    request: pytest.FixtureRequest,
    without_database: Flask,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
    group: str,
) -> None:
    caplog.clear()
    words = ONE_OF_EACH[group].replace("copy.db", str(tmp_path / "copy.db")).split()
    result = run(without_database, group, *words)
    if (group, request.node.callspec.params["unusable_url"]) in WORKS:
        assert result.exit_code == 0
        return
    last = refusal(result, "\n".join(caplog.messages[-1:]))
    assert result.exit_code in (1, 2)
    assert says_what_to_do(last)
    assert "hidden" not in last
    assert "Traceback" not in result.output
    assert not (tmp_path / "mistyped").exists()


def test_migration_says_what_changed(tmp_path: Path) -> None:
    """Only `db upgrade` creates the file, with its folder. It leaves no others there."""
    file = tmp_path / "new" / "gateway.db"
    app = create_app(make_settings(f"sqlite:///{file}"))
    said = f"sqlite:///{file} has schema"
    newest = newest_schema()
    for words in (("downgrade", "0050"), ("stamp", "0050")):
        assert "the file does not exist" in refusal(run(app, "db", *words))
    assert run(app, "db", "upgrade").stdout == f"{said} {newest} now; before, it had no schema\n"
    assert [*file.parent.iterdir()] == [file]
    assert run(app, "db", "upgrade").stdout == f"{said} {newest} already: nothing to do\n"
    assert run(app, "db", "downgrade", "0050").stdout == f"{said} 0050 now; before, it had schema {newest}\n"
    assert run(app, "db", "upgrade", "--sql", "0050:0051").stdout.startswith("-- Running upgrade 0050 ")


def test_each_command_is_tried_without_database() -> None:
    assert ONE_OF_EACH.keys() == COMMANDS.keys() - {"version"}


@pytest.mark.parametrize(
    ("cause", "remedy"),
    [
        ('connection failed: FATAL: database "x" does not exist', "create it"),
        ("the file does not exist", "create it with flask --app wsgi db upgrade, or correct DATABASE_URL"),
        ("it is a folder", "name a file in it in DATABASE_URL"),
        ('connection failed: FATAL: role "x" does not exist', "correct the user and the password"),
        ('FATAL: password authentication failed for user "x"', "correct the user and the password"),
        ("failed to resolve host 'x': [Errno -2] Name or service not known", "correct the host"),
        ("FATAL: sorry, too many clients already", "allow more connections (docs/scaling.md"),
        ('could not extend file "x": No space left on device', "make room"),
        ("database or disk is full", "make room"),
        ("cannot execute UPDATE in a read-only transaction", "set DATABASE_URL to the primary"),
        ("attempt to write a readonly database", "let this user write"),
        ("permission denied for table chains", "GRANT it"),
        ("database is locked", "run the command again"),
        ("Multiple connection attempts failed. All failures were:\n- host: 'a': refused\n", "start it"),
    ],
)
def test_cause_has_its_remedy(cause: str, remedy: str) -> None:
    said = unusable("sqlite:///x.db", OperationalError("SELECT 1", {}, Exception(cause)))
    assert remedy in said
    assert says_what_to_do(said)
    assert "All failures" not in said
