"""Search by a transfer id, a transaction hash or an account, in any spelling."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.admin.pages.components import TransferLine, transfer_line
from app.admin.pages.transfers import TransferFilters, list_transfers
from app.domain.crypto import checksum_address
from app.models.engine import reading
from app.queries.transfers.listing import ListedTransfer
from app.queries.transfers.lookup import transfers_of_hash, transfers_with_ids
from app.runtime.gateway import Gateway

MOST_FOUND: Final = 50
LONGEST: Final = 128

_HEX: Final = re.compile(r"(?:0[xX])?([0-9a-fA-F]+)", re.ASCII)
_WORD: Final = re.compile(r"[0-9A-Za-z_-]{1,128}", re.ASCII)
_HASH_DIGITS: Final = 64
_ADDRESS_DIGITS: Final = 40


class Found(StrEnum):
    """What the text was found to be."""

    TRANSFER = "transfer"
    TRANSACTION = "transaction"
    ACCOUNT = "account"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What was found.

    ``account`` is the account as the feed keeps it, where one was found: the filter of its whole list,
    which ``next_page`` continues. ``message`` says what was found, or what the text could be and what
    to try.
    """

    text: str
    kind: Found
    transfers: tuple[TransferLine, ...]
    message: str
    account: str | None = None
    next_page: str | None = None


def search(gateway: Gateway, text: str) -> SearchResult:
    """Find transfers by a text that an operator was sent.

    White space is removed. Hex may have 0x or not, in any letter case.

    :raises Unavailable: the configuration cannot be read.
    """
    wanted = "".join(text.split())
    if not wanted:
        return _nothing(text, "Enter a transfer id, a transaction hash or an address.")
    if len(wanted) > LONGEST or "\0" in wanted:
        return _nothing(
            wanted[:LONGEST], "This is no id, hash or address: none has more than 128 characters."
        )
    match = _HEX.fullmatch(wanted)
    digits = match[1].lower() if match else ""
    if len(digits) == _HASH_DIGITS:
        return _by_32_bytes(gateway, wanted, digits)
    if len(digits) == _ADDRESS_DIGITS:
        account = checksum_address(bytes.fromhex(digits))
        return (
            _by_account(gateway, wanted, account)
            or _by_account(gateway, wanted, wanted)
            or _nothing(wanted, _NO_TRANSFER_OF.format(account))
        )
    return _by_foreign_text(gateway, wanted) or _nothing(wanted, _advice(wanted, digits))


def _by_32_bytes(gateway: Gateway, text: str, digits: str) -> SearchResult:
    """Ids and transaction hashes look alike: both are tried."""
    with reading(gateway.reads) as connection:
        of_id = transfers_with_ids(connection, [bytes.fromhex(digits)])
        of_hash = transfers_of_hash(connection, f"0x{digits}", MOST_FOUND)
    if of_id:
        also = f" It is also a transaction of {_counted(len(of_hash))}." if of_hash else ""
        return _result(gateway, text, Found.TRANSFER, [*of_id, *of_hash], f"This is a transfer's id.{also}")
    if of_hash:
        return _of_transaction(gateway, text, of_hash)
    return _nothing(
        text,
        "No transfer has this id, and none names it as a transaction. If a user sent it: the transaction may "
        "not be reported yet (the dashboard says how fresh each chain is), may be on a chain that is not "
        "served, or may be no send of this bridge. The hash of a block, and the ids that contracts log for "
        "payouts and withdrawals, are not searched: try the transaction's hash, or the sender's address.",
    )


def _by_account(gateway: Gateway, text: str, account: str) -> SearchResult | None:
    page = list_transfers(gateway, TransferFilters(account=account), size=MOST_FOUND)
    if not page.transfers:
        return None
    more = "The last changed of many" if page.next_page else _counted(len(page.transfers)).capitalize()
    message = f"This is an account. {more}, sent or received by it."
    return SearchResult(text, Found.ACCOUNT, page.transfers, message, account, page.next_page)


def _by_foreign_text(gateway: Gateway, text: str) -> SearchResult | None:
    """Hashes and accounts of chains that are no EVM, compared letter by letter."""
    if _WORD.fullmatch(text):
        with reading(gateway.reads) as connection:
            rows = transfers_of_hash(connection, text, MOST_FOUND)
        if rows:
            return _of_transaction(gateway, text, rows)
    return _by_account(gateway, text, text)


def _of_transaction(gateway: Gateway, text: str, rows: Sequence[ListedTransfer]) -> SearchResult:
    what = "This is a transaction of "
    return _result(gateway, text, Found.TRANSACTION, rows, f"{what}{_counted(len(rows))}.")


def _result(
    gateway: Gateway, text: str, kind: Found, rows: Sequence[ListedTransfer], message: str
) -> SearchResult:
    terms = gateway.snapshots.current().terms
    once = {row.transfer_id: row for row in rows}
    return SearchResult(text, kind, tuple(transfer_line(terms, row) for row in once.values()), message)


def _nothing(text: str, message: str) -> SearchResult:
    return SearchResult(text, Found.NOTHING, (), message)


def _counted(count: int) -> str:
    return "one transfer" if count == 1 else f"{count} transfers"


_NO_TRANSFER_OF: Final = (
    "This is an address, but no transfer from or to {} is known. If the user has just sent: the transaction "
    "may not be reported yet (the dashboard says how fresh each chain is). Ask for the transaction's hash."
)


def _advice(text: str, digits: str) -> str:
    if digits:
        return (
            f"This looks like hex, but has {len(digits)} digits: a transfer id and a transaction hash have "
            "64, an address 40. Part of it may be missing; paste it whole."
        )
    if _WORD.fullmatch(text):
        return (
            "No transfer names this as a transaction, a sender or a receiver. Hashes and accounts of chains "
            "that are no EVM are compared letter by letter: check upper and lower case, and paste it whole."
        )
    return (
        "No transfer names this. Paste a transfer id or a transaction hash (64 hex digits) or an address "
        "(40 hex digits, or another chain's own form), without anything around it."
    )
