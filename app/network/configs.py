"""The transfer configs: chains, tokens, pairs and ways for clients (docs/api/getTransferConfigs.md#rules).

A client assumes a way through the pools for every symbol that two chains list with
``token.xfer_disabled`` false, unless ``blocked_bridge_direct`` names it.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import permutations
from operator import itemgetter
from typing import Any, Final

import orjson
from msgspec import Struct

from app.db.models import Base
from app.json_documents import Amount
from app.network.models import Chain, PeggedPair, Pool
from app.network.models import Token as TokenTable
from app.network.models.columns import published_columns
from app.network.sections import Row
from app.network.snapshot import TransferConfigs

MAX_WITHOUT_ROUTE: Final = 2000
"""So many ways without a route are listed. Where there are more, tokens of chains are marked instead."""

Token = tuple[int, str]
"""Chain id and symbol."""

Way = tuple[str, int, int]
"""Symbol, source, destination."""


class OfferedWays(Struct, frozen=True):
    """``closed``: the tokens not to be sent through the pool; ``blocked``: the directions that are listed."""

    closed: frozenset[Token]
    blocked: tuple[Way, ...]


def offered_ways(rows: Mapping[str, Sequence[Row]]) -> OfferedWays:
    """The tokens to close and directions to block, so that clients derive exactly the ways with a route.

    Where more than ``MAX_WITHOUT_ROUTE`` ways have no route, a few ways with a route are closed, too.
    """
    routes = {_way(row) for row in rows["routes"]}
    blocked = set(_blocked(rows["route_blocks"]))
    routed = {token for way in routes for token in _ends(way)}
    paired = {
        (row[column], row["symbol"])
        for row in rows["pegged_pairs"]
        for column in ("org_chain_id", "pegged_chain_id")
    }
    disabled = {row["chain_id"] for row in rows["chains"] if row["disabled"]}
    tokens = {(row["chain_id"], row["symbol"]): row for row in rows["tokens"]}
    closed = {
        token
        for token, row in tokens.items()
        if row["xfer_disabled"]
        or row["pool_disabled"]
        or token[0] in disabled
        or (token in paired and token not in routed)
    }
    is_open = tokens.keys() - closed
    known = {way for way in routes | blocked if is_open.issuperset(_ends(way))}
    marked = _marked(is_open, known, routes)
    return OfferedWays(
        frozenset(closed | marked), tuple(sorted(blocked.union(_missing(is_open - marked, known))))
    )


def _marked(is_open: Set[Token], known: Iterable[Way], routes: Iterable[Way]) -> set[Token]:
    """Tokens to close until few enough ways are without a route: those that have the fewest routes first."""
    tally = _Tally(is_open, known)
    routes_of = Counter(token for way in routes for token in _ends(way))
    marked: set[Token] = set()
    for token in sorted(is_open, key=lambda each: (routes_of[each], -tally.missing(each), each)):
        if tally.total <= MAX_WITHOUT_ROUTE:
            break
        if tally.missing(token):
            tally.close(token)
            marked.add(token)
    return marked


class _Tally:
    """How many ways would be derived that are not known, counted without listing them."""

    def __init__(self, is_open: Iterable[Token], known: Iterable[Way]) -> None:
        self._chains: defaultdict[str, set[int]] = defaultdict(set)
        for chain_id, symbol in is_open:
            self._chains[symbol].add(chain_id)
        self._known: defaultdict[Token, set[Way]] = defaultdict(set)
        self.total = sum(len(of) * (len(of) - 1) for of in self._chains.values())
        for way in known:
            self.total -= 1
            for token in _ends(way):
                self._known[token].add(way)

    def missing(self, token: Token) -> int:
        """The ways that are removed when the token is closed."""
        return 2 * (len(self._chains[token[1]]) - 1) - len(self._known[token])

    def close(self, token: Token) -> None:
        self.total -= self.missing(token)
        self._chains[token[1]].discard(token[0])
        for way in self._known.pop(token):
            for end in _ends(way):
                self._known[end].discard(way)


def _missing(is_open: Iterable[Token], known: set[Way]) -> Iterator[Way]:
    """The ways that would be derived, but are neither a route nor blocked."""
    chains: defaultdict[str, list[int]] = defaultdict(list)
    for chain_id, symbol in is_open:
        chains[symbol].append(chain_id)
    for symbol, of in chains.items():
        for src, dst in permutations(of, 2):
            if (symbol, src, dst) not in known:
                yield symbol, src, dst


def _blocked(blocks: Iterable[Row]) -> Iterator[Way]:
    for row in blocks:
        symbol, src, dst = _way(row)
        yield symbol, src, dst
        if row["both_directions"]:
            yield symbol, dst, src


def _way(row: Row) -> Way:
    return row["symbol"], row["src_chain_id"], row["dst_chain_id"]


def _ends(way: Way) -> tuple[Token, Token]:
    symbol, src, dst = way
    return (src, symbol), (dst, symbol)


Rows = Mapping[str, Sequence[Row]]
Json = dict[str, Any]


def build_configs(rows: Rows) -> TransferConfigs:
    """The transfer configs of the rows of the core sections, sorted so that the same network gives the same
    bytes.
    """
    answer = configs_answer(rows)
    body = orjson.dumps(answer)
    return TransferConfigs(answer, body, hashlib.sha256(body).hexdigest()[:32])


def configs_answer(rows: Rows) -> Json:
    chains = {row["chain_id"]: row for row in sorted(rows["chains"], key=itemgetter("chain_id"))}
    tokens = {(row["chain_id"], row["symbol"]): row for row in rows["tokens"]}
    ways = offered_ways(rows)
    pairs = sorted(rows["pegged_pairs"], key=itemgetter("org_chain_id", "pegged_chain_id", "symbol"))
    return {
        "err": None,
        "chains": [_chain(row) for row in chains.values()],
        "chain_token": _tokens_by_chain(chains, rows, ways),
        "farming_reward_contract_addr": "",
        "pegged_pair_configs": [_pair(chains, tokens, row) for row in pairs],
        "blocked_bridge_direct": [
            {"symbol": symbol, "src_chain_id": str(src), "dst_chain_id": str(dst)}
            for symbol, src, dst in ways.blocked
        ],
        "redirect_to_aggregators_config": [],
    } | {row["name"]: row["value"] for row in sorted(rows["config_fields"], key=itemgetter("name"))}


def _answered(row: Row, *models: type[Base]) -> Json:
    """The fields that clients get of a row: amounts as texts, empty where there is none."""
    return {
        name: row[column] if not isinstance(each.shape, Amount) else _amount(row[column])
        for name, (column, each, _) in published_columns(*models).items()
    }


def _amount(amount: int | None) -> str:
    return "" if amount is None else str(amount)


def _chain(row: Row) -> Json:
    return {**_answered(row, Chain), **row["extra"]}


def _tokens_by_chain(
    chains: Mapping[int, Row], rows: Rows, ways: OfferedWays
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """An entry for every chain, also where it has no token."""
    pool_of = {(row["chain_id"], row["symbol"]): row for row in rows["pools"]}
    listed: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(rows["tokens"], key=itemgetter("symbol")):
        key = row["chain_id"], row["symbol"]
        listed[row["chain_id"]].append(
            {
                **_token(
                    row, pool_of.get(key), disabled=chains[key[0]]["disabled"], closed=key in ways.closed
                ),
                **row["extra"],
            }
        )
    return {str(chain_id): {"token": listed[chain_id]} for chain_id in chains}


_NO_POOL: Final[Row] = dict.fromkeys(Pool.__table__.columns.keys())


def _token(row: Row, pool: Row | None, *, disabled: bool, closed: bool) -> Json:
    """With the caps of its pool. ``closed``: whether it cannot be sent through the pool, which
    ``xfer_disabled`` says to clients here; ``disabled``: whether its chain is.
    """
    stops = {"xfer_disabled": closed, "transfer_disabled": row["transfer_disabled"] or disabled}
    answered = _answered({**(pool or _NO_POOL), **row, **stops}, TokenTable, Pool)
    fields = published_columns(TokenTable).items()
    briefly = {name: answered.pop(name) for name, (*_, published) in fields if published.briefly}
    return {"token": briefly, **answered}


def _pair(chains: Mapping[int, Row], tokens: Mapping[Token, Row], row: Row) -> dict[str, Any]:
    """``xfer_disabled`` of both its tokens says to clients whether the pair works."""
    symbol, ids = row["symbol"], (row["org_chain_id"], row["pegged_chain_id"])
    listed = [tokens.get((chain_id, symbol)) for chain_id in ids]
    own = row["org_token"], row["pegged_token"]
    stopped = (
        any(of.get("xfer_disabled", False) for of in own)
        or any(token is not None and token["xfer_disabled"] for token in listed)
        or any(chains[chain_id]["disabled"] for chain_id in ids)
    )
    org_token, pegged_token = (
        _pair_token(symbol, token, {**of, **bounds}, disabled=chains[chain_id]["disabled"], stopped=stopped)
        for chain_id, token, of, bounds in zip(ids, listed, own, _bounds(row), strict=True)
    )
    return {
        "org_chain_id": row["org_chain_id"],
        "org_token": org_token,
        "pegged_chain_id": row["pegged_chain_id"],
        "pegged_token": pegged_token,
        **_answered(row, PeggedPair),
        **row["extra"],
    }


def _bounds(row: Row) -> tuple[Json, Json]:
    """The pair's bounds of deposits and of burns, as those of its original and its pegged token."""
    deposits, burns = (
        {f"{end}_send": row[f"{end}_{send}"] for end in ("min", "max") if row[f"{end}_{send}"] is not None}
        for send in ("deposit", "burn")
    )
    return deposits, burns


_OF_PAIRS: Final = frozenset(
    name for name, _, published in published_columns(TokenTable).values() if published.of_pairs
)
_ZERO: Final = {
    column: each.default for column, each, _ in published_columns(TokenTable).values() if each.left_out
}
"""The values of a pair's token in the fields about the pool or the chain's own token. It has no bounds where
its chain does not list it."""


def _pair_token(
    symbol: str, listed: Row | None, own: Mapping[str, Any], *, disabled: bool, stopped: bool
) -> Json:
    """A pair's token: the chain's, unless the pair has its own values (``own``, its bounds included). Fields
    of the pool are zero.
    """
    of_chain = {"name": symbol, "icon": ""} if listed is None else {key: listed[key] for key in _OF_PAIRS}
    of_pair = {key: value for key, value in own.items() if key in _OF_PAIRS}
    row = {**_ZERO, "symbol": symbol, **of_chain, **of_pair}
    return {**_token(row, None, disabled=disabled, closed=stopped), **own.get("extra", {})}
