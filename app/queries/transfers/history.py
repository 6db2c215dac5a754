"""Which transfers did some accounts send or receive? A page at a time, at the cost of what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from sqlalchemy import (
    BigInteger,
    Connection,
    Integer,
    bindparam,
    case,
    func,
    literal_column,
    select,
    union,
)

from app.models.connections.direct import DirectSelect
from app.models.transfers import Transfer, TransferAccount
from app.queries.transfers.entries import ENTRY_COLUMNS, TransferEntry

_EVER: Final = -(2**62)
"""Before every time, in milliseconds."""


def transfers_of_accounts(
    connection: Connection, accounts: Sequence[str], before_ms: int, size: int
) -> list[TransferEntry]:
    """The last ``size`` transfers that began before a time, newest first, and all of the last's millisecond.

    So the next page begins at a whole millisecond: none is in both, and none is left out. All from before
    1970, which only logs of earlier releases have, count as its first millisecond, for no page begins before.

    :param accounts: distinct ``account_key`` values.
    :param before_ms: milliseconds since 1970, excluded.
    :param size: more than 0.
    """
    values = {f"account_{n}": account for n, account in enumerate(accounts)}
    entries = _page(len(accounts)).all(connection, values | {"before_ms": before_ms, "size": size})
    if len(accounts) == 1:
        return entries
    return list({entry.transfer_id: entry for entry in entries}.values())


@cache
def _page(accounts: int) -> DirectSelect[TransferEntry]:
    """The select for so many accounts.

    Each account's list is walked from its newest end, at most ``size`` rows deep. The oldest of the newest
    ``size`` among all of them is where the page ends.
    """
    listed = TransferAccount
    size = bindparam("size", type_=Integer)
    below = listed.began_ms < bindparam("before_ms", type_=BigInteger)
    names = [bindparam(f"account_{n}", type_=listed.account.type) for n in range(accounts)]
    walks = [
        select(listed.began_ms, listed.transfer_id)
        .where(listed.account == name, below)
        .order_by(listed.began_ms.desc())
        .limit(size)
        .subquery()
        for name in names
    ]
    merged = union(*(select(walk) for walk in walks)).subquery() if accounts > 1 else walks[0]
    newest = select(merged.c.began_ms).order_by(merged.c.began_ms.desc()).limit(size).subquery()
    oldest = func.min(newest.c.began_ms)
    page_end = select(
        case((oldest > literal_column("0"), oldest), else_=literal_column(str(_EVER)))
    ).scalar_subquery()
    page = (
        select(*ENTRY_COLUMNS)
        .join_from(listed, Transfer, listed.transfer_id == Transfer.transfer_id)
        .where(listed.account.in_(names) if accounts > 1 else listed.account == names[0])
        .where(below, listed.began_ms >= page_end)
        .order_by(listed.began_ms.desc(), listed.transfer_id.desc())
    )
    return DirectSelect(page, TransferEntry.of)
