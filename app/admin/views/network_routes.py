"""Routes, route blocks and pegged pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.admin.formats import pill, span, when
from app.admin.forms import fields
from app.admin.network_words import amount_cell, chain_cell, symbol_choices, tiers_cell
from app.admin.views.base_fees import BaseFees
from app.admin.views.lists import Choice, Flag
from app.admin.views.network import Beside, ChainIs, NetworkView, SymbolIs
from app.domain.keys import ChainId, RouteKey
from app.models.engine import reading
from app.models.network import PeggedPair, Route, RouteBlock
from app.queries.estimates.reported_fees import reported_fee
from app.runtime.gateway import current_gateway
from app.services.network.edits.open_routes import is_open


def _rate(route: Route) -> str:
    return f"fixed {route.rate_value}" if route.rate_model == "fixed" else f"curve, A {route.amplification}"


def _state(symbol: str, src: int, dst: int) -> Any:
    """Whether estimates are given for a way now."""
    terms = current_gateway().snapshots.current().terms
    route_key = RouteKey(symbol, ChainId(src), ChainId(dst))
    if route_key not in terms.routes:  # just added: this process reads it in a moment
        return pill("new")
    return pill("open", "good") if is_open(terms, route_key) else pill("stopped", "bad")


class RoutesView(BaseFees, NetworkView):
    """Routes through pools: rates and fees."""

    model_class = Route
    title = "Routes"
    one = "route"
    explanation = "One token in one direction through two pools: its rate, its fees."
    nothing = "No route is configured yet: add both pools first, then the route."
    row_endpoint = "routes.edit"
    new_endpoint = "routes.new"
    new_label = "New route"
    access = {**NetworkView.access, **BaseFees.more_access}
    column_list = (
        "symbol", "src_chain_id", "dst_chain_id", "state", "rate_model", "base_fee", "perc_fee_tiers",
    )  # fmt: skip
    column_labels = {
        "src_chain_id": "From",
        "dst_chain_id": "To",
        "rate_model": "Rate",
        "perc_fee_tiers": "Protocol fee",
        "rate_value": "rate",
    }
    column_sortable_list = ("symbol", "src_chain_id", "dst_chain_id", "rate_model")
    column_searchable_list = ("symbol", "rate_value")
    column_default_sort = [("symbol", False), ("src_chain_id", False), ("dst_chain_id", False)]
    column_filters = (
        SymbolIs(Route.symbol),
        ChainIs(Route.src_chain_id, "From"),
        ChainIs(Route.dst_chain_id, "To"),
        Choice(Route.rate_model, "Rate", [("fixed", "fixed"), ("stableswap", "curve")]),
    )
    numbers = frozenset({"base_fee", "perc_fee_tiers"})
    column_formatters = {
        "src_chain_id": lambda v, c, m, p: chain_cell(m.src_chain_id),
        "dst_chain_id": lambda v, c, m, p: chain_cell(m.dst_chain_id),
        "state": lambda v, c, m, p: _state(m.symbol, m.src_chain_id, m.dst_chain_id),
        "rate_model": lambda v, c, m, p: _rate(m),
        "base_fee": lambda v, c, m, p: amount_cell(m.base_fee, m.dst_chain_id, m.symbol),
        "perc_fee_tiers": lambda v, c, m, p: tiers_cell(m.perc_fee_tiers, m.src_chain_id, m.symbol),
    }
    fields = (
        fields.symbol(),
        fields.chain("src_chain_id", "From"),
        fields.chain("dst_chain_id", "To"),
        fields.rate(),
        fields.amount(
            "base_fee",
            "Base fee",
            "Pays the destination chain's gas; in the destination token's smallest units. "
            "A fee that the feed reports outranks it.",
            "dst_chain_id",
        ),
        fields.whole(
            "base_fee_max_age_seconds",
            "Greatest age of the base fee, in seconds",
            "Older than this, and not renewed by the feed, no estimate is given. Empty: no limit.",
            needed=False,
        ),
        fields.tiers("src_chain_id"),
    )

    def beside(self, row: Mapping[str, Any]) -> Sequence[Beside]:
        """The feed's fee, where there is one: it outranks the configured."""
        route_key = RouteKey(row["symbol"], row["src_chain_id"], row["dst_chain_id"])
        with reading(current_gateway().reads) as connection:
            reported = reported_fee(connection, route_key)
        if reported is None:
            return ()
        age = current_gateway().clock() - reported.at
        cells = amount_cell(reported.base_fee, route_key[2], route_key[0]), when(reported.at), span(age)
        return [
            Beside(
                "The feed's base fee",
                "It outranks the configured one: estimates are made with this.",
                ("Base fee", "Since", "Age"),
                (cells,),
            )
        ]


class RouteBlocksView(NetworkView):
    """Ways that are stopped."""

    model_class = RouteBlock
    title = "Route blocks"
    one = "route block"
    section = "Protection"
    explanation = "Stops one token between two chains, in one direction or in both; pegged transfers, too."
    nothing = "No way is blocked. Add a block to stop one token between two chains at once."
    row_endpoint = "route_blocks.edit"
    new_endpoint = "route_blocks.new"
    new_label = "New block"
    column_list = ("symbol", "src_chain_id", "dst_chain_id", "both_directions", "reason")
    column_labels = {"src_chain_id": "From", "dst_chain_id": "To", "both_directions": "Directions"}
    column_sortable_list = ("symbol", "src_chain_id", "dst_chain_id", "both_directions")
    column_searchable_list = ("symbol", "reason")
    column_default_sort = [("symbol", False), ("src_chain_id", False)]
    column_filters = (
        SymbolIs(RouteBlock.symbol),
        ChainIs(RouteBlock.src_chain_id, "Chain", RouteBlock.dst_chain_id),
        Flag(RouteBlock.both_directions, "Directions", "both", "one"),
    )
    column_formatters = {
        "src_chain_id": lambda v, c, m, p: chain_cell(m.src_chain_id),
        "dst_chain_id": lambda v, c, m, p: chain_cell(m.dst_chain_id),
        "both_directions": lambda v, c, m, p: (
            pill("both", "bad") if m.both_directions else pill("one", "warn")
        ),
    }
    fields = (
        fields.suggested("symbol", "Token", "Its symbol; it may be one that comes later.", symbol_choices),
        fields.any_chain("src_chain_id", "From", "A chain's id; it may be one that comes later."),
        fields.any_chain("dst_chain_id", "To", "A chain's id; it may be one that comes later."),
        fields.flag("both_directions", "Both directions", "Stops the way back, too.", start="1"),
        fields.note("reason", "Reason", "For operators. Users are never told."),
    )


class PeggedPairsView(NetworkView):
    """Tokens locked on one chain and minted on another."""

    model_class = PeggedPair
    title = "Pegged pairs"
    one = "pegged pair"
    explanation = "A token locked in a vault on its original chain and minted on another."
    nothing = "No pegged pair is configured. Add the token on both chains first, then the pair."
    row_endpoint = "pegged_pairs.edit"
    new_endpoint = "pegged_pairs.new"
    new_label = "New pair"
    column_list = (
        "symbol", "org_chain_id", "pegged_chain_id", "deposit_base_fee", "burn_base_fee",
        "perc_fee_tiers", "bridge_version",
    )  # fmt: skip
    column_labels = {
        "org_chain_id": "Original",
        "pegged_chain_id": "Pegged",
        "deposit_base_fee": "Deposit fee",
        "burn_base_fee": "Burn fee",
        "perc_fee_tiers": "Protocol fee",
        "bridge_version": "Bridge",
        "pegged_deposit_contract_addr": "vault",
        "pegged_burn_contract_addr": "bridge",
        "canonical_token_contract_addr": "canonical token",
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
    numbers = frozenset({"deposit_base_fee", "burn_base_fee", "perc_fee_tiers", "bridge_version"})
    column_formatters = {
        "org_chain_id": lambda v, c, m, p: chain_cell(m.org_chain_id),
        "pegged_chain_id": lambda v, c, m, p: chain_cell(m.pegged_chain_id),
        "deposit_base_fee": lambda v, c, m, p: amount_cell(m.deposit_base_fee, m.pegged_chain_id, m.symbol),
        "burn_base_fee": lambda v, c, m, p: amount_cell(m.burn_base_fee, m.org_chain_id, m.symbol),
        "perc_fee_tiers": lambda v, c, m, p: tiers_cell(m.perc_fee_tiers, m.org_chain_id, m.symbol),
    }
    fields = (
        fields.symbol(),
        fields.chain("org_chain_id", "Original chain", "Where the token is locked."),
        fields.chain("pegged_chain_id", "Pegged chain", "Where it is minted."),
        fields.line(
            "pegged_deposit_contract_addr",
            "Vault",
            "The contract on the original chain; refunds of deposits are addressed to it.",
        ),
        fields.line(
            "pegged_burn_contract_addr",
            "Bridge",
            "The contract on the pegged chain; refunds of burns are addressed to it.",
        ),
        fields.line(
            "canonical_token_contract_addr",
            "Canonical token",
            "Where the minted token has another, canonical form; may be empty.",
            needed=False,
        ),
        fields.whole("vault_version", "Vault version", start="2"),
        fields.whole(
            "bridge_version",
            "Bridge version",
            "Between two pegged chains of one token, both 2, transfers are burned and minted.",
            start="2",
        ),
        fields.amount(
            "deposit_base_fee",
            "Base fee to the pegged chain",
            "In the smallest units of the pegged chain's token.",
            "pegged_chain_id",
            start="0",
        ),
        fields.amount(
            "burn_base_fee",
            "Base fee back to the original chain",
            "In the smallest units of the original chain's token.",
            "org_chain_id",
            start="0",
        ),
        fields.tiers("org_chain_id"),
    )
