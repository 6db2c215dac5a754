"""Events about what is not configured yet are stored, and count when it becomes known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import delete, select

from app.db.database import Database
from app.db.engine import reading, writing
from app.estimates.models import PoolCounter
from app.feed.verifying.run import verify
from app.network.document import export_network, import_network
from app.network.models import Chain, OpeningValidator, PeggedPair, Token
from app.values.codes import TransferHistoryStatus as Status
from tests.actors import TESTER
from tests.applications import Editing
from tests.feed.services.world import (
    KEYS,
    event,
    feed,
    prepared,
    released,
    request,
    sent,
    signature,
    signed,
)


def without_network(database: Database) -> bytes:
    """Take the configuration away, as if the feed came first; returns it as a document."""
    document = export_network(database)
    with writing(database.engine) as connection:
        for model in (PeggedPair, OpeningValidator, Token, Chain):
            connection.execute(delete(model))
    return document


def test_refund_counts_once_network_is_known(
    app: Flask, database: Database, editing: Editing, status: Callable[[int], Any]
) -> None:
    document = without_network(database)
    wd = request(1)
    feed(app, sent(1), prepared(1, wd), *(signed(1, signature(wd, key)) for key in KEYS[:2]))
    assert status(1).status == Status.TRANSFER_REQUESTING_REFUND
    import_network(*editing, document, actor=TESTER)
    assert status(1).status == Status.TRANSFER_REFUND_TO_BE_CONFIRMED


def test_release_counts_once_decimals_are_known(
    app: Flask, database: Database, editing: Editing, status: Callable[[int], Any]
) -> None:
    """A release that has no amount."""
    document = without_network(database)
    feed(app, sent(1), released(1))
    assert status(1).relayed_amount is None
    import_network(*editing, document, actor=TESTER)
    assert status(1).relayed_amount == 10**21
    with reading(database.engine) as connection:
        assert connection.scalar(select(PoolCounter.relayed).where(PoolCounter.chain_id == 2)) == 10**21


@pytest.mark.every_database
def test_liquidity_counts_once_its_symbol_is_known(app: Flask, database: Database, editing: Editing) -> None:
    """Its symbol is written as the configuration writes it, in any letter case."""
    document = without_network(database)
    added = event("liquidity.added", chain_id=2, symbol="usdt", amount="70", block=5)
    feed(app, added, event("liquidity.withdrawn", chain_id=2, symbol="Usdt", amount="3", block=6))
    assert liquidity(database) == {"usdt": (70, 0), "Usdt": (0, 3)}
    import_network(*editing, document, actor=TESTER)
    assert liquidity(database) == {"USDT": (70, 3)}
    verify(database, lambda found: pytest.fail(str(found)))


def liquidity(database: Database) -> dict[str, tuple[int, int]]:
    """What was added and withdrawn on chain 2, by symbol, where there is any."""
    counter = PoolCounter
    with reading(database.engine) as connection:
        rows = connection.execute(
            select(counter.symbol, counter.added, counter.withdrawn).where(counter.chain_id == 2)
        )
        return {row.symbol: (row.added, row.withdrawn) for row in rows if row.added or row.withdrawn}


def test_new_opening_validators_validate_refunds_again(
    app: Flask, database: Database, editing: Editing, status: Callable[[int], Any]
) -> None:
    wd = request(1)
    feed(app, sent(1), prepared(1, wd), *(signed(1, signature(wd, key)) for key in KEYS[:2]))
    assert status(1).status == Status.TRANSFER_REFUND_TO_BE_CONFIRMED
    document = export_network(database).replace(b'"power": "10"', b'"power": "1000"')
    import_network(*editing, document, actor=TESTER)
    assert status(1).status == Status.TRANSFER_REQUESTING_REFUND
