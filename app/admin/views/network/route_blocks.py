"""The page of route blocks."""

from __future__ import annotations

from app.admin.formats import pill, when
from app.admin.forms.sections import RouteBlockForm
from app.admin.network_names import chain_cell
from app.admin.views.filters import ChainIs, Flag, SymbolIs
from app.admin.views.network.blocked import BLOCKS, InForce, state_of_block
from app.admin.views.network.editing import NetworkView
from app.models.network import RouteBlock


class RouteBlocksView(NetworkView):
    """Routes that are stopped."""

    model_class = RouteBlock
    title = "Route blocks"
    one = "route block"
    tabs = BLOCKS
    explanation = (
        "Stops one token between two chains, in one or both directions. Applies to pegged pairs too."
    )
    nothing = "No route is blocked. Block one to stop a token between two chains at once."
    row_endpoint = "route_blocks.edit"
    new_endpoint = "route_blocks.new"
    new_label = "Block route"
    column_list = (
        "symbol", "src_chain_id", "dst_chain_id", "state", "both_directions", "reason", "expires_at",
    )  # fmt: skip
    column_labels = {
        "symbol": "Token",
        "src_chain_id": "From",
        "dst_chain_id": "To",
        "both_directions": "Directions",
        "expires_at": "Ends",
    }
    column_sortable_list = ("symbol", "src_chain_id", "dst_chain_id", "both_directions", "expires_at")
    column_searchable_list = ("symbol", "reason")
    column_default_sort = [("symbol", False), ("src_chain_id", False)]
    column_filters = (
        SymbolIs(RouteBlock.symbol),
        ChainIs(RouteBlock.src_chain_id, "Chain", RouteBlock.dst_chain_id),
        Flag(RouteBlock.both_directions, "Directions", "both", "one"),
        InForce(RouteBlock.expires_at),
    )
    column_formatters = {
        "src_chain_id": lambda v, c, m, p: chain_cell(m.src_chain_id),
        "dst_chain_id": lambda v, c, m, p: chain_cell(m.dst_chain_id),
        "state": lambda v, c, m, p: state_of_block(m),
        "expires_at": lambda v, c, m, p: when(m.expires_at),
        "both_directions": lambda v, c, m, p: (
            pill("both", "bad") if m.both_directions else pill("one", "warn")
        ),
    }
    row_form = RouteBlockForm
