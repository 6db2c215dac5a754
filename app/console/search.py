"""The search of every page: transfers, accounts, the network's rows, operators and pages of the console."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import permutations
from typing import Any, Final

from flask import current_app, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy import Connection, Row

from app.accounts.services.accounts import list_accounts
from app.console.accounts import OperatorsView
from app.console.shell.access import READ, may
from app.console.shell.views import ConsoleView
from app.console.transfers.components import TransferLine, transfer_line
from app.console.transfers.detail import reply_about_unknown
from app.console.transfers.lists import list_transfers
from app.db.database import Database
from app.db.engine import reading
from app.http.application import current
from app.network.models import BlockedAddress
from app.network.queries import (
    named_chains,
    named_pools,
    named_routes,
    named_tokens,
    rows_with,
)
from app.network.snapshot import SnapshotSource
from app.transfers.queries.lists import (
    ListedTransfer,
    TransferFilters,
    transfers_of_hash,
    transfers_with_ids,
)
from app.transfers.queries.usage import accounts_with_part, ids_with_part
from app.values.crypto import checksum_address, parse_evm_address
from app.values.identifiers import ChainId

HASH_DIGITS: Final = 64
ADDRESS_DIGITS: Final = 40
LEAST_PART: Final = 4
"""The first hex digits that a part needs. Of a million ids, about 15 share them."""

MOST_INSIDE: Final = 10
"""The most hashes and addresses of a pasted text that are tried; each costs some reads."""

_HEX: Final = re.compile(r"(?:0[xX])?([0-9a-fA-F]+)", re.ASCII)
_WHOLE: Final = re.compile(
    rf"(?<![0-9a-zA-Z])(?:0[xX])?([0-9a-fA-F]{{{HASH_DIGITS}}}|[0-9a-fA-F]{{{ADDRESS_DIGITS}}})(?![0-9a-zA-Z])",
    re.ASCII,
)
_CUT: Final = re.compile(r"(0[xX])?([0-9a-fA-F]*)(?:…|⋯|\.{2,3})([0-9a-fA-F]*)", re.ASCII)
_LINK: Final = re.compile(r"(?:https?://|(?:[a-z0-9-]+\.)+[a-z]{2,}/)\S*", re.ASCII | re.IGNORECASE)
_WORDS_OF_A_LINK: Final = re.compile(r"[0-9A-Za-z_-]{25,128}", re.ASCII)
"""Shorter words are names of pages. No chain that we know has such short accounts."""


class Part(Struct, frozen=True):
    """How an id or an account begins and ends, in lower-case hex digits without 0x."""

    start: str
    end: str = ""


def hex_digits(text: str) -> str:
    """The lower-case digits of a text that is hex with or without 0x; empty for any other."""
    match = _HEX.fullmatch(text)
    return match[1].lower() if match else ""


def is_link(text: str) -> bool:
    """Whether the text is a web address, such as of a transaction in an explorer."""
    return bool(_LINK.fullmatch(text.strip()))


def whole_ones(text: str) -> list[str]:
    """The hashes and addresses in a link or a message, each once, the last first; not too many.

    So in a link to a token's page for an account, the account is tried before the token.
    """
    found = [f"0x{match[1]}" for match in _WHOLE.finditer(text)]
    if is_link(text):
        found += list(_WORDS_OF_A_LINK.findall(text.partition("//")[2] or text))
    return list(dict.fromkeys(reversed(found)))[:MOST_INSIDE]


def read_part(text: str) -> Part | None:
    """Read a text as a part of an id or account: as pages show it (``0x0000…0306``), or its first digits.

    None for anything else, and for whole ids and accounts.
    """
    cut = _CUT.fullmatch(text)
    if cut:
        part = Part(cut[2].lower(), cut[3].lower())
        return part if len(part.start) + len(part.end) < HASH_DIGITS else None
    digits = hex_digits(text)
    if not digits or len(digits) == ADDRESS_DIGITS or len(digits) >= HASH_DIGITS:
        return None
    return Part(digits)


MOST_FOUND: Final = 50
LONGEST: Final = 128

MOST_ACCOUNTS: Final = 20

_WORD: Final = re.compile(r"[0-9A-Za-z_-]{1,128}", re.ASCII)


class Found(StrEnum):
    """How the text was recognized."""

    TRANSFER = "transfer"
    TRANSACTION = "transaction"
    ACCOUNT = "account"
    PART = "part"
    NOTHING = "nothing"


class SearchResult(Struct, frozen=True):
    """The result of a search.

    ``account`` is the account as the feed stores it, where one was found: the filter of its whole list, which
    ``next_page`` continues. ``accounts`` are those of which the text is a part. ``message`` says what was
    found, or what the text could be and what to try. ``reply`` is for the user who sent a hash, an id or an
    account that nobody knows; else it is empty.
    """

    text: str
    kind: Found
    transfers: tuple[TransferLine, ...]
    message: str
    account: str | None = None
    next_page: str | None = None
    accounts: tuple[str, ...] = ()
    reply: str = ""


def search(database: Database, snapshots: SnapshotSource, text: str) -> SearchResult:
    """Find transfers by a text that an operator was sent.

    White space is removed. Hex may have 0x or not, in any letter case. The hashes and accounts in a link
    to an explorer, or in a message, are tried one by one until something is found.

    :raises Unavailable: the configuration cannot be read.
    """
    inside = whole_ones(text)
    if is_link(text) and not inside:
        return _nothing(text[:LONGEST], f"This link has no transfer id, hash or address in it. {_PASTE}")
    if not inside or len("".join(text.split())) <= len(f"0x{'f' * HASH_DIGITS}"):
        return _search_one(database, snapshots, "".join(text.split()))
    results = (_search_one(database, snapshots, each) for each in inside)
    first = next(results)
    if first.transfers:
        return first
    return next((result for result in results if result.transfers), first)


def _search_one(database: Database, snapshots: SnapshotSource, wanted: str) -> SearchResult:
    if not wanted:
        return _nothing(wanted, "Enter a transfer id, a transaction hash or an address.")
    if len(wanted) > LONGEST or "\0" in wanted:
        return _nothing(
            wanted[:LONGEST], "This is not an id, hash or address: none has more than 128 characters."
        )
    digits = hex_digits(wanted)
    if len(digits) == HASH_DIGITS:
        return _by_32_bytes(database, snapshots, wanted, digits)
    if len(digits) == ADDRESS_DIGITS:
        account = checksum_address(bytes.fromhex(digits))
        return (
            _by_account(database, snapshots, wanted, account)
            or _by_account(database, snapshots, wanted, wanted)
            or _nothing(
                wanted, _NO_TRANSFER_OF.format(account), reply_about_unknown(f"the address {account}")
            )
        )
    part = read_part(wanted)
    return (
        (_by_part(database, snapshots, wanted, part) if part else None)
        or _by_foreign_text(database, snapshots, wanted)
        or _nothing(wanted, _advice(wanted, digits, part))
    )


def _by_32_bytes(database: Database, snapshots: SnapshotSource, text: str, digits: str) -> SearchResult:
    """Ids and transaction hashes look alike: both are tried."""
    with reading(database.reads) as connection:
        of_id = transfers_with_ids(connection, [bytes.fromhex(digits)])
        of_hash = transfers_of_hash(connection, f"0x{digits}", MOST_FOUND)
    if of_id:
        also = f" It is also a transaction of {_counted(len(of_hash))}." if of_hash else ""
        return _result(snapshots, text, Found.TRANSFER, [*of_id, *of_hash], f"This is a transfer id.{also}")
    if of_hash:
        return _of_transaction(snapshots, text, of_hash)
    return _nothing(
        text,
        "No transfer has this id or transaction hash. If a user sent it to you: the transaction may "
        "not be reported yet (the dashboard shows how fresh each chain is), may be on a chain that is not "
        "configured, or may not be a send of this bridge. Block hashes, and the ids that contracts log for "
        "payouts and withdrawals, are not searched: try the transaction hash, or the address of the sender.",
        reply_about_unknown(f"the transaction or id 0x{digits}"),
    )


def _by_account(
    database: Database, snapshots: SnapshotSource, text: str, account: str
) -> SearchResult | None:
    page = list_transfers(database, snapshots, TransferFilters(account=account), size=MOST_FOUND)
    if not page.transfers:
        return None
    count = _counted(len(page.transfers))
    more = " Here are those that changed last." if page.next_page else ""
    message = f"This is an account. It sent or received {'more than ' if more else ''}{count}.{more}"
    return SearchResult(text, Found.ACCOUNT, page.transfers, message, account, page.next_page)


def _by_part(database: Database, snapshots: SnapshotSource, text: str, part: Part) -> SearchResult | None:
    """Transfers and accounts with this beginning and end; None if there are none or the part is too short."""
    start, end = part.start, part.end
    if len(start) < LEAST_PART:
        return None
    with reading(database.reads) as connection:
        ids = ids_with_part(connection, start, end, MOST_FOUND + 1)
        of_account = len(start) + len(end) < ADDRESS_DIGITS
        accounts = accounts_with_part(connection, start, end, MOST_ACCOUNTS) if of_account else []
        rows = transfers_with_ids(connection, ids[:MOST_FOUND])
    if not rows and not accounts:
        return None
    how = "At least " if len(ids) > MOST_FOUND else ""
    words = [f"{how}{_counted(len(rows))}"] if rows else []
    words += [f"{len(accounts)} account{'' if len(accounts) == 1 else 's'}"] if accounts else []
    more = " Type more digits to find fewer." if how else ""
    ending = f" and ends with {end}" if end else ""
    message = f"{' and '.join(words)} with an id that begins with 0x{start}{ending}.{more}"
    result = _result(snapshots, text, Found.PART, rows, message[:1].upper() + message[1:])
    return replace(result, accounts=tuple(checksum_address(each) for each in accounts))


def _by_foreign_text(database: Database, snapshots: SnapshotSource, text: str) -> SearchResult | None:
    """Hashes and accounts of chains other than EVM chains, compared letter by letter."""
    if _WORD.fullmatch(text):
        with reading(database.reads) as connection:
            rows = transfers_of_hash(connection, text, MOST_FOUND)
        if rows:
            return _of_transaction(snapshots, text, rows)
    return _by_account(database, snapshots, text, text)


def _of_transaction(snapshots: SnapshotSource, text: str, rows: Sequence[ListedTransfer]) -> SearchResult:
    what = "This is a transaction of "
    return _result(snapshots, text, Found.TRANSACTION, rows, f"{what}{_counted(len(rows))}.")


def _result(
    snapshots: SnapshotSource, text: str, kind: Found, rows: Sequence[ListedTransfer], message: str
) -> SearchResult:
    terms = snapshots.current().terms
    once = {row.transfer_id: row for row in rows}
    return SearchResult(text, kind, tuple(transfer_line(terms, row) for row in once.values()), message)


def _nothing(text: str, message: str, reply: str = "") -> SearchResult:
    return SearchResult(text, Found.NOTHING, (), message, reply=reply)


def _counted(count: int) -> str:
    return "one transfer" if count == 1 else f"{count} transfers"


_NO_TRANSFER_OF: Final = (
    "This is an address, but no transfer from or to {} is known. If the user has just sent: the transaction "
    "may not be reported yet (the dashboard shows how fresh each chain is). Ask for the transaction hash."
)


_PASTE: Final = (
    "Paste a transfer id or a transaction hash (64 hex digits) or an address (40 hex digits, or another "
    "chain's own form)."
)


def _advice(text: str, digits: str, part: Part | None) -> str:
    if part and len(part.start) < LEAST_PART:
        return f"Type at least the first {LEAST_PART} digits of a transfer id; the last are not enough."
    if digits:
        return (
            f"This looks like hex, but has {len(digits)} digits: a transfer id and a transaction hash have "
            "64, an address 40. No transfer id begins like this. A transaction is only found by "
            "its full hash."
        )
    if part:
        return (
            "No transfer id and no account begins and ends like this. A transaction is only found by its "
            "full hash: a click on a short hash copies the full one."
        )
    if _WORD.fullmatch(text):
        return (
            "No chain or token has this name, and no transfer has it as its transaction, sender or receiver. "
            "Hashes and accounts of non-EVM chains are case-sensitive: check upper and lower case, and "
            "paste the full value."
        )
    return f"No chain, token or transfer has this name. {_PASTE}"


MOST_ROWS: Final = 30
LEAST_LETTERS: Final = 2
"""With fewer characters only a name equal to the text is found, not one that contains it."""

LEAST_LETTERS_OF_A_PAGE: Final = 3
"""Fewer are in the names of most pages and accounts."""

MOST_WORDS: Final = 8
"""A text of more words is no name: each word is compared with every token."""


class NamedRow(Struct, frozen=True):
    """A row of the network document: its section, the key of its page, its title, and more."""

    section: str
    key: int
    title: str
    detail: str


_POOLS: Final = frozenset({"pool", "pools"})
_ROUTES: Final = frozenset({"route", "routes"})
_FILLERS: Final = frozenset({"from", "to", "on", "→", "->", "of"})


def network_rows(database: Database, text: str) -> tuple[NamedRow, ...]:
    """The rows that a text names, the best first, blocks last; at most ``MOST_ROWS``.

    A chain by its id, a part of its name, or the address of its contract. A token by a part of its name or
    symbol, with its chain's name after it (``usdc polygon``), or by its address. A route by both chains
    (``usdc ethereum polygon``). A pool by its token and chain, with the word pool. A block by its account.
    """
    words = text.casefold().split()
    if not 0 < len(words) <= MOST_WORDS:
        return ()
    wanted = [word for word in words if word not in _POOLS | _ROUTES | _FILLERS]
    with reading(database.reads) as connection:
        chains = named_chains(connection)
        names = {chain.chain_id: chain.name.casefold() for chain in chains}
        titles = {chain.chain_id: chain.name for chain in chains}
        ranked = [*_ranked_chains(chains, " ".join(words))]
        if _POOLS & {*words}:
            ranked += _ranked_pools(connection, names, titles, wanted)
        else:
            ranked += _ranked_tokens(named_tokens(connection), titles, words)
            ranked += _ranked_routes(connection, names, titles, wanted, needs_symbol=not _ROUTES & {*words})
        blocks = _blocks(connection, text.strip())
    best = sorted(ranked, key=lambda each: each[0])  # stable: equal ones stay in order
    return (*(row for _, row in best[:MOST_ROWS]), *blocks)


def _names_chain(word: str, chain_id: ChainId, name: str) -> bool:
    return word == str(chain_id) or _rank(word, name) is not None


def _ranked_pools(
    connection: Connection, names: Mapping[ChainId, str], titles: Mapping[ChainId, str], words: list[str]
) -> Iterator[tuple[int, NamedRow]]:
    """Every word names the token or the chain."""
    for row_id, chain_id, symbol in named_pools(connection) if words else ():
        ranks = [_rank(word, symbol.casefold()) for word in words]
        foreign = (word for word, rank in zip(words, ranks, strict=True) if rank is None)
        if all(_names_chain(word, chain_id, names[chain_id]) for word in foreign):
            title = f"{symbol} on {titles[chain_id]}"
            yield _least(*ranks) or 0, NamedRow("pools", row_id, title, "")


def _ranked_routes(
    connection: Connection,
    names: Mapping[ChainId, str],
    titles: Mapping[ChainId, str],
    words: list[str],
    *,
    needs_symbol: bool,
) -> Iterator[tuple[int, NamedRow]]:
    """Each of both chains has a word of its own, and every other word names the token."""
    named = [{each for each, name in names.items() if _names_chain(word, each, name)} for word in words]
    if sum(map(bool, named)) < 2:
        return
    of_chains = frozenset[ChainId]().union(*named)
    for row_id, symbol, src, dst in named_routes(connection, of_chains):
        ranks = []
        for start, end in permutations(range(len(words)), 2):
            if src in named[start] and dst in named[end]:
                others = [word for place, word in enumerate(words) if place not in (start, end)]
                of_symbol = [_rank(word, symbol.casefold()) for word in others]
                if None not in of_symbol and (others or not needs_symbol):
                    # The direction in which the chains are named comes first.
                    ranks.append((_least(*of_symbol) or 0) + (start > end))
        if ranks:
            title = f"{symbol} from {titles[src]} to {titles[dst]}"
            yield min(ranks), NamedRow("routes", row_id, title, "")


def _ranked_chains(chains: Sequence[Row[ChainId, str, str]], text: str) -> Iterator[tuple[int, NamedRow]]:
    for chain in chains:
        name = chain.name.casefold()
        rank = 0 if text == str(chain.chain_id) else _rank(text, name)
        if rank is None and text == chain.contract_addr.casefold():
            rank = 0
        if rank is not None:
            yield rank, NamedRow("chains", chain.chain_id, chain.name, f"chain {chain.chain_id}")


def _ranked_tokens(
    tokens: Sequence[Row[int, ChainId, str, str, str]], names: Mapping[ChainId, str], words: list[str]
) -> Iterator[tuple[int, NamedRow]]:
    for token in tokens:
        chain = names[token.chain_id]
        rank = _rank_of_token(token, chain.casefold(), words)
        if rank is not None:
            yield rank, NamedRow("tokens", token.id, f"{token.symbol} on {chain}", token.name)


def _rank_of_token(token: Row[int, ChainId, str, str, str], chain: str, words: list[str]) -> int | None:
    """How well the words name the token, 0 best. Some of them may name its chain, but not all."""
    if words == [token.address.casefold()]:
        return 0
    symbol, name = token.symbol.casefold(), token.name.casefold()
    ranks = [_least(_rank(word, symbol), _rank(word, name)) for word in words]
    own = [rank for rank in ranks if rank is not None]
    foreign = (word for word, rank in zip(words, ranks, strict=True) if rank is None)
    named = own and all(_rank(word, chain) is not None or word == str(token.chain_id) for word in foreign)
    return min(own) if named else None


def _rank(text: str, name: str) -> int | None:
    """0 where the name equals the text, 1 where it begins with it, 2 where it contains it."""
    if text == name:
        return 0
    if len(text) < LEAST_LETTERS or text not in name:
        return None
    return 1 if name.startswith(text) else 2


def _least(*ranks: int | None) -> int | None:
    return min((rank for rank in ranks if rank is not None), default=None)


def _blocks(connection: Connection, text: str) -> tuple[NamedRow, ...]:
    address = parse_evm_address(text)
    if address is None:
        return ()
    account = checksum_address(address)
    rows = rows_with(connection, BlockedAddress, "address", [account])
    return tuple(
        NamedRow("blocked_addresses", row["id"], f"Blocked address {account}", row["reason"]) for row in rows
    )


LONGEST_TYPED: Final = 2_000
"""Characters of a text; no link to an explorer has more."""

_KINDS: Final = {
    "chains": "Chain",
    "tokens": "Token",
    "pools": "Pool",
    "routes": "Route",
    "blocked_addresses": "Block",
}
_FURTHER_PAGES: Final = (
    ("Base fees by destination", "routes.base_fees"),
    ("Connect a chain", "connect.index"),
    ("Your account", "account.index"),
)
"""Pages that are not in the menu."""


class Hit(Struct, frozen=True):
    """A result other than a transfer: its kind, its title, more about it, and its page."""

    kind: str
    title: str
    detail: str
    url: str


class SearchView(ConsoleView):
    """The page of the search box at the top of each page."""

    access = {"index": READ}

    def __init__(self) -> None:
        super().__init__(name="Search", endpoint="search")

    def in_menu(self) -> bool:
        """Every page has its box."""
        return False

    @expose("/")
    def index(self) -> ResponseReturnValue:
        """The results; where there is only one, its page."""
        typed = request.args.get("q", "").replace("\0", "").strip()[:LONGEST_TYPED]
        if not typed:
            return self.render("console/search/index.html", typed="", result=None, hits=[])
        database = current(Database)
        snapshots = current(SnapshotSource)
        result = search(database, snapshots, typed)
        hits = [*_pages(typed), *_network(database, typed), *_operators(database, typed), *_accounts(result)]
        if len(hits) + len(result.transfers) == 1:
            return redirect(_the_one(result, hits))
        return self.render("console/search/index.html", typed=typed, result=result, hits=hits)


def _the_one(result: SearchResult, hits: list[Hit]) -> str:
    if hits:
        return hits[0].url
    if result.kind is not Found.TRANSFER:
        flash(result.message, "info")
    return url_for("transfers.transfer", transfer_id=result.transfers[0].transfer_id)


def _pages(typed: str) -> Iterator[Hit]:
    """The pages of the console whose name begins with the text, or contains it, that the user may open."""
    console = current_app.extensions["console"]
    pages = [(entry.name, entry.url) for _, entries in console.menu() for entry in entries]
    pages += [
        (name, url_for(endpoint)) for name, endpoint in _FURTHER_PAGES if may(console.rules[endpoint].read)
    ]
    ranked = [(_rank(" ".join(typed.casefold().split()), name.casefold()), name, url) for name, url in pages]
    for rank, name, url in sorted(ranked, key=lambda each: each[0] or 0):
        if rank is not None and len(typed) >= LEAST_LETTERS_OF_A_PAGE:
            yield Hit("Page", name, "", url)


def _operators(database: Database, typed: str) -> Iterator[Hit]:
    """The accounts whose email contains the text, for those who may open them."""
    if not may(OperatorsView.access["edit"].read) or len(typed) < LEAST_LETTERS_OF_A_PAGE:
        return
    for account in list_accounts(database):
        if _rank(typed.casefold(), account.email.casefold()) is not None:
            yield Hit(
                "Operator", account.email, account.role, url_for("operators.edit", account_id=account.id)
            )


def _network(database: Database, typed: str) -> list[Hit]:
    found: dict[NamedRow, None] = {}
    for text in (typed, *whole_ones(typed)):
        found |= dict.fromkeys(network_rows(database, text))
    return [_hit(row) for row in found]


def _hit(row: NamedRow) -> Hit:
    endpoint = f"{row.section}.edit"
    (argument,) = next(current_app.url_map.iter_rules(endpoint)).arguments
    values: dict[str, Any] = {argument: row.key}
    return Hit(_KINDS[row.section], row.title, row.detail, url_for(endpoint, **values))


def _accounts(result: SearchResult) -> list[Hit]:
    return [
        Hit("Account", account, "Show its transfers", url_for("transfers.index", account=account))
        for account in result.accounts
    ]
