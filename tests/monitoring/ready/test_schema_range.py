"""Which schemas this version runs on, and its complaints of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import delete, insert, text

from app.db.database import Database
from app.db.models import SchemaFloor
from app.db.schema import database_complaint, is_ahead, newest_schema, oldest_schema, schema_complaint
from scripts.start import migrate_database

SetSchema = Callable[..., None]

UPGRADE = "run flask --app wsgi db upgrade, or correct DATABASE_URL"
NEWER = f"{int(newest_schema()) + 1:04}"
NEWEST = f"{int(newest_schema()) + 2:04}"


def of(applied: str, floors: str = "") -> str | None:
    """The complaint of code for the revisions 0140 to 0145."""
    return schema_complaint(set(applied.split()), set(floors.split()), oldest="0140", newest="0145")


@pytest.mark.parametrize(
    ("applied", "floors"),
    [
        ("0140", ""),
        ("0143", ""),
        ("0145", ""),
        ("0145", "0140 0145"),
        ("0146", ""),
        ("0199", "0141 0145"),
        ("0145", "0146"),
        ("0143", "0146"),  # by a migration that was undone and left its row: the schema counts
    ],
)
def test_known_schema_is_accepted(applied: str, floors: str) -> None:
    assert of(applied, floors) is None


@pytest.mark.parametrize("applied", ["", "0139", "0140 0141", "0146 0147"])
def test_unknown_schema_is_refused(applied: str) -> None:
    shown = ", ".join(applied.split()) or "none"
    assert of(applied) == (
        f"migrations: the database has revision {shown}, this version needs 0140 to 0145: {UPGRADE}"
    )


@pytest.mark.parametrize("applied", ["0001", "0047", "0047 0140", "head", "²"])
def test_schema_before_first_release_is_refused(applied: str) -> None:
    shown = ", ".join(applied.split())
    assert of(applied) == (
        f"migrations: the database has revision {shown}, which no release since 1.0.0 made:"
        " first run `flask --app wsgi db upgrade` of release 1.0.1 (docs/operations.md#take-over)"
    )


@pytest.mark.parametrize(("floors", "needed"), [("0146", "0146"), ("0141 0147 0146", "0147"), ("?", "?")])
def test_too_new_schema_is_refused(floors: str, needed: str) -> None:
    assert of("0147", floors) == (
        f"migrations: the database has revision 0147, which needs a version that knows {needed}; "
        "this one knows 0145: use a newer version, or correct DATABASE_URL"
    )


def test_oldest_schema_is_known() -> None:
    assert newest_schema() >= oldest_schema()
    assert [is_ahead({each}) for each in ("0001", oldest_schema(), newest_schema(), NEWER)] == [0, 0, 0, 1]


def test_last_migration_not_marked_unneeded_is_oldest(tmp_path: Path) -> None:
    for revision, text_of in (
        ("0001", "NEEDED = True\n"),
        ("0002", ""),
        ("0003", "\nNEEDED = False  # an index\n"),
    ):
        (tmp_path / f"{revision}_planted.py").write_text(text_of)
    assert oldest_schema(tmp_path) == "0002"


@pytest.fixture
def set_schema(database: Database) -> Iterator[SetSchema]:
    """Sets the revision that the database has, and the floors of its newer migrations; undone afterwards."""

    def to(revision: str, **floors: str) -> None:
        with database.engine.begin() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": revision})
            connection.execute(delete(SchemaFloor).where(SchemaFloor.revision >= NEWER))
            for made_by, oldest in floors.items():
                row = {"revision": made_by.removeprefix("by_"), "oldest_code": oldest}
                connection.execute(insert(SchemaFloor).values(row))

    yield to
    to(newest_schema())


def ready(app: Flask) -> str | None:
    """What keeps the gateway from serving."""
    answer = app.test_client().get("/readyz")
    assert answer.status_code == (200 if answer.get_json()["err"] is None else 503)
    return None if answer.status_code == 200 else str(answer.get_json()["err"]["msg"])


@pytest.mark.every_database
def test_ready_on_every_schema_of_the_range(app: Flask, set_schema: SetSchema) -> None:
    for revision in (oldest_schema(), newest_schema(), NEWER, NEWEST):
        set_schema(revision)
        assert ready(app) is None
    set_schema(NEWEST, **{f"by_{NEWER}": newest_schema()})
    assert ready(app) is None


@pytest.mark.every_database
def test_not_ready_without_needed_schema(app: Flask, set_schema: SetSchema, database: Database) -> None:
    """A schema that took something away."""
    set_schema(NEWEST, **{f"by_{NEWER}": newest_schema(), f"by_{NEWEST}": NEWER})
    complaint = ready(app)
    assert complaint is not None
    assert f"which needs a version that knows {NEWER}" in complaint
    assert database_complaint(database) == complaint  # which commands, watchers and senders use
    set_schema(f"{int(oldest_schema()) - 1:04}")
    needed = " to ".join(sorted({oldest_schema(), newest_schema()}))
    assert f"this version needs {needed}" in (ready(app) or "")


def test_schema_without_floors_is_accepted(app: Flask, set_schema: SetSchema, database: Database) -> None:
    """Before revision 0035 there was no such table: it is read only where the database is ahead."""
    set_schema(oldest_schema())
    engine = database.engine
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE schema_floors RENAME TO elsewhere"))
    try:
        assert ready(app) is None
    finally:
        with engine.begin() as connection:
            connection.execute(text("ALTER TABLE elsewhere RENAME TO schema_floors"))


def test_start_never_migrates_newer_schema(set_schema: SetSchema, database: Database) -> None:
    set_schema(NEWER)
    migrate_database(database)
    set_schema(NEWER, **{f"by_{NEWER}": NEWER})
    with pytest.raises(SystemExit, match=f"^DATABASE_URL: migrations: .* knows {NEWER}; this one knows"):
        migrate_database(database)
