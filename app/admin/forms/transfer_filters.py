"""Reads the filters of the transfer list from its URL. Unusable values are ignored, with a message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

from werkzeug.datastructures import MultiDict

from app.admin.pages.labels import STATUS_WORDS
from app.admin.pages.transfers import TransferFilters
from app.domain.codes import FINISHED_STATUSES
from app.domain.codes import TransferHistoryStatus as Status
from app.domain.crypto import checksum_address, parse_evm_address
from app.domain.estimate.network_terms import NetworkTerms
from app.domain.transfer.stuck import MustAct
from app.runtime.gateway import Gateway
from app.services.fields import MAX_ACCOUNT, read_time

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
"""Spans that end now: a bookmark means the same tomorrow. With one of them ``since`` does not count."""

Options = tuple[tuple[str, str], ...]
"""Values and labels of a select."""


@dataclass(slots=True)
class ListRequest:
    """What is to be listed.

    ``stuck`` is whose list of stuck transfers it is, None for all transfers; ``seen_to`` are those of it
    that somebody has acknowledged. ``fields`` are the usable values, as the URL has them: links of the page
    repeat them.
    ``statuses``, ``chains``, ``tokens`` and ``spans`` are the options of its selects.
    """

    search: str
    stuck: MustAct | None
    seen_to: bool
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


def read_list_request(gateway: Gateway, args: MultiDict[str, str]) -> ListRequest:
    """Read the URL's arguments. Unusable ones raise nothing.

    :raises Unavailable: the configuration cannot be read.
    """
    terms = gateway.snapshots.current().terms
    stuck = _stuck(_text(args, "stuck"))
    seen_to = stuck is not None and _text(args, "seen") not in ("", "0")
    asked = ListRequest(
        search=_text(args, "q"),
        stuck=stuck,
        seen_to=seen_to,
        page=_text(args, "page") or None,
        statuses=_status_options(),
        chains=_chain_options(terms),
        tokens=tuple((symbol, symbol) for symbol in sorted({symbol for _, symbol in terms.tokens})),
        spans=tuple((key, label) for key, (label, _) in WITHIN.items()),
        fields=({} if stuck is None else {"stuck": stuck.value}) | ({"seen": "1"} if seen_to else {}),
    )

    def read(name: str, label: str, rule: Callable[[str], T], form: str) -> T | None:
        text = _text(args, name)
        if not text:
            return None
        try:
            value = rule(text)
        except ValueError:
            asked.complaints.append(f"{label}: “{text[:_SAID]}” is not {form}, so it was ignored.")
            return None
        asked.fields[name] = text
        return value

    span = read("within", "Last change", _within, "one of the periods")
    asked.filters = TransferFilters(
        statuses=read("status", "Status", _statuses, "a transfer status") or frozenset(),
        src_chain_id=read("src", "From chain", _chain_id, "a chain id"),
        dst_chain_id=read("dst", "To chain", _chain_id, "a chain id"),
        symbol=read("token", "Token", str, "a token"),
        account=read("account", "Account", _account, "an account"),
        since=gateway.clock() - span
        if span
        else read("since", "Changed from", _moment, "a time such as 2026-01-31T12:00"),
        until=read("until", "Changed until", _moment, "a time such as 2026-01-31T12:00"),
    )
    return asked


def _text(args: MultiDict[str, str], name: str) -> str:
    # A pasted text may be far longer than any id; the search reports that.
    return args.get(name, "").replace("\0", "").strip()[:_LONGEST]


def _stuck(text: str) -> MustAct | None:
    """Whose list it is; any other text than its name is that of the bridge."""
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
