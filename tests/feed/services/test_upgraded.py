"""What is projected after an upgrade, once what older code did not know is filled in."""

from __future__ import annotations

import pytest
from flask import Flask
from flask_migrate import downgrade, upgrade

from app.feed.services.backfills import known_backfills, run_backfill
from tests.feed.services.whole import differing, full, stored
from tests.feed.services.world import NOW, write_network
from tests.gateway import current_gateway


@pytest.mark.soak("a schema that goes down and up; only migrations change it")
def test_it_follows_from_the_log_however_often_that_is_done(own_database: Flask) -> None:
    """An upgrade that was taken back is made again: what was filled in then is not there any more."""
    gateway = current_gateway().but(clock=lambda: NOW)
    write_network(gateway.engine)
    full(gateway)
    before = stored(gateway)
    for _ in range(2):
        downgrade(directory="migrations", revision="0040")
        upgrade(directory="migrations")
        assert differing(gateway) != []
        for backfill in known_backfills():
            run_backfill(gateway.database, backfill, rows=3, pause_seconds=0)
        assert differing(gateway) == []
        assert stored(gateway) == before
