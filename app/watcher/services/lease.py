"""Which watcher reads a chain: one at a time, by a row with an epoch
(docs/decisions/0023-a-lease-with-an-epoch.md).
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, update
from sqlalchemy.engine import Row

from app.db.database import Database
from app.db.engine import counting, run_read
from app.db.upserts import lock_or_insert, upsert
from app.values.identifiers import ChainId
from app.watcher.models import ACTOR_LENGTH, OWNER_LENGTH, ChainWatch, FaultyUrl
from app.watcher.queries import may_be_taken

MAX_REASON: Final = 1000
"""Characters that are stored of why a chain stopped or what failed."""

_CLOCKS_DIFFER: Final = 2
"""A lease may seem to last so many times its length: the holder's clock may be a little ahead."""


class Lease(Struct, frozen=True):
    """The right to read a chain and to write what was read, until another watcher has a higher epoch."""

    chain_id: ChainId
    owner: str
    epoch: int


class LeaseLost(Exception):
    """Another watcher reads the chain now, or it was stopped. Nothing was written."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(f"the lease of chain {lease.chain_id} is lost: nothing more is written")
        self.lease = lease


def take(database: Database, chain_id: ChainId, owner: str, seconds: float) -> Lease | None:
    """Take the lease of a chain that is free, or whose holder did not renew it in time.

    While it is held this only reads, so any number of standbys may call it every second. A lease that ends
    later than any should was taken by a clock that was ahead and has been corrected: it is free. A holder
    that lives has renewed it by the correct clock. If not, its old epoch prevents it from writing.

    :param owner: unique among all running watchers, and shown to operators.
    :param seconds: for how long it is held unless :func:`renew` is called.
    :returns: None while another watcher holds it, or while the chain is stopped.
    """
    now = database.clock()
    latest = now + _CLOCKS_DIFFER * timedelta(seconds=seconds)
    if not run_read(database.reads, may_be_taken, chain_id, now, latest):
        return None
    with counting(database.feed) as connection:
        (row,) = lock_or_insert(connection, ChainWatch, [{"chain_id": chain_id, "epoch": 0}])
        held = row.owner is not None and row.until is not None and now < row.until <= latest
        if row.stopped is not None or held:
            return None
        lease = Lease(chain_id, owner[:OWNER_LENGTH], row.epoch + 1)
        connection.execute(
            update(ChainWatch)
            .where(ChainWatch.chain_id == chain_id)
            .values(owner=lease.owner, epoch=lease.epoch, until=now + timedelta(seconds=seconds))
        )
    return lease


def renew(database: Database, lease: Lease, seconds: float) -> None:
    """Hold the lease for so many seconds from now.

    :raises LeaseLost: another watcher has it, or the chain was stopped.
    """
    with counting(database.feed) as connection:
        write_under(connection, lease, until=database.clock() + timedelta(seconds=seconds))


def give(database: Database, lease: Lease) -> None:
    """Release the lease, so that a standby may take it at once. Does nothing for a lost lease."""
    with suppress(LeaseLost), counting(database.feed) as connection:
        write_under(connection, lease, owner=None, until=None)


def note_fault(
    database: Database, lease: Lease, text: str, source: str = "", *, is_false: bool = False
) -> None:
    """Store the last fault, for operators.

    :param text: in words, without the URL of any node.
    :param source: the name of the variable of the URL that it is about.
    :param is_false: the URL returned what cannot be true. That is stored with the URL, too.
    :raises LeaseLost: another watcher reads the chain.
    """
    with counting(database.feed) as connection:
        at, words = database.clock(), text[:MAX_REASON]
        write_under(connection, lease, fault=words, fault_source=source, fault_at=at)
        if is_false:
            row = {"chain_id": lease.chain_id, "source": source, "at": at, "words": words}
            upsert(connection, FaultyUrl, [row])


def halt(database: Database, lease: Lease, reason: str) -> None:
    """Stop a chain that must not be read further until an operator has looked at it. The lease ends.

    :raises LeaseLost: another watcher reads the chain, or it was stopped already.
    """
    with counting(database.feed) as connection:
        now = database.clock()
        values = stopped(lease.epoch, reason, now, by=None)
        write_under(connection, lease, fault=reason[:MAX_REASON], fault_at=now, **values)


def stopped(epoch: int, reason: str, now: Any, *, by: str | None) -> dict[str, Any]:
    """The columns of a chain's row that stop its reading.

    :param epoch: the current one. It grows, so that a watcher that reads the chain writes nothing more.
    :param by: the operator; None where the watcher itself stopped.
    """
    return {
        "stopped": reason[:MAX_REASON],
        "stopped_at": now,
        "stopped_by": None if by is None else by[:ACTOR_LENGTH],
        "epoch": epoch + 1,
        "owner": None,
        "until": None,
    }


def write_under(connection: Connection, lease: Lease, **values: Any) -> Row[*tuple[Any, ...]]:
    """Write columns of the chain's row and return the whole row. It stays locked in this transaction.

    :raises LeaseLost: the row has another epoch. The caller's transaction must then not commit.
    """
    row = connection.execute(
        update(ChainWatch)
        .where(ChainWatch.chain_id == lease.chain_id, ChainWatch.epoch == lease.epoch)
        .values(**values)
        .returning(*ChainWatch.__table__.c)
    ).one_or_none()
    if row is None:
        raise LeaseLost(lease)
    return row
