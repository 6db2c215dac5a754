"""Which writer to SQLite goes first; tests/feed/views tries an operator on a real server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine

from app.db import sqlite
from app.db.engine import prepare, writing
from app.db.sqlite import going_first, is_another_first, turns_of
from app.db.timeouts import CONSOLE, FEED


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "gateway.db"
    file.touch()
    return file


@pytest.fixture
def reporter(file: Path) -> Iterator[Engine]:
    engine = create_engine(f"sqlite:///{file}")
    prepare(engine, FEED)
    yield engine
    engine.dispose()


@pytest.fixture
def operator(file: Path) -> Iterator[Engine]:
    engine = create_engine(f"sqlite:///{file}")
    prepare(engine, CONSOLE)
    yield engine
    engine.dispose()


def test_no_writer_goes_first_for_ever(reporter: Engine, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operators who follow each other without a pause delay reporters for a bounded time only."""
    monkeypatch.setattr(sqlite, "_LONG", 0.3)
    with going_first(turns_of(str(file))):
        began = time.monotonic()
        with writing(reporter):
            assert time.monotonic() - began >= 0.3


def test_operator_goes_first_while_waiting(reporter: Engine, operator: Engine, file: Path) -> None:
    turns = turns_of(str(file))

    def write() -> bool:
        with writing(operator):
            return is_another_first(turns)

    with ThreadPoolExecutor(1) as pool:
        with writing(reporter):
            assert not is_another_first(turns)
            written = pool.submit(write)
            until = time.monotonic() + 10
            while not is_another_first(turns):
                assert time.monotonic() < until
                time.sleep(0.01)
        assert not written.result(), "a writer that has its turn does not wait any more"


def test_unopenable_file_stops_nobody(reporter: Engine, file: Path) -> None:
    turns = turns_of(str(file))
    assert turns is not None
    turns.mkdir()
    with going_first(turns):
        assert not is_another_first(turns)
        with writing(reporter):
            pass


def test_database_in_memory_has_no_turns() -> None:
    assert [turns_of(name) for name in (None, "", ":memory:", "file:x?mode=memory")] == [None] * 4
