"""The base fee that estimates on a route are made with, as lists show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from flask import g
from markupsafe import Markup

from app.admin.formats import pill, span, when
from app.admin.network_names import NOT_KNOWN, amount_cell
from app.db.engine import reading
from app.domain.estimate.base_fees import Reported, base_fee_now, overdue_by_limit
from app.domain.estimate.inputs import BaseFee, PinnedFee
from app.domain.keys import ChainId, RouteKey
from app.domain.times import parse_rfc3339
from app.models.network import Route
from app.queries.estimates import reported_fees
from app.runtime.gateway import current_gateway

PINNED: Final = "pinned"
REPORTED: Final = "reported"
CONFIGURED: Final = "configured"


@dataclass(frozen=True, slots=True)
class FeeNow:
    """The fee that counts, None where none is known; ``stale``: it is too old to be quoted."""

    fee: BaseFee | None
    stale: bool

    @property
    def source(self) -> str:
        """Where it comes from; empty where there is none."""
        if self.fee is None:
            return ""
        return PINNED if self.fee.pinned_until else REPORTED if self.fee.reported else CONFIGURED


def fee_now(route: Route) -> FeeNow:
    """What an estimate on the route would be made with at this moment."""
    pin = None
    if route.pinned_base_fee is not None and route.pinned_until is not None:
        pin = PinnedFee(route.pinned_base_fee, route.pinned_until)
    configured = None if route.base_fee is None else BaseFee(route.base_fee, since=route.base_fee_changed_at)
    route_key = RouteKey(route.symbol, ChainId(route.src_chain_id), ChainId(route.dst_chain_id))
    return _fee_now(pin, _reported().get(route_key), configured, route.base_fee_max_age_seconds)


def _fee_now(
    pin: PinnedFee | None, reported: Reported | None, configured: BaseFee | None, limit: int | None
) -> FeeNow:
    now = current_gateway().clock()
    fee = base_fee_now(pin, reported, configured, now)
    return FeeNow(fee, overdue_by_limit(fee, limit, now) is not None)


def fee_lines(row: Mapping[str, Any]) -> tuple[tuple[Any, ...], ...]:
    """The pinned, the reported and the configured fee of a documented route, as far as there are, with marks.

    The document does not say since when the configured fee has stood, so whether it is too old is not marked.
    """
    route_key = RouteKey(row["symbol"], row["src_chain_id"], row["dst_chain_id"])
    reported, pin = _reported().get(route_key), None
    if row.get("pinned_base_fee") is not None:
        pin = PinnedFee(int(row["pinned_base_fee"]), parse_rfc3339(row["pinned_until"]))
    configured = None if row["base_fee"] is None else BaseFee(int(row["base_fee"]))
    limit = row["base_fee_max_age_seconds"]
    found = _fee_now(pin, reported, configured, limit)

    def line(name: str, amount: int, time: Markup, source: str) -> tuple[Any, ...]:
        counts = pill("used now", "good") if found.source == source else ""
        stale = pill("too old", "bad") if counts and found.stale and source == REPORTED else ""
        cell = amount_cell(amount, route_key.dst_chain_id, route_key.symbol)
        return name, cell, time, Markup("{} {}").format(counts, stale)

    lines = []
    if pin is not None:
        lines.append(line("Pinned", pin.amount, Markup("until {}").format(when(pin.until)), PINNED))
    if reported is not None:
        lines.append(
            line("Reported by the feed", reported[0], Markup("since {}").format(when(reported[1])), REPORTED)
        )
    if configured is not None:
        lines.append(line("Configured", configured.amount, Markup(""), CONFIGURED))
    return tuple(lines)


def _reported() -> Mapping[RouteKey, Reported]:
    """The reported fees of all routes, read once per request."""
    if "network_reported_fees" not in g:
        with reading(current_gateway().reads) as connection:
            g.network_reported_fees = reported_fees(connection)
    fees: Mapping[RouteKey, Reported] = g.network_reported_fees
    return fees


def fee_cell(route: Route) -> Markup:
    """The fee, and under it where it comes from and since when."""
    found = fee_now(route)
    smallest = None if found.fee is None else found.fee.amount
    amount = amount_cell(smallest, route.dst_chain_id, route.symbol, NOT_KNOWN)
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
    return "" if since is None else f" {span(current_gateway().clock() - since)} ago"
