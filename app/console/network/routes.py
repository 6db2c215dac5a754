"""The page of routes, the base fee that counts on each, fees by destination, and the routes of a chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from flask import request
from flask.typing import ResponseReturnValue
from flask_admin import expose
from markupsafe import Markup
from msgspec import Struct
from msgspec.structs import replace

from app.audit.services import Conflict
from app.console.network.editing import NetworkView, SideTable
from app.console.network.forms import BaseFeesForm
from app.console.network.names import (
    NOT_KNOWN,
    ChainIs,
    SymbolIs,
    amount_cell,
    decimals_by_pool,
    tiers_cell,
)
from app.console.network.previewed import previewed, saved
from app.console.shell.access import EDIT
from app.console.shell.formats import pill, span, unknown, when
from app.console.shell.lists import Choice
from app.console.shell.row_pages import LINES, some_rows
from app.console.shell.views import after_saving, once_per_request, read
from app.console.transfers.components import ChainName, chain_name
from app.db.database import Database
from app.estimates.queries import reported_fees
from app.http.application import current
from app.network.edits.refusals import Invalid
from app.network.edits.route_changes import is_open
from app.network.models import Route
from app.network.rules.terms import (
    BaseFee,
    NetworkTerms,
    Reported,
    RouteTerms,
    base_fee_now,
    overdue_by_limit,
    route_terms,
)
from app.network.rules.validation_facts import route_key
from app.network.sections import Row
from app.network.snapshot import SnapshotSource
from app.values.identifiers import ChainId, RouteKey

PINNED: Final = "pinned"
REPORTED: Final = "reported"
CONFIGURED: Final = "configured"


class FeeNow(Struct, frozen=True):
    """The fee that counts, None where none is known; ``stale``: it is too old to be quoted."""

    fee: BaseFee | None
    stale: bool

    @property
    def source(self) -> str:
        """Where it comes from; empty where there is none."""
        if self.fee is None:
            return ""
        return PINNED if self.fee.pinned_until else REPORTED if self.fee.reported else CONFIGURED


def fee_now(route: RouteTerms, reported: Reported | None, now: datetime) -> FeeNow:
    """What an estimate on the route would use at this moment."""
    fee = base_fee_now(route.pin, reported, route.base_fee, now)
    return FeeNow(fee, overdue_by_limit(fee, route.base_fee_max_age_seconds, now) is not None)


def fee_lines(row: Row) -> tuple[tuple[Any, ...], ...]:
    """The pinned, the reported and the configured fee of a route's row, where there are, with marks."""
    route, key = route_terms(row), route_key(row)
    reported = _reported().get(key)
    found = fee_now(route, reported, current(Database).clock())

    def line(name: str, amount: int, time: Markup, source: str) -> tuple[Any, ...]:
        counts = pill("used now", "good") if found.source == source else ""
        stale = pill("too old", "bad") if counts and found.stale and source == REPORTED else ""
        cell = amount_cell(amount, key.dst_chain_id, key.symbol)
        return name, cell, time, Markup("{} {}").format(counts, stale)

    lines = []
    if route.pin is not None:
        until = Markup("until {}").format(when(route.pin.until))
        lines.append(line("Pinned", route.pin.amount, until, PINNED))
    if reported is not None:
        lines.append(
            line("Reported by the feed", reported[0], Markup("since {}").format(when(reported[1])), REPORTED)
        )
    if route.base_fee is not None:
        lines.append(line("Configured", route.base_fee.amount, Markup(""), CONFIGURED))
    return tuple(lines)


@once_per_request
def _reported() -> Mapping[RouteKey, Reported]:
    return read(reported_fees)


def fee_cell(row: Row) -> Markup:
    """The fee of a route's row, and under it where it comes from and since when."""
    key = route_key(row)
    found = fee_now(route_terms(row), _reported().get(key), current(Database).clock())
    smallest = None if found.fee is None else found.fee.amount
    amount = amount_cell(smallest, key.dst_chain_id, key.symbol, NOT_KNOWN)
    return Markup("{}{}").format(amount, _source_line(found))


def _source_line(found: FeeNow) -> Markup:
    fee = found.fee
    if fee is None:
        return Markup("")
    if fee.pinned_until is not None:
        text = Markup("{} until {}").format(pill(PINNED, "warn"), when(fee.pinned_until))
    else:
        text = Markup("{}{}").format("reported" if fee.reported else "configured", _age(fee.since))
    stale = Markup(" {}").format(pill("too old", "bad")) if found.stale else ""
    return Markup('<small class="fee-source faint">{}{}</small>').format(text, stale)


def _age(since: datetime | None) -> str:
    return "" if since is None else f" {span(current(Database).clock() - since)} ago"


class OtherEnd(Struct, frozen=True):
    """The routes from and to one other chain, pegged ones included.

    ``going`` and ``coming`` are how many are open, of how many. ``too_old`` counts those whose base fee is
    too old or not known. ``oldest`` is the age of the oldest base fee, None where none has an age.
    """

    chain: ChainName
    going: tuple[int, int]
    coming: tuple[int, int]
    too_old: int
    oldest: timedelta | None

    @property
    def needs_attention(self) -> bool:
        return bool(self.too_old) or self.going[0] < self.going[1] or self.coming[0] < self.coming[1]


def other_ends(terms: NetworkTerms, chain_id: ChainId, now: datetime) -> list[OtherEnd]:
    """The other chains that routes lead to or from, those with a route that gives no estimate first."""
    fees = read(reported_fees, chain_id)
    by_other: dict[ChainId, list[RouteKey]] = {}
    for key in terms.routes.keys() | terms.pegged.keys():
        if chain_id in (key.src_chain_id, key.dst_chain_id):
            other = key.dst_chain_id if key.src_chain_id == chain_id else key.src_chain_id
            by_other.setdefault(other, []).append(key)
    ends = [_other_end(terms, fees, other, keys, now) for other, keys in by_other.items()]
    return sorted(ends, key=lambda end: (not end.needs_attention, end.chain.name.casefold()))


def _other_end(
    terms: NetworkTerms,
    fees: Mapping[RouteKey, Reported],
    other: ChainId,
    keys: Sequence[RouteKey],
    now: datetime,
) -> OtherEnd:
    too_old, since = 0, list[datetime]()
    for key in keys:
        route = terms.routes.get(key)
        if route is None:
            continue
        found = fee_now(route, fees.get(key), now)
        if found.fee is None or found.stale:
            too_old += 1
        if found.fee is not None and found.fee.since is not None:
            since.append(found.fee.since)
    going = [is_open(terms, key) for key in keys if key.dst_chain_id == other]
    coming = [is_open(terms, key) for key in keys if key.src_chain_id == other]
    return OtherEnd(
        chain_name(terms.chain_infos, other),
        (sum(going), len(going)),
        (sum(coming), len(coming)),
        too_old,
        now - min(since) if since else None,
    )


def _rate(route: Route) -> str:
    return f"fixed {route.rate_value}" if route.rate_model == "fixed" else f"curve, A {route.amplification}"


def _state(row: Row) -> Any:
    """Whether estimates are given for a route now. It is not known while its base fee is not."""
    terms, key = current(SnapshotSource).current().terms, route_key(row)
    if key not in terms.routes:  # just added, and not yet loaded by this process
        return pill("new")
    if not is_open(terms, key, False):
        return pill("stopped", "bad")
    found = fee_now(route_terms(row), _reported().get(key), current(Database).clock())
    if found.fee is None:
        return unknown("no base fee")
    return unknown("old base fee", found.fee.since) if found.stale else pill("open", "good")


class RoutesView(NetworkView):
    """Routes through pools: rates and fees."""

    model_class = Route
    title = "Routes"
    one = "route"
    explanation = "One token in one direction between two pools, with its rate and fees."
    nothing = "No route is configured yet. Add both pools first, then the route."
    new_label = "Add route"
    access = {**NetworkView.access, "base_fees": EDIT}
    column_list = (
        "symbol", "src_chain_id", "dst_chain_id", "state", "rate_model", "base_fee", "perc_fee_tiers",
    )  # fmt: skip
    column_labels = {"perc_fee_tiers": "Protocol fee", "rate_value": "rate"}
    column_sortable_list = ("symbol", "src_chain_id", "dst_chain_id", "rate_model")
    column_searchable_list = ("symbol", "rate_value")
    column_default_sort = [("symbol", False), ("src_chain_id", False), ("dst_chain_id", False)]
    column_filters = (
        SymbolIs(Route.symbol),
        ChainIs(Route.src_chain_id, "From"),
        ChainIs(Route.dst_chain_id, "To"),
        Choice(Route.rate_model, "Rate", [("fixed", "fixed"), ("stableswap", "curve")]),
    )
    column_formatters = {
        "state": lambda v, c, m, p: _state(v.values_of(m)),
        "rate_model": lambda v, c, m, p: _rate(m),
        "base_fee": lambda v, c, m, p: fee_cell(v.values_of(m)),
        "perc_fee_tiers": lambda v, c, m, p: tiers_cell(m.perc_fee_tiers, m.src_chain_id, m.symbol),
    }

    def side_tables(self, row: Row) -> Sequence[SideTable]:
        """The base fees of the route, and which counts. Empty where there is only the configured one."""
        lines = fee_lines(row)
        if len(lines) < 2:
            return ()
        title = "Base fee in use"
        words = (
            "A pinned fee takes precedence over the reported one, and a reported one over the configured one."
        )
        return [SideTable(title, words, ("", "Base fee", "Time", "State"), lines)]

    @expose("/base-fees", methods=("GET", "POST"))
    def base_fees(self) -> ResponseReturnValue:
        form = BaseFeesForm(formdata=request.form if request.method == "POST" else request.args)
        if form.is_submitted() and form.validate() and not form.back.data:
            answer = self._preview_or_save(form)
            if answer is not None:
                return answer
        page = self.render("console/network/fees.html", form=form, decimals=decimals_by_pool())
        return (page, 400) if form.form_errors else page

    def _preview_or_save(self, form: BaseFeesForm) -> ResponseReturnValue | None:
        edit, changed = form.edit(), None
        try:
            try:
                if (made := saved(form, replace(edit, shown=form.fingerprint.data or ""))) is not None:
                    return after_saving(made, self.get_url(".index_view"))
            except Conflict as refused:
                changed = refused
            preview = previewed(form, edit)
        except Invalid as refused:
            form.add_errors(refused.errors)
            return None
        return self.render(
            "console/network/fees_preview.html",
            preview=preview,
            fees=some_rows(preview.effects, LINES),
            form=form,
            changed=changed,
        )
