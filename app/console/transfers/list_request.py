"""A requested list of transfers: its filters, order and page, as its address has them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from math import ceil, floor
from typing import Final, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace
from werkzeug.datastructures import MultiDict

from app.console.shell.caller import read_id
from app.console.transfers.labels import STATUS_WORDS
from app.db.database import Database
from app.network.rules.terms import NetworkTerms
from app.network.snapshot import SnapshotSource
from app.transfers.queries.lists import Amounts, Order, Span, TransferFilters
from app.transfers.rules.stuck import MustAct
from app.values.amounts import MAX_UINT256, parse_decimal
from app.values.codes import FINISHED_STATUSES
from app.values.codes import TransferHistoryStatus as Status
from app.values.crypto import checksum_address, parse_evm_address
from app.values.json_values import MAX_ACCOUNT, read_time

T = TypeVar("T")

_LONGEST: Final = 200
_LONGEST_QUOTED: Final = 60

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

_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)

AGES: Final[dict[str, tuple[str, timedelta | None, timedelta | None]]] = {
    "under-1h": ("Under 1 hour", None, _HOUR),
    "under-24h": ("Under 24 hours", None, _DAY),
    "over-1h": ("Over 1 hour", _HOUR, None),
    "over-24h": ("Over 24 hours", _DAY, None),
    "over-7d": ("Over 7 days", 7 * _DAY, None),
    "over-30d": ("Over 30 days", 30 * _DAY, None),
}
"""Ages by their names in addresses: their labels, the least and the greatest age."""

ORDERS: Final = {
    Order.CHANGED: "Last change first",
    Order.OLDEST: "Oldest first",
    Order.YOUNGEST: "Youngest first",
    Order.LARGEST: "Largest amount first",
    Order.SMALLEST: "Smallest amount first",
}

Options = tuple[tuple[str, str], ...]
"""Values and labels of a select."""


class ListRequest(Struct):
    """A requested list.

    ``stuck`` says who has to act on the listed stuck transfers; None: the list has all transfers.
    ``acknowledged``: only stuck ones that are acknowledged, else only the others. ``fields`` are the usable
    values as the URL has them, for the links of the page. ``statuses``, ``chains`` and ``tokens`` are the
    options of its selects.
    """

    search: str
    stuck: MustAct | None
    acknowledged: bool
    page: str | None
    statuses: Options
    chains: Options
    tokens: Options
    order: Order = Order.CHANGED
    filters: TransferFilters = field(default_factory=TransferFilters)
    fields: dict[str, str] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)


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
        fields=({} if stuck is None else {"stuck": stuck.value}) | ({"seen": "1"} if acknowledged else {}),
    )
    requested.filters = _read_filters(requested, args, database.clock())
    if stuck is None:
        _read_order(requested, args, terms)
    return requested


def _read_filters(requested: ListRequest, args: MultiDict[str, str], now: datetime) -> TransferFilters:
    """The filters among the arguments. ``requested`` notes the usable ones, and complaints of the others."""
    read = partial(_read, requested, args)
    span = read("within", "Last change", WITHIN.__getitem__, "one of the periods")
    return TransferFilters(
        statuses=read("status", "Status", _statuses, "a transfer status") or frozenset(),
        src_chain_id=read("src", "From chain", _number, "a chain id"),
        dst_chain_id=read("dst", "To chain", _number, "a chain id"),
        symbol=read("token", "Token", str, "a token"),
        account=read("account", "Account", _account, "an account"),
        since=now - span[1]
        if span
        else read("since", "Changed from", _moment, "a time such as 2026-01-31T12:00"),
        until=read("until", "Changed until", _moment, "a time such as 2026-01-31T12:00"),
        began=_began(read("age", "Age", AGES.__getitem__, "one of the ages"), now),
    )


def _read(
    requested: ListRequest,
    args: MultiDict[str, str],
    name: str,
    label: str,
    rule: Callable[[str], T],
    form: str,
) -> T | None:
    """An argument by its rule, which raises ValueError or KeyError; None where it has no usable value."""
    text = _text(args, name)
    if not text:
        return None
    try:
        value = rule(text)
    except (ValueError, KeyError):
        requested.complaints.append(f"{label}: “{text[:_LONGEST_QUOTED]}” is not {form}, so it was ignored.")
        return None
    requested.fields[name] = text
    return value


def _began(age: tuple[str, timedelta | None, timedelta | None] | None, now: datetime) -> Span:
    """When transfers of an age of ``AGES`` began: the greatest age bounds ``since``, the least ``until``."""
    _, least, most = age or ("", None, None)
    return Span(None if most is None else now - most, None if least is None else now - least)


def _read_order(requested: ListRequest, args: MultiDict[str, str], terms: NetworkTerms) -> None:
    """The order, and the bounds of amounts. Without an order it is by what the list is filtered by.

    Amounts are compared in one unit, so the list has the chains whose decimals are configured.
    """
    read, filters = partial(_read, requested, args), requested.filters
    order = read("sort", "Order", Order, "an order")
    least = read("least", "Amount from", parse_decimal, "an amount such as 1000.5")
    most = read("most", "Amount to", parse_decimal, "an amount such as 1000.5")
    if least is None and most is None and not (order is not None and order.of_amounts):
        requested.order = order or (Order.CHANGED if filters.began == Span() else Order.OLDEST)
        return
    decimals = {
        chain: token.decimals for (chain, each), token in terms.tokens.items() if each == filters.symbol
    }
    if not decimals:
        requested.complaints.append(
            "Choose a token to sort and filter by amount: amounts of different tokens cannot be compared."
        )
        for name in ("least", "most", *(["sort"] if order is not None and order.of_amounts else [])):
            requested.fields.pop(name, None)
        requested.order = order if order is not None and not order.of_amounts else Order.CHANGED
        return
    requested.order = order or Order.LARGEST
    finest, amounts = max(decimals.values()), {}
    for chain, digits in decimals.items():
        if filters.src_chain_id in (None, chain):
            low = 0 if least is None else ceil(least * 10**digits)
            high = MAX_UINT256 if most is None else min(floor(most * 10**digits), MAX_UINT256)
            if low <= high:
                amounts[int(chain)] = Amounts(low, high, 10 ** (finest - digits))
    requested.filters = replace(filters, amounts=amounts)


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
    return frozenset({Status(_number(text))})


def _number(text: str) -> int:
    number = read_id(text)
    if number is None:
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
