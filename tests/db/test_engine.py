"""The one writer, whatever the database's own defaults are."""

from __future__ import annotations

import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine, delete, func, insert, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from app.db.engine import READER_OPTIONS, prepare, reading, writing
from app.db.sqlite import CREATES
from app.db.timeouts import CONSOLE
from app.transfers.models import ChainProgress
from tests.feed.services.world import NOW


def test_waiting_writer_sees_earlier_write(database_url: str) -> None:
    """Also where transactions see the database as of their first statement, which is the waiting."""
    url = make_url(database_url)
    if url.get_backend_name() == "postgresql":
        url = url.update_query_dict({"options": "-c default_transaction_isolation=serializable"})
    engine = create_engine(url)
    prepare(engine, CONSOLE)
    waiting, seen = threading.Event(), []

    def wait_and_count() -> None:
        waiting.set()
        with writing(engine) as connection:
            seen.append(connection.scalar(select(func.count()).select_from(ChainProgress)))

    waiter = threading.Thread(target=wait_and_count)
    with writing(engine) as connection:
        waiter.start()
        waiting.wait()
        waiter.join(0.3)
        connection.execute(insert(ChainProgress).values(chain_id=1, newest_at=NOW))
    waiter.join()
    engine.dispose()
    assert seen == [1]


def test_others_cannot_read_embedded_database(tmp_path: Path) -> None:
    file = tmp_path / "instance" / "gateway.db"
    _write_a_row(file)
    assert {stat.S_IMODE(each.stat().st_mode) for each in file.parent.iterdir()} == {0o600}

    file.chmod(0o644)  # as it was made before; the group's right may be meant, for backups
    _write_a_row(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("name", "why"), [("x/gateway.db", "the file does not exist"), ("", "it is a folder")]
)
def test_missing_database_is_not_created(tmp_path: Path, name: str, why: str) -> None:
    engine = create_engine(f"sqlite:///{tmp_path / name}")
    prepare(engine, CONSOLE)
    with pytest.raises(OperationalError, match=why):
        engine.connect()
    assert [*tmp_path.iterdir()] == []


def _write_a_row(file: Path) -> None:
    engine = create_engine(f"sqlite:///{file}", execution_options={CREATES: True})
    prepare(engine, CONSOLE)
    with writing(engine) as connection:
        connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS one (number INTEGER)")
    with reading(engine) as connection:
        connection.exec_driver_sql("SELECT * FROM one")
        assert file.with_name("gateway.db-wal").exists()
        modes = {stat.S_IMODE(each.stat().st_mode) for each in file.parent.iterdir()}
        assert not {mode for mode in modes if mode & stat.S_IRWXO}
    engine.dispose()


def test_year_1_is_read_west_of_utc(database_url: str) -> None:
    """In a session of New York they would be in the year 1 BC, which Python has no time for."""
    url = make_url(database_url)
    if url.get_backend_name() == "postgresql":
        url = url.update_query_dict({"options": "-c timezone=America/New_York"})
    first = datetime(1, 1, 1, tzinfo=UTC) + timedelta(microseconds=1)
    for options in ({}, READER_OPTIONS):
        engine = create_engine(url, **options)
        prepare(engine, CONSOLE)
        with writing(engine) as connection:
            connection.execute(delete(ChainProgress))
            connection.execute(insert(ChainProgress).values(chain_id=1, newest_at=first))
        with reading(engine) as connection:
            assert connection.scalar(select(ChainProgress.newest_at)) == first
        engine.dispose()
