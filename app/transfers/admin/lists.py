"""Lists of transfers by status, chains, token, account and time, and the filters in their addresses."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from msgspec import Struct, field
from sqlalchemy import Connection, Row
from werkzeug.datastructures import MultiDict

from app.db.database import Database
from app.db.engine import reading
from app.network.snapshot import SnapshotSource
from app.network.terms import NetworkTerms
from app.transfers.admin.components import TransferLine, transfer_line
from app.transfers.admin.labels import STATUS_WORDS
from app.transfers.queries.lists import (
    EVERYTHING,
    Branch,
    Cursor,
    Span,
    by_account,
    by_destination,
    by_open_status,
    by_pair,
    by_source,
    newest_transfers,
)
from app.transfers.stages import MustAct
from app.values.codes import FINISHED_STATUSES
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import checksum_address, parse_evm_address
from app.values.json_values import MAX_ACCOUNT, read_time
from app.values.times import from_unix_microseconds, unix_microseconds

PAGE: Final = 50

"""The statuses of transfers that are over (in SQL: OPEN of app.transfers.models)."""


class TransferFilters(Struct, frozen=True):
    """The filters of a list. Empty values and None do not filter.

    ``since`` and ``until`` bound the last change: from ``since`` on, before ``until``. ``account`` is
    spelled as stored: an EVM address has its checksum.
    """

    statuses: frozenset[Status] = frozenset()
    src_chain_id: int | None = None
    dst_chain_id: int | None = None
    symbol: str | None = None
    account: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def match(self, row: Row[*tuple[Any, ...]]) -> bool:
        """Whether a row of ``app.transfers.queries.lists`` matches all of them."""
        return (
            (not self.statuses or Status(row.status) in self.statuses)
            and self.src_chain_id in (None, row.src_chain_id)
            and self.dst_chain_id in (None, row.dst_chain_id)
            and self.symbol in (None, row.symbol)
            and self.account in (None, row.sender, row.receiver)
            and (self.since is None or row.updated_at >= self.since)
            and (self.until is None or row.updated_at < self.until)
        )


class TransferPage(Struct, frozen=True):
    """A page of a list. ``next_page`` continues it, None at its end.

    ``searching``: the page is not full, yet there are more to read: the filters match few transfers, and a
    page reads a bounded number of them.
    """

    transfers: tuple[TransferLine, ...]
    next_page: str | None
    searching: bool = False


def list_transfers(
    database: Database,
    snapshots: SnapshotSource,
    filters: TransferFilters,
    page: str | None = None,
    size: int = PAGE,
) -> TransferPage:
    """The transfers that match the filters, the last changed first.

    :param page: ``next_page`` of the page before; one that cannot be read begins at the start.
    :raises Unavailable: the configuration cannot be read.
    """
    terms = snapshots.current().terms
    with reading(database.reads) as connection:
        branches, others = _choose_index(connection, filters)
        found = newest_transfers(
            connection,
            branches,
            others=others,
            span=Span(filters.since, filters.until),
            after=read_cursor(page),
            size=size,
        )
    lines = tuple(transfer_line(terms, row) for row in found.rows)
    rest = None if found.rest is None else write_cursor(found.rest)
    return TransferPage(lines, rest, searching=rest is not None and len(lines) < size)


def _choose_index(
    connection: Connection, filters: TransferFilters
) -> tuple[list[Branch], dict[str, tuple[int | str, ...]]]:
    """The branches of the most selective index, and the filters that this index does not serve."""
    statuses = tuple(sorted(int(status) for status in filters.statuses))
    src, dst = filters.src_chain_id, filters.dst_chain_id
    others: dict[str, tuple[int | str, ...]] = {
        name: values
        for name, values in (
            ("status", statuses),
            ("src_chain_id", () if src is None else (src,)),
            ("dst_chain_id", () if dst is None else (dst,)),
            ("symbol", () if filters.symbol is None else (filters.symbol,)),
        )
        if values
    }
    if filters.account is not None:
        return by_account(filters.account), others
    if statuses and not filters.statuses & FINISHED_STATUSES:
        del others["status"]
        return by_open_status(statuses), others
    if src is not None and dst is not None:
        del others["src_chain_id"], others["dst_chain_id"]
        return by_pair(src, dst), others
    if src is not None:
        del others["src_chain_id"]
        return by_source(connection, src), others
    if dst is not None:
        del others["dst_chain_id"]
        return by_destination(connection, dst), others
    return EVERYTHING, others


def write_cursor(cursor: Cursor) -> str:
    """A cursor as text for a URL."""
    microseconds = unix_microseconds(cursor.at)
    return base64.urlsafe_b64encode(
        microseconds.to_bytes(8, "big", signed=True) + cursor.transfer_id
    ).decode()


def read_cursor(text: str | None) -> Cursor | None:
    """The cursor that :func:`write_cursor` wrote; None for any other text."""
    try:
        raw = base64.urlsafe_b64decode(text or "")
    except (binascii.Error, ValueError):
        return None
    if len(raw) != 40:
        return None
    try:
        at = from_unix_microseconds(int.from_bytes(raw[:8], "big", signed=True))
    except OverflowError:
        return None
    return Cursor(at, raw[8:])


T = TypeVar("T")

_LONGEST: Final = 200
_SAID: Final = 60

_IN_A_REFUND: Final = frozenset(
    {
        Status.TRANSFER_TO_BE_REFUNDED,
        Status.TRANSFER_REQUESTING_REFUND,
        Status.TRANSFER_REFUND_TO_BE_CONFIRMED,
        Status.TRANSFER_CONFIRMING_YOUR_REFUND,
    }
)

GROUPS: Final[dict[str, tuple[str, frozenset[Status]]]] = {
    "open": ("Not finished", frozenset(Status) - FINISHED_STATUSES),
    "refunds": ("In a refund", _IN_A_REFUND),
    "all_refunds": ("In a refund or refunded", _IN_A_REFUND | {Status.TRANSFER_REFUNDED}),
}
"""Names of groups of statuses."""

WITHIN: Final = {
    "1h": ("In the last hour", timedelta(hours=1)),
    "24h": ("In the last 24 hours", timedelta(hours=24)),
    "7d": ("In the last 7 days", timedelta(days=7)),
    "30d": ("In the last 30 days", timedelta(days=30)),
}
"""Spans that end now, so a bookmark means the same tomorrow. With one of them ``since`` does not count."""

Options = tuple[tuple[str, str], ...]
"""Values and labels of a select."""


class ListRequest(Struct):
    """A requested list.

    ``stuck`` says who has to act on the listed stuck transfers; None: the list has all transfers.
    ``acknowledged``: only stuck ones that are acknowledged, else only the others. ``fields`` are the usable
    values as the URL has them, for the links of the page. ``statuses``, ``chains``, ``tokens`` and ``spans``
    are the options of its selects.
    """

    search: str
    stuck: MustAct | None
    acknowledged: bool
    page: str | None
    statuses: Options
    chains: Options
    tokens: Options
    spans: Options
    filters: TransferFilters = field(default_factory=TransferFilters)
    fields: dict[str, str] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)

    @property
    def filtered(self) -> bool:
        """Whether anything narrows the list."""
        return bool(self.fields)


def read_list_request(
    database: Database, snapshots: SnapshotSource, args: MultiDict[str, str]
) -> ListRequest:
    """Read the URL's arguments. Unusable ones raise nothing, but are noted as complaints.

    :raises Unavailable: the configuration cannot be read.
    """
    terms = snapshots.current().terms
    stuck = _stuck(_text(args, "stuck"))
    acknowledged = stuck is not None and _text(args, "seen") not in ("", "0")
    requested = ListRequest(
        search=_text(args, "q"),
        stuck=stuck,
        acknowledged=acknowledged,
        page=_text(args, "page") or None,
        statuses=_status_options(),
        chains=_chain_options(terms),
        tokens=tuple((symbol, symbol) for symbol in sorted({symbol for _, symbol in terms.tokens})),
        spans=tuple((key, label) for key, (label, _) in WITHIN.items()),
        fields=({} if stuck is None else {"stuck": stuck.value}) | ({"seen": "1"} if acknowledged else {}),
    )
    requested.filters = _read_filters(requested, args, database.clock())
    return requested


def _read_filters(requested: ListRequest, args: MultiDict[str, str], now: datetime) -> TransferFilters:
    """The filters among the arguments. ``requested`` notes the usable ones, and complaints of the others."""

    def read(name: str, label: str, rule: Callable[[str], T], form: str) -> T | None:
        text = _text(args, name)
        if not text:
            return None
        try:
            value = rule(text)
        except ValueError:
            requested.complaints.append(f"{label}: “{text[:_SAID]}” is not {form}, so it was ignored.")
            return None
        requested.fields[name] = text
        return value

    span = read("within", "Last change", _within, "one of the periods")
    return TransferFilters(
        statuses=read("status", "Status", _statuses, "a transfer status") or frozenset(),
        src_chain_id=read("src", "From chain", _chain_id, "a chain id"),
        dst_chain_id=read("dst", "To chain", _chain_id, "a chain id"),
        symbol=read("token", "Token", str, "a token"),
        account=read("account", "Account", _account, "an account"),
        since=now - span
        if span
        else read("since", "Changed from", _moment, "a time such as 2026-01-31T12:00"),
        until=read("until", "Changed until", _moment, "a time such as 2026-01-31T12:00"),
    )


def _text(args: MultiDict[str, str], name: str) -> str:
    # A pasted text may be far longer than any id; the search page reports that.
    return args.get(name, "").replace("\0", "").strip()[:_LONGEST]


def _stuck(text: str) -> MustAct | None:
    """Who has to act on the listed transfers; the bridge, if the text names nobody."""
    if text in ("", "0"):
        return None
    return MustAct.USER if text == MustAct.USER else MustAct.BRIDGE


def _status_options() -> Options:
    single = ((str(int(status)), words.label) for status, words in STATUS_WORDS.items())
    return (*((key, label) for key, (label, _) in GROUPS.items()), *single)


def _chain_options(terms: NetworkTerms) -> Options:
    named = sorted((info.name, chain_id) for chain_id, info in terms.chain_infos.items())
    return tuple((str(chain_id), name) for name, chain_id in named)


def _statuses(text: str) -> frozenset[Status]:
    if text in GROUPS:
        return GROUPS[text][1]
    return frozenset({Status(_number(text, 32))})


def _within(text: str) -> timedelta:
    if text not in WITHIN:
        raise ValueError
    return WITHIN[text][1]


def _chain_id(text: str) -> int:
    return _number(text, 63)


def _number(text: str, bits: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise ValueError
    number = int(text)
    if number >> bits:
        raise ValueError
    return number


def _account(text: str) -> str:
    if len(text) > MAX_ACCOUNT:
        raise ValueError
    address = parse_evm_address(text)
    return checksum_address(address) if address is not None else text


def _moment(text: str) -> datetime:
    """A time with an offset, or one without, as date inputs send it: then it is in UTC."""
    try:
        return read_time(text)
    except ValueError:
        at = datetime.fromisoformat(text)
    try:
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError from None
