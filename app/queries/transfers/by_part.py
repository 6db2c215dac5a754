"""Which transfers have an id, and which accounts are there, that begin and end with some digits?

Every answer is found by an index, and a bounded number of rows is looked at (decision 29).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import ColumnElement, Connection, LargeBinary, func, literal, literal_column, select

from app.models.transfers import ID_END, ID_END_BYTES, Transfer, TransferAccount

LOOKED_AT: Final = 5_000
"""Ids of an index range that are compared with the rest of the digits."""

ACCOUNTS_LOOKED_AT: Final = 100
"""Accounts, each found by a step along the index."""

_BYTES: Final = 32
_END_DIGITS: Final = 2 * ID_END_BYTES


def ids_with_part(connection: Connection, start: str, end: str, size: int) -> Sequence[bytes]:
    """The ids that begin and end so, at most ``size``, in their order.

    :param start: lower-case hex digits, as ``end``; one of them has at least four.
    """
    if len(end) >= _END_DIGITS:
        ends = literal(bytes.fromhex(end[-_END_DIGITS:]), LargeBinary)
        within: ColumnElement[bool] = literal_column(ID_END, LargeBinary) == ends
    else:
        within = Transfer.transfer_id.between(_bound(start, "0"), _bound(start, "f"))
    looked_at = select(Transfer.transfer_id).where(within).limit(LOOKED_AT)
    matching = [
        each
        for each in connection.scalars(looked_at)
        if each.hex().startswith(start) and each.hex().endswith(end)
    ]
    return sorted(matching)[:size]


def accounts_with_part(connection: Connection, start: str, end: str, size: int) -> list[str]:
    """The EVM accounts that sent or received transfers and begin and end so, as ``account_key`` has them.

    :param start: lower-case hex digits, at least four.
    """
    account = TransferAccount.account
    # No digit of hex sorts after g, in any order of letters that a database may use.
    last, beyond = f"0x{start}", f"0x{start}g"
    found: list[str] = []
    for _ in range(ACCOUNTS_LOOKED_AT):
        following = connection.scalar(select(func.min(account)).where(account > last, account < beyond))
        if following is None or len(found) == size:
            break
        last = following
        if following.startswith(f"0x{start}") and following.endswith(end):
            found.append(following)
    return found


def _bound(start: str, digit: str) -> bytes:
    return bytes.fromhex(start.ljust(2 * _BYTES, digit))
