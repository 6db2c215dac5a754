"""The pages of tokens and of pegged pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from flask import url_for
from markupsafe import Markup

from app.console.network.editing import NetworkView, SideTable
from app.console.network.names import (
    NOT_KNOWN,
    ChainIs,
    SymbolIs,
    amount_cell,
    chain_choices,
    chain_names,
    decimals_by_pool,
    row_title,
    symbol_choices,
    tiers_cell,
)
from app.console.network.routes import fee_lines
from app.console.network.token_state import NOT_POOLED, STATES, STOPPED, state_pill
from app.console.shell.access import EDIT, may
from app.console.shell.formats import cut
from app.console.shell.lists import Choice
from app.console.shell.views import read
from app.network.edits.plan import EDITABLE
from app.network.models import PeggedPair, Pool, Route, Token
from app.network.queries import rows_with
from app.network.sections import Row

_ROUTES: Final = EDITABLE["routes"]


def _state(token: Token) -> Markup:
    return state_pill(token.xfer_disabled or token.transfer_disabled, token.pool_disabled)


class _StateIs(Choice):
    """Which transfers of the token its row stops."""

    def __init__(self) -> None:
        super().__init__(Token.xfer_disabled, "State", list(STATES.items()))

    def apply(self, query: Any, value: str, alias: Any = None) -> Any:
        stopped = Token.xfer_disabled | Token.transfer_disabled
        if value == STOPPED:
            return query.filter(stopped)
        return query.filter(~stopped, Token.pool_disabled == (value == NOT_POOLED))


_MISSING: Final = ("Missing", "Where to add it")


def _missing(chain_id: int, symbol: str) -> Iterator[tuple[str, Markup]]:
    """What a token lacks, each with the link to the form that adds it; nothing of a pair's token."""
    pools, routes, pairs = (read(rows_with, model, "symbol", [symbol]) for model in (Pool, Route, PeggedPair))
    if any(chain_id in (row["org_chain_id"], row["pegged_chain_id"]) for row in pairs):
        return
    if all(row["chain_id"] != chain_id for row in pools):
        yield "Pool", _add("pools.new", "Add pool", chain_id=chain_id, symbol=symbol)
        return
    others = [row["chain_id"] for row in pools if row["chain_id"] != chain_id]
    if not others:
        yield "Another chain with a pool of it", _add("tokens.index_view", "Connect token", symbol=symbol)
        return
    for end, other, way in (("src_chain_id", "dst_chain_id", "from"), ("dst_chain_id", "src_chain_id", "to")):
        if all(row[end] != chain_id for row in routes):
            what = f"Route {way} {chain_names()[chain_id]}"
            known = {end: chain_id} | ({other: others[0]} if len(others) == 1 else {})
            yield what, _add("routes.new", "Add route", symbol=symbol, **known)
    for row in routes:
        if chain_id in (row["src_chain_id"], row["dst_chain_id"]) and not fee_lines(row):
            yield (
                f"Base fee of the {row_title('route', _ROUTES.documented(row))}",
                _add("routes.edit", "Enter fee", key=row["id"]),
            )


def _add(endpoint: str, label: str, **known: Any) -> Markup:
    """A link to a form, with what is known filled in; nothing for those who may not send it."""
    if not may(EDIT.change):
        return Markup("")
    return Markup('<a class="button small" href="{}">{}</a>').format(url_for(endpoint, **known), label)


class TokensView(NetworkView):
    """Tokens."""

    model_class = Token
    title = "Tokens"
    one = "token"
    explanation = "What can be sent. The same symbol means the same token on every chain."
    nothing = "No token is configured yet. Add a chain first, then its tokens."
    new_label = "Add token"
    column_list = ("symbol", "chain_id", "xfer_disabled", "name", "decimal", "address")
    column_labels = {"address": "Address"}
    column_sortable_list = (
        "symbol", "chain_id", ("xfer_disabled", ("xfer_disabled", "transfer_disabled", "pool_disabled")),
        "name", "decimal",
    )  # fmt: skip
    column_searchable_list = ("symbol", "name", "address")
    column_default_sort = [("symbol", False), ("chain_id", False)]
    column_filters = (
        ChainIs(Token.chain_id, "Chain"),
        SymbolIs(Token.symbol),
        _StateIs(),
    )
    column_formatters = {
        "xfer_disabled": lambda v, c, m, p: _state(m),
        "address": lambda v, c, m, p: cut(m.address),
    }

    def side_tables(self, row: Row) -> Sequence[SideTable]:
        lines = tuple(_missing(row["chain_id"], row["symbol"]))
        return (
            [SideTable("Still missing", "Transfers of the token need these.", _MISSING, lines)]
            if lines
            else []
        )

    # What *Connect token* above the list offers.
    chains = staticmethod(chain_choices)
    symbols = staticmethod(symbol_choices)
    decimals = staticmethod(decimals_by_pool)


class PeggedPairsView(NetworkView):
    """Tokens locked on one chain and minted on another."""

    model_class = PeggedPair
    title = "Pegged pairs"
    one = "pegged pair"
    explanation = "Tokens that are locked in a vault on their original chain and minted on another chain."
    nothing = "No pegged pair is configured. Add the token on both chains first, then the pair."
    new_label = "Add pegged pair"
    column_list = (
        "symbol", "org_chain_id", "pegged_chain_id", "deposit_base_fee", "burn_base_fee",
        "perc_fee_tiers", "bridge_version",
    )  # fmt: skip
    column_labels = {
        "symbol": "Symbol",
        "org_chain_id": "Original",
        "pegged_chain_id": "Pegged",
        "deposit_base_fee": "Deposit fee",
        "burn_base_fee": "Burn fee",
        "perc_fee_tiers": "Protocol fee",
        "bridge_version": "Bridge",
    }
    column_sortable_list = ("symbol", "org_chain_id", "pegged_chain_id", "bridge_version")
    column_searchable_list = (
        "symbol", "pegged_deposit_contract_addr", "pegged_burn_contract_addr",
        "canonical_token_contract_addr",
    )  # fmt: skip
    column_default_sort = [("symbol", False), ("org_chain_id", False), ("pegged_chain_id", False)]
    column_filters = (
        SymbolIs(PeggedPair.symbol),
        ChainIs(PeggedPair.org_chain_id, "Original"),
        ChainIs(PeggedPair.pegged_chain_id, "Pegged"),
    )
    column_formatters = {
        "deposit_base_fee": lambda v, c, m, p: amount_cell(
            m.deposit_base_fee, m.pegged_chain_id, m.symbol, NOT_KNOWN, m.pegged_token.get("decimal")
        ),
        "burn_base_fee": lambda v, c, m, p: amount_cell(
            m.burn_base_fee, m.org_chain_id, m.symbol, NOT_KNOWN, m.org_token.get("decimal")
        ),
        "perc_fee_tiers": lambda v, c, m, p: tiers_cell(
            m.perc_fee_tiers, m.org_chain_id, m.symbol, m.org_token.get("decimal")
        ),
    }
