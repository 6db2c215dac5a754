"""The pages of tokens and of pegged pairs."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from app.console.formats import cut, pill
from app.console.lists import Choice
from app.network.admin.editing import NetworkView
from app.network.admin.names import NOT_KNOWN, ChainIs, SymbolIs, amount_cell, tiers_cell
from app.network.models import PeggedPair, Token


def _state(token: Token) -> Markup:
    """Which transfers of the token are stopped."""
    if token.xfer_disabled or token.transfer_disabled:
        return pill("stopped", "bad")
    return pill("pool stopped", "warn") if token.pool_disabled else pill("active", "good")


class _StateIs(Choice):
    """Which transfers of the token its row stops."""

    def __init__(self) -> None:
        options = [("1", "stopped"), ("2", "pool stopped"), ("0", "active")]
        super().__init__(Token.xfer_disabled, "State", options)

    def apply(self, query: Any, value: str, alias: Any = None) -> Any:
        stopped = Token.xfer_disabled | Token.transfer_disabled
        if value == "1":
            return query.filter(stopped)
        return query.filter(~stopped, Token.pool_disabled == (value == "2"))


class TokensView(NetworkView):
    """Tokens."""

    model_class = Token
    title = "Tokens"
    one = "token"
    explanation = "What can be sent. The same symbol means the same token on every chain."
    nothing = "No token is configured yet. Add a chain first, then its tokens."
    new_label = "Add token"
    column_list = ("symbol", "chain_id", "xfer_disabled", "name", "decimal", "address")
    column_labels = {"xfer_disabled": "State", "address": "Address"}
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
