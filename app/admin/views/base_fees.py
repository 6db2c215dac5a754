"""Base fees of all routes to one chain at once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Final

from flask import redirect, request
from flask.typing import ResponseReturnValue
from flask_admin import expose

from app.admin.access import EDIT, Access
from app.admin.forms.network import STEPS
from app.admin.network_words import chain_choices, decimals_by_place, symbol_choices
from app.admin.requests import actor, unexpected_field_complaint
from app.admin.views.network import flash_saved
from app.domain.amounts import is_ascii_digits, parse_decimal
from app.runtime.gateway import current_gateway
from app.services.audit.results import Conflict
from app.services.network.edits.fees import FeeEdit, preview_fees, save_fees
from app.services.network.edits.results import Invalid

_INPUTS: Final = ("dst_chain_id", "symbol", "how", "amount", "factor")
_LARGEST_FACTOR: Final = 1_000_000


class BaseFees:
    """The page "Base fees by destination" of the routes."""

    more_access: ClassVar[dict[str, Access]] = {"base_fees": EDIT}
    render: Any
    get_url: Any

    @expose("/base-fees", methods=("GET", "POST"))
    def base_fees(self) -> ResponseReturnValue:
        """Set or multiply base fees: a form, a preview row by row, a save."""
        source = request.form if request.method == "POST" else request.args
        texts = {name: source.get(name, "").strip()[:100] for name in _INPUTS}
        errors: dict[str, list[str]] = {}
        if request.method == "POST":
            if complaint := unexpected_field_complaint({*_INPUTS, *STEPS}):
                errors[""] = [complaint]
            else:
                edit = _read(texts, errors)
                if edit is not None and "back" not in request.form:
                    answer = self._attempt(edit, texts, errors)
                    if answer is not None:
                        return answer
        page: str = self.render(
            "console/network/fees.html",
            texts=texts,
            errors=errors,
            chains=chain_choices(),
            symbols=symbol_choices(),
            decimals=decimals_by_place(),
        )
        return (page, 400) if errors.get("") else page

    def _attempt(
        self, edit: FeeEdit, texts: dict[str, str], errors: dict[str, list[str]]
    ) -> ResponseReturnValue | None:
        """The preview, or the list after the save; None where something is wrong with the edit."""
        gateway, changed = current_gateway(), None
        try:
            if "confirm" in request.form:
                flash_saved(save_fees(gateway, edit, shown=request.form.get("seen", ""), actor=actor()))
                return redirect(self.get_url(".index_view"))
        except Conflict as refused:
            changed = refused
        except Invalid as refused:
            _take(refused, errors)
            return None
        try:
            preview = preview_fees(gateway, edit)
        except Invalid as refused:
            _take(refused, errors)
            return None
        return self.render("console/network/fees_preview.html", preview=preview, texts=texts, changed=changed)


def _take(refused: Invalid, errors: dict[str, list[str]]) -> None:
    for error in refused.errors:
        errors.setdefault(error.field, []).append(error.message)


def _read(texts: dict[str, str], errors: dict[str, list[str]]) -> FeeEdit | None:
    """What the form asks for; None, and the errors, where that cannot be."""
    chain = texts["dst_chain_id"]
    if not is_ascii_digits(chain) or len(chain) > 18:
        errors["dst_chain_id"] = ["choose the chain that the transfers go to"]
    amount: int | None = None
    factor: Fraction | None = None
    if texts["how"] == "amount":
        digits = "".join(texts["amount"].split())
        if is_ascii_digits(digits) and len(digits) <= 78:
            amount = int(digits)
        else:
            errors["amount"] = ["must be a whole number of the destination token's smallest units"]
        if not texts["symbol"]:
            errors["symbol"] = ["choose a token: each has a fee in units of its own"]
    elif texts["how"] == "factor":
        try:
            factor = parse_decimal(texts["factor"])
        except ValueError:
            errors["factor"] = ["must be a decimal number such as 1.5, with a point"]
        else:
            if not 0 < factor <= _LARGEST_FACTOR:
                errors["factor"] = [f"must be more than 0, and at most {_LARGEST_FACTOR}"]
    else:
        errors["how"] = ["choose what to do with the fees"]
    if errors:
        return None
    return FeeEdit(int(chain), texts["symbol"] or None, amount, factor)
