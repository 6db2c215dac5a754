"""Connects a chain, or a token on a chain: with pools and routes that are copied from another chain."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import orjson
from msgspec import Struct, to_builtins
from msgspec.structs import replace

from app.audit.services import fingerprint
from app.db.database import Database
from app.db.engine import reading, reading_consistently
from app.network.edits.entered import Edits
from app.network.edits.plan import SECTION_BY_NAME, Edit
from app.network.edits.refusals import counted
from app.network.models import OpeningValidator, Pool
from app.network.models.columns import declared
from app.network.models.value_fields import NEW_RATE, NEW_TIERS
from app.network.queries import load_rows, rows_with
from app.network.row_checks import PIN
from app.network.rules.far_rates import FITTING_PPM, RouteTrial, is_far
from app.network.sections import Row
from app.values.amounts import format_units, mul_div_up, parse_decimal, scale_factors, tokens_text
from app.values.identifiers import RouteKey

_VALIDATORS = SECTION_BY_NAME["validators"]


Documented = Mapping[str, Any]


def opening_set(database: Database, chain_id: int) -> Mapping[int, Documented]:
    """The opening validators of the chain as the document writes them, by row number."""
    with reading(database.engine) as connection:
        rows = rows_with(connection, OpeningValidator, "chain_id", [chain_id])
    return {row["id"]: _VALIDATORS.documented(row) for row in sorted(rows, key=lambda row: row["id"])}


def opening_edits(chain_id: int, shown: Mapping[int, Documented], wanted: Sequence[Documented]) -> Edits:
    """The edits that make these the opening validators of the chain.

    :param wanted: members as the document writes them.
    """
    by_signer = {str(row["signer"]).casefold(): (number, row) for number, row in shown.items()}
    edits = []
    for row in wanted:
        number, before = by_signer.pop(str(row["signer"]).casefold(), (None, None))
        values = dict(row) if before is None else dict(row) | {"signer": before["signer"]}
        edits.append(Edit("validators", number, values, None if before is None else fingerprint(before)))
    edits += [Edit("validators", number, None, fingerprint(row)) for number, row in by_signer.values()]
    words = f"set the opening validators of chain {chain_id}: {counted(len(wanted), 'member')}"
    return Edits(tuple(edits), "network.validators", words, about=f"validators of chain {chain_id}")


class TokenExample(Struct, frozen=True):
    """A token of the example, and its pool; None where it has none."""

    token: Documented
    pool: Documented | None


class RouteExample(Struct, frozen=True):
    """A route between the new chain and another one, copied from a route of the example.

    ``there``: it leads from the new chain, otherwise to it. ``fee`` is the base fee in whole tokens, as the
    new chain may have other decimals; None is not known.
    """

    symbol: str
    peer: int
    peer_name: str
    there: bool
    like: Documented
    fee: str | None


class Example(Struct, frozen=True):
    """A chain that a new one is made like."""

    chain: Documented
    tokens: tuple[TokenExample, ...]
    routes: tuple[RouteExample, ...]
    decimals: Mapping[tuple[int, str], int]

    @property
    def fingerprint(self) -> str:
        """The fingerprint of all that is copied, in the order in which a form numbers its lines."""
        copied = [self.tokens, self.routes, sorted(self.decimals.items())]
        return hashlib.sha256(orjson.dumps(to_builtins(copied), option=orjson.OPT_SORT_KEYS)).hexdigest()

    def only(self, symbols: Collection[str]) -> Example:
        """The chain with these of its tokens only, and their routes."""
        return Example(
            self.chain,
            tuple(each for each in self.tokens if each.token["symbol"] in symbols),
            tuple(each for each in self.routes if each.symbol in symbols),
            {key: decimals for key, decimals in self.decimals.items() if key[1] in symbols},
        )


NO_EXAMPLE: Final = Example({}, (), (), {})
"""For a chain without an example: its tokens and routes are added afterwards."""


def example_of(database: Database, chain_id: int) -> Example | None:
    """The chain as an example; None where there is no such chain."""
    rows = _rows(database)
    if all(row["chain_id"] != chain_id for row in rows["chains"]):
        return None
    return _example(rows, chain_id)


def token_example(database: Database, chain_id: int, symbol: str) -> Example | None:
    """The token on the chain with most of its routes, for a chain that lacks it.

    Where that chain has no pool or no route of it, they are as new ones begin. None where no chain has the
    token, or this one has it already, or there is no such chain.
    """
    rows = {
        name: [row for row in found if row.get("symbol", symbol) == symbol]
        for name, found in _rows(database).items()
    }
    having = {row["chain_id"] for row in rows["tokens"]}
    if not having or chain_id in having or all(row["chain_id"] != chain_id for row in rows["chains"]):
        return None
    pools = {row["chain_id"] for row in rows["pools"]}
    routes = Counter(row["src_chain_id"] for row in rows["routes"])
    like = max(sorted(having), key=lambda chain: (routes[chain], chain in pools))
    example = _example(rows, like)
    (token,) = example.tokens
    if token.pool is not None and not example.routes:
        route = _NEW_ROUTE | {"symbol": symbol, "src_chain_id": like}
        name = example.chain["name"]
        own = [RouteExample(symbol, like, name, there, route, None) for there in (True, False)]
        example = replace(example, routes=tuple(own))
    return replace(example, tokens=(replace(token, pool=token.pool or _NEW_POOL),))


_NEW_POOL: Final[Documented] = {
    "total_cap": None,
    "epoch_cap": None,
    "epoch_seconds": declared(Pool)["epoch_seconds"].start,
}
_NEW_ROUTE: Final[dict[str, Any]] = {"rate": NEW_RATE, "perc_fee_tiers": NEW_TIERS}


def _rows(database: Database) -> Mapping[str, Sequence[Row]]:
    """The rows of one moment, by section."""
    sections = ("chains", "tokens", "pools", "routes")
    with reading_consistently(database.engine) as connection:
        return {name: load_rows(connection, SECTION_BY_NAME[name].model) for name in sections}


def _example(rows: Mapping[str, Sequence[Row]], chain_id: int) -> Example:
    names = {row["chain_id"]: row["name"] for row in rows["chains"]}
    decimals = {(row["chain_id"], row["symbol"]): row["decimal"] for row in rows["tokens"]}
    pools = {row["symbol"]: row for row in rows["pools"] if row["chain_id"] == chain_id}
    tokens = tuple(
        TokenExample(
            _documented("tokens", row),
            _documented("pools", pools[row["symbol"]]) if row["symbol"] in pools else None,
        )
        for row in rows["tokens"]
        if row["chain_id"] == chain_id
    )
    (chain,) = (row for row in rows["chains"] if row["chain_id"] == chain_id)
    routes = tuple(_routes(rows["routes"], chain_id, names, decimals))
    return Example(_documented("chains", chain), tokens, routes, decimals)


def connection_edits(
    name: str, chain_id: int, rows: Sequence[tuple[str, Documented]], symbol: str = ""
) -> Edits:
    """The edits that add the rows of a new chain, or of a token on a chain.

    :param name: of the chain.
    :param rows: each after the name of its section.
    :param symbol: of the token; empty for a new chain.
    """
    sections = Counter(section for section, _ in rows)
    kinds = {"tokens": "token", "pools": "pool", "routes": "route", "validators": "opening validator"}
    parts = ", ".join(counted(sections[of], kind) for of, kind in kinds.items() if sections[of])
    what, about = f"{name} (chain {chain_id})", f"chain {chain_id}"
    if symbol:
        what, about = f"{symbol} on {what}", f"token {symbol} on {about}"
    words = f"connect {what}" + (f": {parts}" if parts else "")
    edits = tuple(Edit(section, None, row) for section, row in rows)
    return Edits(edits, "network.connect", words, about=about)


def rescaled(smallest: int, decimals: int, to: int) -> int:
    """An amount in the smallest units of a token with other decimals, rounded up."""
    return mul_div_up(smallest, *scale_factors(decimals, to))


def _routes(
    rows: Sequence[Row], like: int, names: Mapping[int, str], decimals: Mapping[tuple[int, str], int]
) -> Sequence[RouteExample]:
    found = []
    for row in rows:
        src, dst, symbol, fee = row["src_chain_id"], row["dst_chain_id"], row["symbol"], row["base_fee"]
        if like in (src, dst):
            peer = dst if src == like else src
            tokens = None if fee is None else format_units(fee, decimals[dst, symbol])
            like_it = _documented("routes", row)
            found.append(RouteExample(symbol, peer, names[peer], src == like, like_it, tokens))
    found.sort(key=lambda each: (each.symbol, each.peer_name, not each.there))
    # Between the new chain and the example itself: as between the example and the first other chain, both
    # with the fee to the example, as the new chain is like it.
    for symbol in {each.symbol: None for each in found}:
        of = [each for each in found if each.symbol == symbol]
        ends = {each.there: each for each in of if each.peer == of[0].peer}
        for there in (True, False):
            route, fee = ends.get(there, of[0]), ends.get(False, of[0]).fee
            found.append(replace(route, peer=like, peer_name=names[like], there=there, fee=fee))
    return sorted(found, key=lambda each: (each.symbol, each.peer_name, not each.there))


def token_like(example: TokenExample, chain_id: int, address: str, decimals: int) -> Documented:
    """The token of a new chain, with the example's names."""
    names = {key: example.token[key] for key in ("symbol", "name", "icon")}
    return names | {"chain_id": chain_id, "address": address, "decimal": decimals}


def pool_like(
    example: TokenExample, chain_id: int, decimals: int, liquidity: int, total_cap: int | None
) -> Documented:
    """The pool of a new chain, with the example's epochs. Amounts are in smallest units, None is no cap."""
    like = example.pool or {}
    cap = like["epoch_cap"]
    return {
        "chain_id": chain_id,
        "symbol": example.token["symbol"],
        "liquidity_added": str(liquidity),
        "total_cap": None if total_cap is None else str(total_cap),
        "epoch_cap": None if cap is None else str(rescaled(int(cap), example.token["decimal"], decimals)),
        "epoch_seconds": like["epoch_seconds"],
    }


def route_like(
    example: RouteExample,
    chain_id: int,
    base_fee: int | None,
    decimals: Mapping[tuple[int, str], int],
    rate: Documented | None,
) -> Documented:
    """A route from a new chain or to it, with the example's protocol fee.

    :param base_fee: in the destination token's smallest units; None is not known.
    :param rate: as the document writes it; None: the example's.
    """
    like, symbol = example.like, example.symbol
    src, dst = (chain_id, example.peer) if example.there else (example.peer, chain_id)
    was, will = decimals[like["src_chain_id"], symbol], decimals[src, symbol]
    tiers = like["perc_fee_tiers"]
    # A fee is pinned because of what happens on one route.
    own = {key: value for key, value in like.items() if key not in PIN}
    return own | {
        "src_chain_id": src,
        "dst_chain_id": dst,
        "rate": like["rate"] if rate is None else rate,
        "base_fee": None if base_fee is None else str(base_fee),
        "perc_fee_tiers": None
        if tiers is None
        else [{"from": str(rescaled(int(tier["from"]), was, will)), "ppm": tier["ppm"]} for tier in tiers],
    }


def fits_anywhere(rate: Documented) -> bool:
    """Whether a rate may be copied without a look at the pools: fixed, and near 1."""
    return rate["model"] == "fixed" and not is_far(parse_decimal(rate["value"]), FITTING_PPM)


def unfit_rates(database: Database, edits: Edits, copied: Collection[RouteKey]) -> Mapping[RouteKey, str]:
    """Why copied rates do not fit the pools as they are with these edits; without the routes whose rate fits.

    :param copied: the routes that got the rate of another one.
    :raises EditRefused: why the edits would be refused.
    """
    now = database.clock()
    with reading_consistently(database.engine) as connection:
        trials = edits.planned(connection, now).trials
    empty = {
        edit.values["symbol"]
        for edit in edits.edits
        if edit.section == "pools" and edit.values is not None and int(edit.values["liquidity_added"]) == 0
    }
    found = {key: _misfit(trials.get(key), empty=key.symbol in empty) for key in copied}
    return {key: why for key, why in found.items() if why}


def _misfit(trial: RouteTrial | None, *, empty: bool) -> str:
    """Why a copied rate does not fit; empty where it does."""
    if trial is None:
        return "a stopped route cannot be tried"
    small = trial.after.small
    if small is None or trial.after.refused_by:
        return "the new pool is empty" if empty else f"no amount passes the check “{trial.after.refused_by}”"
    if is_far(small.rate, FITTING_PPM):
        sent = tokens_text(small.amt, trial.src_decimals, trial.symbol)
        return f"{sent} would bring {tokens_text(small.eq, trial.dst_decimals, trial.symbol)}"
    return ""


def _documented(section: str, row: Row) -> Documented:
    return SECTION_BY_NAME[section].written_out(row)
