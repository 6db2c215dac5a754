"""``flask backup``: a copy that is whole, made while others write."""

from __future__ import annotations

import os
import sqlite3
import threading
from pathlib import Path

import pytest
from click.testing import Result
from flask import Flask

from app.cli import database as module
from app.db.database import Database
from app.db.schema import newest_schema
from app.http.application import part_of
from tests.applications import OpenApp
from tests.sandboxes import load_into


def run(app: Flask, target: Path) -> Result:
    return app.test_cli_runner().invoke(args=["backup", str(target)])


def source_of(app: Flask) -> str:
    return str(part_of(app, Database).engine.url.database)


def rows(file: Path | str) -> list[str]:
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


def test_copy_is_complete_and_private(app: Flask, tmp_path: Path) -> None:
    load_into(app)
    target = tmp_path / "gateway.backup"
    before = os.umask(0)
    try:
        made = run(app, target)
    finally:
        os.umask(before)
    assert made.exit_code == 0, made.output
    assert f"revision {newest_schema()}, integrity checked" in made.output
    assert target.stat().st_mode & 0o777 == 0o600
    assert target.stat().st_nlink == 1
    assert rows(target) == rows(source_of(app))
    assert list(tmp_path.iterdir()) == [target], "one file, and nothing next to it"


def test_backup_is_consistent_during_writes(app: Flask, tmp_path: Path) -> None:
    """Two tables that are always changed together are never seen apart."""
    live = sqlite3.connect(source_of(app), isolation_level=None, check_same_thread=False)
    for name in ("one", "two"):
        live.execute(f"CREATE TABLE backup_{name} (n INTEGER)")
    done, written = threading.Event(), 0

    def write() -> None:
        nonlocal written
        while not done.is_set():
            live.execute("BEGIN IMMEDIATE")
            for name in ("one", "two"):
                live.execute(f"INSERT INTO backup_{name} VALUES (?)", (written,))
            live.execute("COMMIT")
            written += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        counts = []
        for number in range(5):
            target = tmp_path / f"{number}.backup"
            before = written
            assert run(app, target).exit_code == 0
            copy = sqlite3.connect(target)
            counts.append(
                [copy.execute(f"SELECT count(*) FROM backup_{n}").fetchone()[0] for n in ("one", "two")]
            )
            copy.close()
            assert before <= counts[-1][0]
    finally:
        done.set()
        writer.join()
        for name in ("one", "two"):
            live.execute(f"DROP TABLE backup_{name}")
        live.close()
    assert all(one == two for one, two in counts)
    assert counts[-1][0] > counts[0][0], "it wrote meanwhile"


def test_nothing_is_overwritten(app: Flask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "gateway.backup"
    target.write_text("precious")
    refused = run(app, target)
    assert (refused.exit_code, "exists" in refused.output) == (1, True)
    target.unlink()
    checked = module._checked

    def taken(draft: Path) -> str:
        target.write_text("precious")
        return checked(draft)

    monkeypatch.setattr(module, "_checked", taken)
    refused = run(app, target)
    assert (refused.exit_code, "meanwhile" in refused.output) == (1, True)
    assert target.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [target]


def test_damaged_database_is_reported(app: Flask, tmp_path: Path, open_app: OpenApp) -> None:
    good, bad = tmp_path / "good", tmp_path / "bad"
    load_into(app)
    assert run(app, good).exit_code == 0
    bad.write_bytes(good.read_bytes())
    damaged = sqlite3.connect(bad)
    damaged.execute("PRAGMA writable_schema=ON")
    (index,) = damaged.execute(
        "SELECT name FROM sqlite_master WHERE type='index' AND tbl_name='events' AND sql <> ''"
    ).fetchone()
    damaged.execute(
        "UPDATE sqlite_master SET rootpage=(SELECT rootpage FROM sqlite_master WHERE name='chains')"
        " WHERE name=?",
        (index,),
    )
    damaged.commit()
    damaged.close()
    other = open_app(database_url=f"sqlite:///{bad}")
    with other.app_context():
        refused = run(other, tmp_path / "copy")
    assert (refused.exit_code, "damaged" in refused.output) == (1, True), refused.output
    assert not (tmp_path / "copy").exists()


def test_database_without_copy_is_refused(open_app: OpenApp, tmp_path: Path) -> None:
    for url, complaint in (
        ("postgresql://nobody@127.0.0.1:1/none", "pgBackRest"),
        (f"sqlite:///{tmp_path}/none.db", "does not exist"),
    ):
        other = open_app(database_url=url)
        with other.app_context():
            refused = run(other, tmp_path / "copy")
        assert (refused.exit_code, complaint in refused.output) == (1, True), refused.output
    empty = tmp_path / "empty.db"
    sqlite3.connect(empty).close()
    other = open_app(database_url=f"sqlite:///{empty}")
    empty.touch()
    with other.app_context():
        assert "never migrated" in run(other, tmp_path / "copy").output
