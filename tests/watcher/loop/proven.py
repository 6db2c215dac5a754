"""Which blocks are proven, and the transfers in them."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from sqlalchemy import select

from app.db.engine import reading
from app.watcher.loop.reader import Reader
from app.watcher.models import WatchDoubt
from app.watcher.queries import faulty_urls
from tests.feed.services.world import NOW, feed, sent
from tests.watcher.fake_chain import START, FakeChain, FakeLog
from tests.watcher.kit import CHAIN, OTHER, Watched, send, sent_id

BLOCKS = 40


def mine(watched: Watched, count: int = BLOCKS) -> None:
    """Blocks with a send each, whose number is that of the block."""
    for _ in range(count):
        watched.chain.mine(send(watched.chain.head.number + 1))


def unmatched(watched: Watched) -> list[int]:
    """The stored blocks; their number is that of the row."""
    with reading(watched.database.engine) as connection:
        is_open = WatchDoubt.agreed.is_not(True)
        found: list[int] = list(
            connection.scalars(select(WatchDoubt.block).where(is_open).order_by(WatchDoubt.block))
        )
    assert watched.row.unmatched == len(found)
    return found


def level(watched: Watched, number: int) -> str:
    """How sure the status of a send is."""
    key = f"0x{sent_id(number).hex()}"
    (found,) = watched.client.get("/v2/getTransfer", query_string={"key": key}).get_json()["transfers"]
    return str(found["certainty"]["level"])


def expect(watched: Watched, left: Collection[int], to: int | None = None) -> None:
    """All final blocks are proven but these, and so are the transfers in them."""
    to = watched.chain.head.number - 6 if to is None else to
    assert unmatched(watched) == sorted(left), unmatched(watched)
    assert watched.row.proven_to == to, watched.row.proven_to
    after = {number + 1 for number in left if number < to}
    for number in sorted({1, to, *left, *after}):
        assert level(watched, number) == ("reported" if number in left else "proven"), number


def again(watched: Watched, reader: Reader) -> None:
    """An hour later."""
    watched.time.go(3601)
    watched.settle(reader)


def payouts_of(watched: Watched, *numbers: int) -> None:
    """Transfers from the other chain, which are paid on the chain that is watched."""
    at = (datetime.fromtimestamp(START, UTC) - NOW).total_seconds()
    for number in numbers:
        feed(watched.app, sent(number, at, src_chain_id=OTHER, dst_chain_id=CHAIN, amount=str(990 * 10**12)))


def ahead(chain: FakeChain, blocks: int, log: FakeLog, at: int = 1) -> FakeChain:
    """The chain with made-up blocks on top, one of which has a log."""
    false = FakeChain(CHAIN, 0, list(chain.blocks), branches=99)
    for number in range(1, blocks + 1):
        false.mine(*([log] if number == at else ()))
    return false


def false_answers(watched: Watched) -> list[str]:
    """The URLs that were named as faulty."""
    with reading(watched.database.engine) as connection:
        return [found.source for found in faulty_urls(connection, CHAIN)]
