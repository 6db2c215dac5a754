"""The page of tokens."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from app.console.formats import cut, pill
from app.console.lists import Choice
from app.network.admin.editing import NetworkView
from app.network.admin.names import ChainIs, SymbolIs
from app.network.models import Token


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
