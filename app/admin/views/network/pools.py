"""The page of pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from app.admin.formats import grouped
from app.admin.forms.sections import PoolForm
from app.admin.network_names import amount_cell, chain_cell
from app.admin.views.filters import ChainIs, Present, SymbolIs
from app.admin.views.network.editing import Beside, NetworkView
from app.db.engine import reading
from app.domain.keys import PoolKey
from app.domain.pools import opening_counters
from app.models.network import Pool
from app.queries.estimates import counters_of
from app.runtime.gateway import current_gateway


class PoolsView(NetworkView):
    """Pools and their caps. Balances are counted from the feed."""

    model_class = Pool
    title = "Pools"
    one = "pool"
    explanation = "The liquidity of a token on a chain, with the caps on what the pool may hold and take in."
    nothing = "No pool is configured yet. Add a token first, then its pool."
    row_endpoint = "pools.edit"
    new_endpoint = "pools.new"
    new_label = "Add pool"
    column_list = ("symbol", "chain_id", "total_cap", "epoch_cap", "epoch_seconds")
    column_labels = {"symbol": "Token", "chain_id": "Chain", "epoch_seconds": "Epoch (seconds)"}
    column_sortable_list = ("symbol", "chain_id", "epoch_seconds")
    column_searchable_list = ("symbol",)
    column_default_sort = [("symbol", False), ("chain_id", False)]
    column_filters = (
        ChainIs(Pool.chain_id, "Chain"),
        SymbolIs(Pool.symbol),
        Present(Pool.total_cap, "Total cap", "set", "none"),
        Present(Pool.epoch_cap, "Epoch cap", "set", "none"),
    )
    numbers = frozenset({"total_cap", "epoch_cap", "epoch_seconds"})
    column_formatters = {
        "chain_id": lambda v, c, m, p: chain_cell(m.chain_id),
        "total_cap": lambda v, c, m, p: amount_cell(m.total_cap, m.chain_id, m.symbol, "no cap"),
        "epoch_cap": lambda v, c, m, p: amount_cell(m.epoch_cap, m.chain_id, m.symbol, "no cap"),
        "epoch_seconds": lambda v, c, m, p: grouped(m.epoch_seconds),
    }
    row_form = PoolForm

    def beside(self, row: Mapping[str, Any]) -> Sequence[Beside]:
        """Opening values, what the feed added, and what the pool holds."""
        pool = PoolKey(row["chain_id"], row["symbol"])
        with reading(current_gateway().reads) as connection:
            moved = counters_of(connection, pool)
        opening = opening_counters(row)
        together = opening + moved
        lines = [
            (name, *(amount_cell(getattr(counters, name), *pool) for counters in (opening, moved, together)))
            for name in ("added", "sent", "relayed", "withdrawn")
        ]
        lines = [(name[:1].upper() + name[1:], *cells) for name, *cells in lines]
        lines.append(("Balance", "", "", amount_cell(together.balance, *pool)))
        return [
            Beside(
                "What the pool holds",
                "Balance = added + sent − relayed − withdrawn. Only the event feed changes these counters.",
                ("", "Opening", "From the feed", "Total"),
                tuple(lines),
            )
        ]
