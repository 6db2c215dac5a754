"""The page of routes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.admin.formats import pill
from app.admin.forms.sections import RouteForm
from app.admin.network_names import chain_cell, tiers_cell
from app.admin.views.filters import ChainIs, Choice, SymbolIs
from app.admin.views.network.base_fees import BaseFees
from app.admin.views.network.editing import Beside, NetworkView
from app.admin.views.network.effective_fees import fee_cell, fee_lines
from app.domain.keys import ChainId, RouteKey
from app.models.network import Route
from app.runtime.gateway import current_gateway
from app.services.network.edits.open_routes import is_open


def _rate(route: Route) -> str:
    return f"fixed {route.rate_value}" if route.rate_model == "fixed" else f"curve, A {route.amplification}"


def _state(symbol: str, src: int, dst: int) -> Any:
    """Whether estimates are given for a route now."""
    terms = current_gateway().snapshots.current().terms
    route_key = RouteKey(symbol, ChainId(src), ChainId(dst))
    if route_key not in terms.routes:  # just added, and not loaded by this process yet
        return pill("new")
    return pill("open", "good") if is_open(terms, route_key, False) else pill("stopped", "bad")


class RoutesView(BaseFees, NetworkView):
    """Routes through pools: rates and fees."""

    model_class = Route
    title = "Routes"
    one = "route"
    explanation = "One token in one direction between two pools, with its rate and fees."
    nothing = "No route is configured yet. Add both pools first, then the route."
    row_endpoint = "routes.edit"
    new_endpoint = "routes.new"
    new_label = "Add route"
    access = {**NetworkView.access, **BaseFees.more_access}
    column_list = (
        "symbol", "src_chain_id", "dst_chain_id", "state", "rate_model", "base_fee", "perc_fee_tiers",
    )  # fmt: skip
    column_labels = {
        "symbol": "Token",
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
        "base_fee": lambda v, c, m, p: fee_cell(m),
        "perc_fee_tiers": lambda v, c, m, p: tiers_cell(m.perc_fee_tiers, m.src_chain_id, m.symbol),
    }
    row_form = RouteForm

    def beside(self, row: Mapping[str, Any]) -> Sequence[Beside]:
        """The base fees of the route, where there is another than the configured one, and which counts."""
        lines = fee_lines(row)
        if len(lines) < 2:
            return ()
        title = "Base fee in use"
        words = (
            "A pinned fee takes precedence over the reported one, and a reported one over the configured one."
        )
        return [Beside(title, words, ("", "Base fee", "Time", "State"), lines)]
