"""The search of every page: transfers, accounts, chains, tokens, blocks and pages of the console."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from flask import current_app, flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from msgspec import Struct
from sqlalchemy import Connection

from app.admin.found_transfers import Found, SearchResult, search, whole_ones
from app.console.access import READ
from app.console.views import ConsoleView
from app.db.database import Database
from app.db.engine import reading
from app.http.application import current
from app.network.models import BlockedAddress
from app.network.queries import NamedChain, NamedToken, named_chains, named_tokens, rows_with
from app.network.snapshot import SnapshotSource
from app.values.crypto import checksum_address, parse_evm_address
from app.values.identifiers import ChainId

MOST_ROWS: Final = 30
LEAST_LETTERS: Final = 2
"""With fewer characters only a name equal to the text is found, not one that contains it."""

MOST_WORDS: Final = 8
"""A text of more words is no name: each word is compared with every token."""


class NamedRow(Struct, frozen=True):
    """A row of the network document: its section, the key of its page, its title, and more."""

    section: str
    key: int
    title: str
    detail: str


def network_rows(database: Database, text: str) -> tuple[NamedRow, ...]:
    """The rows that a text names, the best first: chains, then tokens, then blocks; at most ``MOST_ROWS``.

    A chain by its id, a part of its name, or the address of its contract. A token by a part of its name or
    symbol, with its chain's name after it (``usdc polygon``), or by its address. A block by its account.
    """
    words = text.casefold().split()
    if not 0 < len(words) <= MOST_WORDS:
        return ()
    with reading(database.reads) as connection:
        chains = named_chains(connection)
        names = {chain.chain_id: chain.name for chain in chains}
        ranked = [
            *_ranked_chains(chains, " ".join(words)),
            *_ranked_tokens(named_tokens(connection), names, words),
        ]
        blocks = _blocks(connection, text.strip())
    best = sorted(ranked, key=lambda each: each[0])  # stable: equal ones stay in order
    return (*(row for _, row in best[:MOST_ROWS]), *blocks)


def _ranked_chains(chains: Sequence[NamedChain], text: str) -> Iterator[tuple[int, NamedRow]]:
    for chain in chains:
        name = chain.name.casefold()
        rank = 0 if text == str(chain.chain_id) else _rank(text, name)
        if rank is None and text == chain.contract_addr.casefold():
            rank = 0
        if rank is not None:
            yield rank, NamedRow("chains", chain.chain_id, chain.name, f"chain {chain.chain_id}")


def _ranked_tokens(
    tokens: Sequence[NamedToken], names: Mapping[ChainId, str], words: list[str]
) -> Iterator[tuple[int, NamedRow]]:
    for token in tokens:
        chain = names[token.chain_id]
        rank = _rank_of_token(token, chain.casefold(), words)
        if rank is not None:
            yield rank, NamedRow("tokens", token.row_id, f"{token.symbol} on {chain}", token.name)


def _rank_of_token(token: NamedToken, chain: str, words: list[str]) -> int | None:
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

_KINDS: Final = {"chains": "Chain", "tokens": "Token", "blocked_addresses": "Block"}


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
        hits = [*_network(database, typed), *_accounts(result)]
        if len(hits) + len(result.transfers) == 1:
            return redirect(_the_one(result, hits))
        return self.render("console/search/index.html", typed=typed, result=result, hits=hits)


def _the_one(result: SearchResult, hits: list[Hit]) -> str:
    if hits:
        return hits[0].url
    if result.kind is not Found.TRANSFER:
        flash(result.message, "info")
    return url_for("transfers.transfer", transfer_id=result.transfers[0].transfer_id)


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
