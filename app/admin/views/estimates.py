"""Try an estimate: the answer that a wallet gets, and every term, limit and check behind it."""

from __future__ import annotations

from typing import Any

from flask import request, url_for
from flask_admin import expose

from app.admin.access import READ
from app.admin.forms.amounts import SMALLEST, TOKENS
from app.admin.forms.estimate import EstimateForm, percent
from app.admin.pages.components import AmountText
from app.admin.pages.estimate_view import Suggestion, estimate_view
from app.admin.views.base import ConsoleView
from app.runtime.gateway import Gateway, current_gateway
from app.services.estimates.estimate import estimate_inputs


class EstimatesView(ConsoleView):
    """One page. It changes nothing and is not counted in statistics; its address holds the request."""

    section = "Overview"
    access = {"index": READ}

    def __init__(self) -> None:
        super().__init__(name="Try an estimate", endpoint="estimates")

    @expose("/")
    def index(self) -> str:
        """The form, and the estimate that it asks for."""
        gateway = current_gateway()
        form = EstimateForm(request.args, gateway.snapshots.newest().terms)
        shown = _estimate(gateway, form) if request.args and form.validate() else {}
        return self.render("console/estimates/index.html", form=form, **shown)


def _estimate(gateway: Gateway, form: EstimateForm) -> dict[str, object]:
    inputs = estimate_inputs(gateway, form.request(), form.user.data or None, form.caller_address)

    def link(**changed: str) -> str:
        query: dict[str, Any] = form.query() | changed
        return url_for("estimates.index", **query)

    def with_amount(amount: AmountText) -> str:
        if amount.text:
            return link(amount=amount.text, unit=TOKENS)
        return link(amount=str(amount.units), unit=SMALLEST)

    def instead(suggestion: Suggestion) -> str:
        if suggestion.amount is not None:
            return with_amount(suggestion.amount)
        return link(slippage=percent(suggestion.tolerance or 0))

    return {
        "view": estimate_view(inputs),
        "with_amount": with_amount,
        "instead": instead,
        "percent": percent,
    }
