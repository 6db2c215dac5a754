"""What is known is loaded once: the statements of a batch do not grow with its events."""

from __future__ import annotations

from typing import Any

from flask import Flask

from app.db.database import Database
from app.db.engine import writing
from app.transfers.queries.logged import retracted_keys
from app.transfers.rules.events.keys import EventKey
from tests.feed.services.world import about, event, feed, released, sent
from tests.steps import statements


def transfers(first: int, count: int) -> list[dict[str, Any]]:
    return [
        e for n in range(first, first + count) for e in (sent(n), about(n, "transfer.confirmed"), released(n))
    ]


def test_large_batch_takes_as_many_statements(app: Flask, database: Database) -> None:
    feed(app, *transfers(1, 1))
    with statements(database.feed) as of_one:
        assert feed(app, *transfers(2, 1)).accepted == 3
    with statements(database.feed) as of_many:
        assert feed(app, *transfers(3, 40)).accepted == 120
    assert 0 < len(of_many) == len(of_one) <= 27


def test_batch_reads_only_what_it_needs(app: Flask, database: Database) -> None:
    """The configuration and histories are for transfers; what is pruned, where anything was."""
    feed(app, event("chain.head", chain_id=1, block=1))
    with statements(database.feed) as executed:
        assert feed(app, event("chain.head", chain_id=1, block=2)).accepted == 1
    read = " ".join(executed)
    assert not any(table in read for table in ("tokens", "transfer_blocks", "pruned_events", "fed_fees"))
    assert 0 < len(executed) <= 10


def test_more_ids_than_statement_parameters(app: Flask, database: Database) -> None:
    """A chain reports a fee a minute: 70,000 of them are seven weeks of one route."""
    feed(app, sent(1))
    with writing(database.engine) as connection:
        keys = (EventKey("route:1:2:USDT", f"fee {n}") for n in range(70_000))
        assert retracted_keys(connection, keys) == {}
