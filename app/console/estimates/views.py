"""*Try an estimate*: the answer that a wallet gets, and every term, limit and check behind it."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any, Final

from flask import request, url_for
from flask_admin import expose
from werkzeug.datastructures import MultiDict
from wtforms import Form, SelectField, StringField, ValidationError
from wtforms.fields.choices import SelectChoice

from app.console.estimates.explained import Suggestion, estimate_view
from app.console.estimates.summary import OUTCOME_WORDS
from app.console.network.amount_fields import SMALLEST, TOKENS
from app.console.shell.access import READ
from app.console.shell.forms.numbers import exact, number_text
from app.console.shell.views import ConsoleView
from app.console.transfers.components import AmountText
from app.db.database import Database
from app.estimates.rules.inputs import EstimateRequest
from app.estimates.services import estimate_inputs
from app.http.application import current
from app.network.rules.terms import NetworkTerms
from app.network.snapshot import SnapshotSource
from app.values.amounts import MAX_UINT256, format_units, is_ascii_digits
from app.values.identifiers import ChainId, PoolKey
from app.values.ip_addresses import IPAddress
from app.values.wire_values import bounded_uint, user_address

_PERCENT_PLACES: Final = 4
_PEGGED: Final[dict[str, bool | None]] = {"": None, "true": True, "false": False}


class ChoiceField(SelectField):
    """One of a few values, with the console's own messages where it is none of them."""

    def __init__(self, label: str, missing: str, **kwargs: Any) -> None:
        super().__init__(label, choices=[], validate_choice=False, **kwargs)
        self.missing = missing

    def pre_validate(self, form: Any) -> None:
        if not self.data:
            raise ValidationError(self.missing)
        if self.data not in {choice.value for choice in self.choices}:
            raise ValidationError(f"“{str(self.data)[:60]}” is not configured. {self.missing}")


class EstimateForm(Form):
    """The form, read from a query string. After ``validate`` the amounts are exact integers."""

    src = ChoiceField("From", "Choose the source chain.")
    dst = ChoiceField("To", "Choose the destination chain.")
    token = ChoiceField("Token", "Choose a token.", render_kw={"data-on": "src dst"})
    amount = StringField("Amount", render_kw={"inputmode": "decimal", "autocomplete": "off"})
    unit = SelectField(
        "Unit",
        choices=[
            SelectChoice(TOKENS, "Tokens, such as 12.5"),
            SelectChoice(SMALLEST, "Smallest units"),
        ],
        default=TOKENS,
        validate_choice=False,
    )
    slippage = StringField(
        "Slippage tolerance (%)",
        default="0.5",
        description="0.5 % is sent to the API as 5000 (ppm).",
        render_kw={"inputmode": "decimal", "autocomplete": "off"},
    )
    pegged = SelectField(
        "Pegged",
        choices=[
            SelectChoice("", "Default: pegged pairs first"),
            SelectChoice("true", "Requested"),
            SelectChoice("false", "Not requested"),
        ],
        default="",
        validate_choice=False,
    )
    user = StringField(
        "User address",
        description="Checked against blocked addresses. Leave empty for a client that sends none.",
        render_kw={"autocomplete": "off", "spellcheck": "false"},
    )
    caller = StringField(
        "Client IP address",
        description="Checked against blocked networks. Leave empty to skip this check.",
        render_kw={"autocomplete": "off", "placeholder": "203.0.113.7"},
    )

    def __init__(self, args: MultiDict[str, str], terms: NetworkTerms) -> None:
        super().__init__(MultiDict((name, value.strip()) for name, value in args.items()))
        chains = sorted((info.name, chain_id) for chain_id, info in terms.chain_infos.items())
        named = [SelectChoice(str(chain_id), f"{name} ({chain_id})") for name, chain_id in chains]
        self.src.choices = self.dst.choices = [SelectChoice("", "Choose a chain"), *named]
        symbols = sorted({symbol for _, symbol in terms.tokens})
        self.token.choices = [SelectChoice("", "Choose a token"), *map(SelectChoice, symbols)]
        self._terms = terms
        self.amt = self.tolerance = 0
        self.caller_address: IPAddress | None = None

    def validate_amount(self, field: StringField) -> None:
        text = number_text(field.data, "12.5")
        if self.unit.data == SMALLEST:
            if not is_ascii_digits(text):
                raise ValidationError("Enter a whole number of smallest units, such as 12500000.")
            self.amt = _within_uint256(int(text))
            return
        self.amt = _within_uint256(exact(text, self._decimals(), f"{self.token.data} has"))

    def validate_unit(self, field: SelectField) -> None:
        if field.data not in (TOKENS, SMALLEST):
            raise ValidationError("Choose tokens or smallest units.")

    def validate_slippage(self, field: StringField) -> None:
        ppm = exact(number_text(field.data, "0.5"), _PERCENT_PLACES, "A tolerance in percent has")
        try:
            self.tolerance = bounded_uint(ppm, 32)
        except ValueError as error:
            raise ValidationError(f"The tolerance in ppm {error}.") from None

    def validate_pegged(self, field: SelectField) -> None:
        if field.data not in _PEGGED:
            raise ValidationError("Choose one of the options.")

    def validate_user(self, field: StringField) -> None:
        try:
            user_address(field.data or "")
        except ValueError as error:
            raise ValidationError(f"An address {error}.") from None

    def validate_caller(self, field: StringField) -> None:
        try:
            self.caller_address = ip_address(field.data) if field.data else None
        except ValueError:
            raise ValidationError("Enter one IP address, such as 203.0.113.7, not a network.") from None

    def request(self) -> EstimateRequest:
        """The requested estimate. Call it only after ``validate`` returned true."""
        return EstimateRequest(
            src_chain_id=ChainId(int(self.src.data)),
            dst_chain_id=ChainId(int(self.dst.data)),
            token_symbol=self.token.data,
            amt=self.amt,
            slippage_tolerance=self.tolerance,
            is_pegged=_PEGGED[self.pegged.data],
        )

    def query(self) -> dict[str, str]:
        """The fields that are not empty, as a link to this page has them."""
        return {field.name: str(field.data) for field in self if field.data}

    def _decimals(self) -> int:
        if self.src.errors or self.token.errors:
            raise ValidationError(
                "Choose the chain and the token first: they set the decimals of the amount."
            )
        token = self._terms.tokens.get(PoolKey(ChainId(int(self.src.data)), self.token.data))
        if token is None:
            raise ValidationError(
                f"{self.token.data} is not configured on the source chain, so its decimals are not known. "
                "Enter the amount in smallest units."
            )
        return token.decimals


def percent(tolerance: int) -> str:
    """Millionths as the form's percent, exact: 5000 is ``0.5``."""
    return format_units(tolerance, _PERCENT_PLACES)


def _within_uint256(amount: int) -> int:
    if amount > MAX_UINT256:
        raise ValidationError("Enter at most 2^256-1 smallest units.")
    return amount


class EstimatesView(ConsoleView):
    """One page. It changes nothing and is not counted in statistics. Its URL contains the request."""

    section = "Overview"
    access = {"index": READ}

    def __init__(self) -> None:
        super().__init__(name="Try an estimate", endpoint="estimates")

    @expose("/")
    def index(self) -> str:
        """The form, and the estimate that it requests."""
        database = current(Database)
        snapshots = current(SnapshotSource)
        terms = snapshots.newest().terms
        form = EstimateForm(request.args, terms)
        decimals = {f"{key.chain_id} {key.symbol}": token.decimals for key, token in terms.tokens.items()}
        shown = _estimate(database, snapshots, form) if request.args and form.validate() else {}
        return self.render("console/estimates/index.html", form=form, decimals=decimals, **shown)


def _estimate(database: Database, snapshots: SnapshotSource, form: EstimateForm) -> dict[str, object]:
    inputs = estimate_inputs(database, snapshots, form.request(), form.user.data or None, form.caller_address)

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
        "outcome_words": OUTCOME_WORDS,
    }
