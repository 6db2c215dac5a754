"""Which blocks are proven, and the transfers in them."""

from __future__ import annotations

from collections.abc import Collection

from flask.testing import FlaskClient
from sqlalchemy import select

from app.db.engine import reading
from app.watcher.loop.reader import Reader
from app.watcher.models import WatchUnmatched
from tests.gateway import Gateway
from tests.watcher.kit import Watched, row, send, sent_id

BLOCKS = 60


def mine(watched: Watched, count: int = BLOCKS) -> None:
    """Blocks with a send each, whose number is that of the block."""
    for _ in range(count):
        watched.chain.mine(send(watched.chain.head.number + 1))


def unmatched(gateway: Gateway) -> list[int]:
    """The stored blocks; their number is that of the row."""
    with reading(gateway.engine) as connection:
        found = list(connection.scalars(select(WatchUnmatched.block).order_by(WatchUnmatched.block)))
    assert row(gateway).unmatched == len(found)
    return found


def level(client: FlaskClient, number: int) -> str:
    """How sure the status of a send is."""
    key = f"0x{sent_id(number).hex()}"
    (found,) = client.get("/v2/getTransfer", query_string={"key": key}).get_json()["transfers"]
    return str(found["certainty"]["level"])


def expect(
    gateway: Gateway, watched: Watched, client: FlaskClient, left: Collection[int], to: int | None = None
) -> None:
    """All final blocks are proven but these, and so are the transfers in them."""
    to = watched.chain.head.number - 6 if to is None else to
    assert unmatched(gateway) == sorted(left)
    assert row(gateway).proven_to == to
    for number in range(1, to + 1):
        assert level(client, number) == ("reported" if number in left else "proven"), number


def again(watched: Watched, reader: Reader) -> None:
    """An hour later."""
    watched.time.go(3601)
    watched.settle(reader)
