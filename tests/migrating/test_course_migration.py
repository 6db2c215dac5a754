"""What became of transfers from before it was counted is counted as the feed counts it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from alembic.script import ScriptDirectory
from flask import Flask
from flask_migrate import downgrade, upgrade
from sqlalchemy import select

from app import create_app
from app.db.engine import reading, writing
from app.transfers.models import TrendCount
from tests.applications import close_connections, make_settings
from tests.feed.services.world import NOW, about, build_network, event, feed, released, sent
from tests.gateway import current_gateway

DIRECTORY = "migrations"
BEFORE = str(ScriptDirectory(DIRECTORY).get_revision("0029").down_revision)
DAY = 86_400


@pytest.fixture
def fed(empty_url: str) -> Iterator[Flask]:
    """An application whose transfers began on several days and ended in several ways."""
    application = create_app(make_settings(empty_url))
    with application.app_context():
        upgrade(directory=DIRECTORY)
        gateway = current_gateway().but(clock=lambda: NOW)
        with writing(gateway.engine) as connection:
            build_network(connection)
        feed(
            gateway,
            *(each for n in range(1, 6) for each in (sent(n, at=-n * DAY), released(n, at=60 - n * DAY))),
            sent(6, amount=str(2**200)),
            sent(7),
            about(7, "refund.requested"),
            about(8, "transfer.failed"),
            sent(9, block=900),
            event("chain.reorged", chain_id=1, from_block=900),
        )
        yield application
        close_connections()


def counted() -> list[tuple[object, ...]]:
    with reading(current_gateway().engine) as connection:
        return sorted(tuple(row) for row in connection.execute(select(TrendCount.__table__)))


@pytest.mark.soak("a schema that goes down and up; only migrations change it")
def test_they_are_counted_as_the_feed_counts_them(fed: Flask) -> None:
    before = counted()
    assert len(before) >= 12
    downgrade(directory=DIRECTORY, revision=BEFORE)
    upgrade(directory=DIRECTORY)
    assert counted() == before
