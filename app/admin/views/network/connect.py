"""Connecting a chain, in steps on one page: the chain, tokens and pools, routes, validators."""

from __future__ import annotations

from typing import Final

from flask import flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.admin.access import Access, Audience
from app.admin.formats import sentence
from app.admin.forms.network.connect import ConnectForm, connect_form
from app.admin.ids import read_id
from app.admin.network_names import chain_choices, name_for_this_page
from app.admin.requests import actor
from app.admin.views.base import ConsoleView
from app.admin.views.flashes import flash_saved, note_unconfirmed
from app.admin.views.network.words import told
from app.domain.keys import ChainId, PoolKey
from app.runtime.gateway import current_gateway
from app.services.audit.results import Conflict
from app.services.network.edits.connect import (
    NO_EXAMPLE,
    Example,
    NewChain,
    NewRoute,
    connection_edits,
    example_of,
)
from app.services.network.edits.results import Invalid, Preview
from app.services.network.edits.several import preview_edits, save_edits
from app.services.proposals.results import ReasonMissing, TooManyProposals

_CHANGED: Final = (
    "What is copied was changed while you were editing. Nothing was saved: enter tokens and routes again, as "
    "they are now."
)
_NOTHING: Final = "nothing"
"""In the address: a chain by itself."""
_CONNECT: Final = Access(Audience.OPERATOR, Audience.OPERATOR, grave=True)


class ConnectView(ConsoleView):
    """A new chain, by itself or after another one's example, saved at once or proposed at once."""

    section = "Network"
    access = {"index": _CONNECT}

    def __init__(self) -> None:
        super().__init__(name="Connect a chain", endpoint="connect")

    def in_menu(self) -> bool:
        """The list of chains leads here."""
        return False

    @expose("/", methods=("GET", "POST"))
    def index(self) -> ResponseReturnValue:
        """Choose an example, fill in the form, look at what it will do, save it."""
        like = request.args.get("like", "") or ("" if chain_choices() else _NOTHING)
        example = _example(like)
        if example is None:
            if like:
                flash("There is no such chain. Choose one from the list.", "warning")
            return self.render("console/connect/choose.html", chains=chain_choices())
        form = connect_form(example)
        if request.method == "GET":
            return self._form_page(form)
        if form.fingerprint.data != example.fingerprint:
            form = connect_form(example, formdata=form.sent_without_lines())
            form.form_errors.append(_CHANGED)
            return self._form_page(form)
        if not form.validate() or form.back.data:
            return self._form_page(form)
        new = form.new_chain()
        if form.errors or form.form_errors:
            return self._form_page(form)
        return self._preview_or_save(form, new)

    def _preview_or_save(self, form: ConnectForm, new: NewChain) -> ResponseReturnValue:
        edits = connection_edits(form.example, new)
        gateway = current_gateway()
        try:
            if form.confirm.data:
                saved = save_edits(
                    gateway,
                    edits,
                    actor=actor(),
                    reason=form.proposal_reason.data or "",
                    note=form.note.data or "",
                )
                flash_saved(saved)
                if saved.proposal_id is not None:
                    return redirect(url_for("proposals.show", proposal_id=saved.proposal_id))
                return redirect(_next_page(new))
            return self._preview_page(form, new, preview_edits(gateway, edits))
        except (ReasonMissing, TooManyProposals) as refused:
            note_unconfirmed(form, refused)
            return self._preview_page(form, new, preview_edits(gateway, edits))
        except Invalid as refused:
            form.add_errors_of(new, refused.errors)
            return self._form_page(form)
        except Conflict as refused:
            form.form_errors.append(f"{sentence(str(refused))} Nothing was saved.")
            return self._form_page(form)

    def _form_page(self, form: ConnectForm) -> ResponseReturnValue:
        page = self.render("console/connect/form.html", form=form, example=form.example)
        return (page, 400) if form.form_errors else page

    def _preview_page(self, form: ConnectForm, new: NewChain, preview: Preview) -> str:
        name_for_this_page(new.chain["id"], new.chain["name"])
        return self.render(
            "console/connect/preview.html",
            form=form,
            preview=preview,
            name=new.chain["name"],
            told=[told(change) for change in preview.audited],
        )


def _example(like: str) -> Example | None:
    """The chain that the address names, or none to copy from; None where there is no such chain."""
    if like == _NOTHING:
        return NO_EXAMPLE
    return None if (chain_id := read_id(like)) is None else example_of(current_gateway(), chain_id)


def _next_page(new: NewChain) -> str:
    """Where one goes on: an estimate from the new chain, or its own page where it has no route.

    A route on which something is stopped, or with a fee that is not known, is the last choice.
    """
    routes = sorted((route for route in new.routes if route.there), key=lambda route: not _may_pass(route))
    if not routes:
        return url_for("chains.edit", key=new.chain["id"])
    first = routes[0].example
    return url_for("estimates.index", src=new.chain["id"], dst=first.peer, token=first.symbol, amount="100")


def _may_pass(route: NewRoute) -> bool:
    """Whether an estimate can come of the route, as far as its other end tells."""
    terms = current_gateway().snapshots.current().terms
    end = PoolKey(ChainId(route.example.peer), route.example.symbol)
    token, chain = terms.tokens.get(end), terms.chains.get(end.chain_id)
    if token is None or chain is None or route.base_fee is None:
        return False
    return not (token.stopped or token.pool_disabled or chain.disabled)
