"""Connecting a chain, or a token on a chain, on one page: the chain, tokens and pools, routes, validators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from flask import flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.audit.services import Conflict, Saved
from app.console.network.connect_form import ConnectForm, NewRow, connect_form, rate_text
from app.console.network.editing import page_of_token
from app.console.network.names import chain_choices, name_for_this_page
from app.console.network.paged_changes import changes_page
from app.console.network.previewed import saved_or_previewed
from app.console.shell.access import EDIT, Access, Audience
from app.console.shell.caller import read_id
from app.console.shell.formats import sentence
from app.console.shell.views import ConsoleView, after_saving
from app.db.database import Database
from app.http.application import current
from app.network.edits.connecting import (
    NO_EXAMPLE,
    Example,
    connection_edits,
    example_of,
    token_example,
    unfit_rates,
)
from app.network.edits.results import Invalid
from app.network.snapshot import SnapshotSource
from app.values.identifiers import ChainId, PoolKey

_CHANGED: Final = (
    "What is copied was changed while you were editing. Nothing was saved: enter tokens and routes again, as "
    "they are now."
)
_MOST_LINES: Final = 60
"""Tokens and routes of an example that one page has. Of a chain with more, the tokens are chosen first."""
_NOTHING: Final = "nothing"
"""In the address: a chain without an example."""


class ConnectView(ConsoleView):
    """A new chain, with or without another one as its example, or a token on a chain that lacks it.

    All of it is saved or proposed together.
    """

    section = "Network"
    access = {"index": Access(Audience.OPERATOR, Audience.OPERATOR, sensitive=True), "token": EDIT}

    def __init__(self) -> None:
        super().__init__(name="Connect a chain", endpoint="connect")

    def in_menu(self) -> bool:
        """The lists of chains and tokens lead here."""
        return False

    @expose("/", methods=("GET", "POST"))
    def index(self) -> ResponseReturnValue:
        """Choose an example, and of a large one its tokens; fill in the form, preview the effects, save."""
        like = request.args.get("like", "") or ("" if chain_choices() else _NOTHING)
        example = _example(like)
        if example is None:
            if like:
                flash("There is no such chain. Choose one from the list.", "warning")
            return self.render("console/connect/choose.html", chains=chain_choices())
        if wanted := request.args.getlist("token"):
            example = example.only(wanted)
        elif request.method == "GET" and len(example.tokens) + len(example.routes) > _MOST_LINES:
            return self._choose_tokens(example, like)
        return self._connect(example, None)

    def _choose_tokens(self, example: Example, like: str) -> ResponseReturnValue:
        if "chosen" in request.args:
            flash("Select at least one token.", "warning")
        routes = Counter(each.symbol for each in example.routes)
        return self.render("console/connect/tokens.html", example=example, like=like, routes=routes)

    @expose("/token", methods=("GET", "POST"))
    def token(self) -> ResponseReturnValue:
        """As a chain: its token, pool and routes are filled in as on another chain that has the token."""
        chain_id, symbol = read_id(request.args.get("chain", "")), request.args.get("symbol", "")
        example = None if chain_id is None else token_example(current(Database), chain_id, symbol)
        if example is None:
            flash(
                "Choose a chain, and a token that it lacks and another chain has. "
                "Add a token that no chain has with “Add token”.",
                "warning",
            )
            return redirect(url_for("tokens.index_view", chain=chain_id))
        return self._connect(example, chain_id)

    def _connect(self, example: Example, to: int | None) -> ResponseReturnValue:
        form = connect_form(example, to)
        if request.method != "POST":
            return self._form_page(form)
        if form.fingerprint.data != example.fingerprint:
            form = connect_form(example, to, formdata=form.sent_without_lines())
            form.form_errors.append(_CHANGED)
            return self._form_page(form)
        if not form.validate() or form.back.data:
            return self._form_page(form)
        rows = form.rows()
        if form.errors or form.form_errors:
            return self._form_page(form)
        return self._preview_or_save(form, rows)

    def _preview_or_save(self, form: ConnectForm, rows: Sequence[NewRow]) -> ResponseReturnValue:
        name, chain_id = form.chain_name, form.chain_id
        added = [(new.section, new.row) for new in rows]
        try:
            edits = connection_edits(name, chain_id, added, form.symbol)
            if copied := form.copied_rates(rows):
                form.leave_open(unfit_rates(current(Database), edits, copied.keys()), copied)
            if form.errors:
                return self._form_page(form)
            outcome = saved_or_previewed(form, edits)
        except Invalid as refused:
            form.add_errors_of(rows, refused.errors)
            return self._form_page(form)
        except Conflict as refused:
            form.form_errors.append(f"{sentence(str(refused))} Nothing was saved.")
            return self._form_page(form)
        if isinstance(outcome, Saved):
            return after_saving(outcome, _next_page(form, rows))
        name_for_this_page(chain_id, name)
        return self.render(
            "console/connect/preview.html",
            form=form,
            preview=outcome,
            page=changes_page(outcome.audited),
        )

    def _form_page(self, form: ConnectForm) -> ResponseReturnValue:
        page = self.render("console/connect/form.html", form=form, example=form.example, rate_text=rate_text)
        return (page, 400) if form.form_errors else page


def _example(like: str) -> Example | None:
    """The chain that the address names, or no example; None where there is no such chain."""
    if like == _NOTHING:
        return NO_EXAMPLE
    return None if (chain_id := read_id(like)) is None else example_of(current(Database), chain_id)


def _next_page(form: ConnectForm, rows: Sequence[NewRow]) -> str:
    """The next page: an estimate from the chain, or the page of what is connected where it has no route.

    A route on which something is stopped, or with a fee that is not known, is the last choice.
    """
    chain_id = form.chain_id
    there = [new.row for new in rows if new.section == "routes" and new.row["src_chain_id"] == chain_id]
    if not there:
        return page_of_token(chain_id, form.symbol) if form.symbol else url_for("chains.edit", key=chain_id)
    first = min(there, key=lambda route: not _may_pass(route))
    return url_for(
        "estimates.index", src=chain_id, dst=first["dst_chain_id"], token=first["symbol"], amount="100"
    )


def _may_pass(route: Mapping[str, Any]) -> bool:
    """Whether the route has a base fee and nothing at its other end is stopped."""
    terms = current(SnapshotSource).current().terms
    end = PoolKey(ChainId(route["dst_chain_id"]), route["symbol"])
    token, chain = terms.tokens.get(end), terms.chains.get(end.chain_id)
    if token is None or chain is None or route["base_fee"] is None:
        return False
    return not (token.stopped or token.pool_disabled or chain.disabled)
