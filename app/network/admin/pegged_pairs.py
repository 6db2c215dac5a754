"""The page of pegged pairs."""

from __future__ import annotations

from app.network.admin.editing import NetworkView
from app.network.admin.names import NOT_KNOWN, ChainIs, SymbolIs, amount_cell, tiers_cell
from app.network.models import PeggedPair


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
