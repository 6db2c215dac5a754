"""After a restore the watcher reads on from its restored cursor, and the sender sends with the same ids."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import func, select

from app.cli.database import back_up
from app.db.database import Database
from app.db.engine import reading
from app.http.application import part_of
from app.transfers.models import Event
from app.webhooks.services.delivering import CLAIM, take
from tests.applications import application, audited_of
from tests.builders.clock import MovableClock
from tests.contract.recorded_answers import ROOT
from tests.feed.services.world import NOW, feed, sent, write_network
from tests.watcher.kit import Watched, answers, row, send
from tests.webhooks.services.hooks import Plenty, to_everything


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gateway.db"


@contextmanager
def opened(file: Path, clock: MovableClock) -> Iterator[Flask]:
    """The gateway on the file, in a process that knows nothing of another one."""
    with application(f"sqlite:///{file}", clock, max_reorg_blocks=50) as app:
        if not file.exists():
            upgrade(directory=str(ROOT / "migrations"))
            write_network(part_of(app, Database).engine)
        yield app


def restored(file: Path, backup: Path) -> None:
    """Lose the database, and put its backup there."""
    for lost in file.parent.glob(f"{file.name}*"):
        lost.unlink()
    shutil.copy(backup, file)


def events(database: Database) -> list[str]:
    with reading(database.engine) as connection:
        return list(connection.scalars(select(Event.event_id).order_by(Event.event_id)))


@pytest.mark.parametrize("reorganised", [False, True])
def test_watcher_continues_from_backup_end(file: Path, reorganised: bool) -> None:
    backup, clock = file.with_name("backup"), MovableClock(NOW)
    with opened(file, clock) as app:
        watched = Watched(app)
        chain = watched.chain
        for number in range(1, 6):
            chain.mine(send(number))
        watched.settle(watched.reader())
        back_up(watched.database.engine.url, backup)
        at_backup = row(watched.database).live_to
        for number in range(6, 12):
            chain.mine(send(number))
        chain.mine_many(4)
        watched.settle(watched.reader())
        before, reported = answers(watched.database), events(watched.database)
        read_to = row(watched.database).live_to
    restored(file, backup)
    with opened(file, clock) as app:
        again = Watched(app, chain)
        assert answers(again.database) != before
        assert row(again.database).live_to == at_backup < read_to
        if reorganised:
            chain.reorg(2)
            chain.mine_many(3)
        again.takes = watched.takes
        again.settle(again.reader())
        assert answers(again.database) == before
        if not reorganised:
            assert events(again.database) == reported
        with reading(again.database.engine) as connection:
            doubles = select(Event.event_id).group_by(Event.event_id, Event.type).having(func.count() > 1)
            assert connection.scalars(doubles).all() == []


def test_restored_webhook_delivery_retains_message_id(file: Path) -> None:
    backup, clock = file.with_name("backup"), MovableClock(NOW)
    with opened(file, clock) as app:
        to_everything(app)
        feed(app, sent(1), sent(2))
        back_up(part_of(app, Database).engine.url, backup)
        first = {(due.message_id, due.body, due.secrets) for due in take(*audited_of(app), Plenty())}
        assert len(first) == 2
    restored(file, backup)
    clock.forward(CLAIM)
    with opened(file, clock) as app:
        again = {(due.message_id, due.body, due.secrets) for due in take(*audited_of(app), Plenty())}
        assert again == first, "a receiver knows them, and the signature is of the same secret"
