"""What is looked up for many events at once stays within what a statement can hold."""

from flask import Flask

from app.db.database import Database
from app.db.engine import writing
from app.transfers.queries.logged import retracted_keys
from app.transfers.rules.events.keys import EventKey
from tests.feed.services.world import feed, sent


def test_more_ids_than_statement_parameters(app: Flask, database: Database) -> None:
    """A chain reports a fee a minute: 70,000 of them are seven weeks of one route."""
    feed(app, sent(1))
    with writing(database.engine) as connection:
        keys = (EventKey("route:1:2:USDT", f"fee {n}") for n in range(70_000))
        assert retracted_keys(connection, keys) == {}
