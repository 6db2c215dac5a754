"""What a gateway has stored of what it acknowledged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from flask import Flask
from sqlalchemy import func, select

from app.db.database import Database
from app.db.engine import reading
from app.http.application import current, part_of
from app.transfers.models import Event
from tests.applications import application
from tests.faults.reporters import Events, Reporter
from tests.feed.services.world import NOW, released, sent, transfer_id, write_network


@contextmanager
def gateway_on(url: str) -> Iterator[Flask]:
    """The application on a database, with the small network, at the time of the story."""
    with application(url, lambda: NOW) as app:
        write_network(part_of(app, Database).engine)
        yield app


def assert_acknowledged_is_stored_once(reported: Events, reporters: list[Reporter]) -> None:
    """Every event was answered, is in the log, once, and the log has no gap but of heads.

    Heads that no reorganisation reaches leave the log, or do not get into it
    (docs/interface/events.md#standing).
    """
    assert not [line for reporter in reporters for line in reporter.refused]
    acknowledged = {name for reporter in reporters for name in reporter.acknowledged}
    assert acknowledged == {event["id"] for event in reported}
    with reading(current(Database).engine) as connection:
        stored = connection.scalars(select(Event.event_id)).all()
        last = connection.scalar(select(func.max(Event.seq))) or 0
    known = set(stored)
    gone = Counter(event["type"] for event in reported if event["id"] not in known)
    assert set(gone) <= {"chain.head"}, gone
    assert len(stored) == len(known) == len(reported) - gone.total()
    assert len(stored) <= last <= len(reported)
    assert sum(reporter.accepted for reporter in reporters) <= len(reported)


def lives(first: int, count: int, at: float) -> Events:
    """Transfers that were sent and released."""
    return [
        reported
        for n in range(first, first + count)
        for reported in (
            sent(n, at=at + n / 100, block=n, src_tx_hash=transfer_id(n)),
            released(n, at=at + 60 + n / 100, block=n),
        )
    ]
