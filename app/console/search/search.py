"""The search of every page: transfers, accounts, the network's rows, operators and pages of the console."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, Final

from flask import current_app, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from msgspec import Struct
from sqlalchemy import Connection, Row

from app.accounts.services.accounts import list_accounts
from app.console.accounts import OperatorsView
from app.console.search.found_transfers import Found, SearchResult, search, whole_ones
from app.console.shell.access import READ, may
from app.console.shell.views import ConsoleView
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
from app.values.crypto import checksum_address, parse_evm_address
from app.values.identifiers import ChainId

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
