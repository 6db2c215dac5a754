"""Chains, tokens and pools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flask import flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from markupsafe import Markup

from app.admin.access import EDIT, may
from app.admin.formats import cut, grouped, pill
from app.admin.forms import fields
from app.admin.forms.network import EditForm
from app.admin.network_words import amount_cell, chain_cell, percent, symbol_choices
from app.admin.views.lists import Flag, Present
from app.admin.views.network import Attempt, Beside, ChainIs, NetworkView, SymbolIs
from app.domain.keys import PoolKey
from app.domain.pools import opening_counters
from app.models.engine import reading
from app.models.network import Chain, Pool, Token
from app.queries.estimates.pool_counters import counters_of
from app.queries.network.rows import chain_row_id
from app.runtime.gateway import current_gateway
from app.services.network.edits.edit import ShownRow, preview_edit
from app.services.network.edits.planning import Edit

_REASON = "Why it is stopped. Operators will ask; users are never told."


class ChainsView(NetworkView):
    """Chains, and the switch that stops one."""

    model_class = Chain
    title = "Chains"
    one = "chain"
    explanation = "Where transfers start and end. Stopping a chain stops every estimate from and to it."
    nothing = "No chain is configured yet: add one, or import a network document on the server."
    row_endpoint = "chains.edit"
    new_endpoint = "chains.new"
    new_label = "New chain"
    access = {**NetworkView.access, "stop": EDIT, "resume": EDIT}
    column_list = (
        "name", "chain_id", "disabled", "gas_token_symbol", "block_delay", "minimal_max_slippage",
        "contract_addr", "act",
    )  # fmt: skip
    column_labels = {
        "chain_id": "Id",
        "disabled": "State",
        "gas_token_symbol": "Gas token",
        "minimal_max_slippage": "Least slippage",
        "contract_addr": "Contract",
        "act": "",
        "disabled_reason": "reason",
    }
    column_sortable_list = ("name", "chain_id", "disabled", "block_delay", "minimal_max_slippage")
    column_searchable_list = ("name", "chain_id", "contract_addr", "disabled_reason")
    column_default_sort = "name"
    column_filters = (Flag(Chain.disabled, "State", "stopped", "in service"),)
    numbers = frozenset({"chain_id", "block_delay", "minimal_max_slippage"})
    column_formatters = {
        "disabled": lambda v, c, m, p: pill("stopped", "bad") if m.disabled else pill("in service", "good"),
        "minimal_max_slippage": lambda v, c, m, p: percent(m.minimal_max_slippage),
        "contract_addr": lambda v, c, m, p: cut(m.contract_addr),
        "act": lambda v, c, m, p: v.switch(m),
    }
    fields = (
        fields.whole("id", "Chain id", "From 1 to 4294967295, as wallets know it."),
        fields.line("name", "Name", "What people call it."),
        fields.line("icon", "Icon", "The https address of a picture; may be empty.", needed=False),
        fields.line(
            "explore_url",
            "Block explorer",
            "Its https address. Links are this, /tx/ and the transaction's hash.",
        ),
        fields.line(
            "contract_addr",
            "Bridge contract",
            "The pool bridge, to which refunds of pool sends are addressed. Empty where there is none yet.",
            needed=False,
        ),
        fields.line(
            "gas_token_symbol", "Gas token", "The symbol of the coin that pays for gas, such as ETH."
        ),
        fields.whole(
            "block_delay",
            "Block delay",
            "Blocks that a transfer waits on this chain when it starts here; told with its status.",
        ),
        fields.amount(
            "drop_gas_amt",
            "Gas given to receivers",
            "In the gas token's smallest units; told with estimates to this chain.",
            None,
            start="0",
        ),
        fields.whole(
            "minimal_max_slippage",
            "Least slippage, in ppm",
            "The contract takes a send only with a slippage that is strictly more than its own "
            "minimalMaxSlippage: enter the contract's value + 1. 10000 ppm are 1 %.",
        ),
        fields.flag("disabled", "Stopped", "No estimate is given from or to the chain. Transfers go on."),
        fields.note("disabled_reason", "Reason", _REASON),
    )

    def switch(self, chain: Chain) -> Any:
        """The button that stops or resumes a chain."""
        if not may(EDIT.change):
            return ""
        action, label = ("resume", "Resume") if chain.disabled else ("stop", "Stop")
        return Markup('<a class="button quiet small{}" href="{}" aria-label="{} {}">{}</a>').format(
            "" if chain.disabled else " danger",
            url_for(f"chains.{action}", key=chain.chain_id),
            label,
            chain.name,
            label,
        )

    def row_url(self, row: Any) -> str:
        """Chains go by their own ids."""
        return url_for("chains.edit", key=row.chain_id)

    def row_id(self, key: int) -> int | None:
        """The row of the chain with this id."""
        if not 0 < key < 1 << 63:
            return None
        with reading(current_gateway().reads) as connection:
            return chain_row_id(connection, key)

    def key_of(self, values: Mapping[str, Any], row_id: int) -> int:
        """The chain's id."""
        return int(values["id"])

    @expose("/<int:key>/stop", methods=("GET", "POST"))
    def stop(self, key: int) -> ResponseReturnValue:
        """Stop a chain: the reason, its name typed, and what it will do, on one page."""
        row = self.shown_row(key)
        if row.values["disabled"]:
            flash(f"{row.values['name']} is stopped already.", "warning")
            return redirect(url_for("chains.edit", key=key))
        form = EditForm(self.fields, row.values).fill()
        if request.method == "GET":
            return self._stop_page(form, row, row.fingerprint)
        seen, reason = request.form.get("seen"), request.form.get("disabled_reason", "")
        values = {"disabled": True, "disabled_reason": reason.replace("\r\n", "\n").strip()}

        def again(form: EditForm) -> ResponseReturnValue:
            return self._stop_page(form, row, seen)

        edit = Edit("chains", row.row_id, values, seen)
        return self.attempt(Attempt(edit, form, row, again), save=True)

    def _stop_page(self, form: EditForm, row: ShownRow, seen: str | None) -> str:
        # What it will do does not hang on the reason, which the service wants.
        values = {"disabled": True, "disabled_reason": "to be given"}
        return self.render(
            "console/network/stop.html",
            preview=preview_edit(current_gateway(), Edit("chains", row.row_id, values, row.fingerprint)),
            errors=form.errors,
            chain=row.values["name"],
            reason=request.form.get("disabled_reason", ""),
            typed=request.form.get("typed", ""),
            seen=seen,
        )

    @expose("/<int:key>/resume", methods=("GET", "POST"))
    def resume(self, key: int) -> ResponseReturnValue:
        """Put a stopped chain into service again, after a look at what opens."""
        row = self.shown_row(key)
        if not row.values["disabled"]:
            flash(f"{row.values['name']} is in service already.", "warning")
            return redirect(url_for("chains.edit", key=key))
        seen = request.form.get("seen") if request.method == "POST" else row.fingerprint
        edit = Edit("chains", row.row_id, {"disabled": False}, seen)
        form = EditForm(self.fields, row.values, dict.fromkeys(row.values, "")).fill()

        def again(form: EditForm) -> ResponseReturnValue:
            return redirect(url_for("chains.edit", key=key))

        return self.attempt(Attempt(edit, form, row, again))


class TokensView(NetworkView):
    """Tokens."""

    model_class = Token
    title = "Tokens"
    one = "token"
    explanation = "What can be sent. A symbol names the same token on every chain."
    nothing = "No token is configured yet: add a chain first, then its tokens."
    row_endpoint = "tokens.edit"
    new_endpoint = "tokens.new"
    new_label = "New token"
    column_list = ("symbol", "chain_id", "xfer_disabled", "name", "decimal", "address")
    column_labels = {"chain_id": "Chain", "xfer_disabled": "State", "decimal": "Decimals"}
    column_sortable_list = ("symbol", "chain_id", "xfer_disabled", "name", "decimal")
    column_searchable_list = ("symbol", "name", "address")
    column_default_sort = [("symbol", False), ("chain_id", False)]
    column_filters = (
        ChainIs(Token.chain_id, "Chain"),
        SymbolIs(Token.symbol),
        Flag(Token.xfer_disabled, "State", "stopped", "in service"),
    )
    numbers = frozenset({"decimal"})
    column_formatters = {
        "chain_id": lambda v, c, m, p: chain_cell(m.chain_id),
        "xfer_disabled": lambda v, c, m, p: (
            pill("stopped", "bad") if m.xfer_disabled else pill("in service", "good")
        ),
        "address": lambda v, c, m, p: cut(m.address),
    }
    fields = (
        fields.chain("chain_id", "Chain"),
        fields.suggested(
            "symbol",
            "Symbol",
            "The same on every chain where the token is; letter case counts.",
            symbol_choices,
        ),
        fields.line("name", "Name", "What people call it."),
        fields.line("icon", "Icon", "The https address of a picture; may be empty.", needed=False),
        fields.line("address", "Contract", "The token's contract on this chain."),
        fields.whole("decimal", "Decimals", "As the contract has them, from 0 to 36."),
        fields.flag("xfer_disabled", "Transfers stopped", "No estimate is given for this token here."),
    )


class PoolsView(NetworkView):
    """Pools' caps. What they hold is counted from the feed."""

    model_class = Pool
    title = "Pools"
    one = "pool"
    explanation = "Liquidity of a token on a chain, and how much it may hold or take in."
    nothing = "No pool is configured yet: add a token first, then its pool."
    row_endpoint = "pools.edit"
    new_endpoint = "pools.new"
    new_label = "New pool"
    column_list = ("symbol", "chain_id", "total_cap", "epoch_cap", "epoch_seconds")
    column_labels = {"chain_id": "Chain", "epoch_seconds": "Epoch, s"}
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
    fields = (
        fields.chain("chain_id", "Chain"),
        fields.symbol(),
        fields.amount(
            "total_cap",
            "Total cap",
            "The most that the pool may hold after a transfer, in smallest units. Empty: no cap.",
            "chain_id",
            needed=False,
        ),
        fields.amount(
            "epoch_cap",
            "Epoch cap",
            "The most that may be sent into the pool in one epoch, in smallest units. Empty: no cap.",
            "chain_id",
            needed=False,
        ),
        fields.whole(
            "epoch_seconds",
            "Length of an epoch, in seconds",
            "An epoch starts at each multiple of it since 1970: 3600 is every full hour.",
            start="3600",
        ),
        fields.amount(
            "liquidity_added", "Opening: added", "Liquidity before the feed began.", "chain_id", start="0"
        ),
        fields.amount(
            "liquidity_sent", "Opening: sent", "Sent by users before the feed began.", "chain_id", start="0"
        ),
        fields.amount(
            "liquidity_relayed",
            "Opening: relayed",
            "Paid out before the feed began.",
            "chain_id",
            start="0",
        ),
        fields.amount(
            "liquidity_withdrawn",
            "Opening: withdrawn",
            "Taken out by providers before the feed began.",
            "chain_id",
            start="0",
        ),
    )

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
        lines.append(("balance", "", "", amount_cell(together.balance, *pool)))
        return [
            Beside(
                "What the pool holds",
                "Balance = added + sent − relayed − withdrawn. The feed alone moves these counters.",
                ("", "Opening", "By the feed", "Together"),
                tuple(lines),
            )
        ]
