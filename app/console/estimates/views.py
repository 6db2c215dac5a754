"""*Try an estimate*: the answer that a wallet gets, and every term, limit and check behind it."""

from __future__ import annotations

from fractions import Fraction
from ipaddress import ip_address
from typing import Any, Final

from flask import request, url_for
from flask_admin import expose
from msgspec import Struct
from werkzeug.datastructures import MultiDict
from wtforms import Form, SelectField, StringField, ValidationError
from wtforms.fields.choices import SelectChoice
from wtforms.validators import InputRequired

from app.console.estimates.summary import BRIDGE_TYPE_WORDS, OUTCOME_WORDS
from app.console.network.amount_fields import SMALLEST, TOKENS
from app.console.shell.access import READ
from app.console.shell.forms.numbers import exact, number_text
from app.console.shell.views import ConsoleView
from app.console.transfers.components import AmountText
from app.db.database import Database
from app.estimates.rules.explained_terms import Counted, Value
from app.estimates.rules.explanation import Explanation, explain
from app.estimates.rules.inputs import EstimateInputs, EstimateRequest
from app.estimates.rules.pricing import CURVE_DECIMALS, price_transfer
from app.estimates.rules.refusals import EstimateRefused
from app.estimates.services import estimate_inputs
from app.http.application import current
from app.network.rules.terms import FixedRate, NetworkTerms
from app.network.snapshot import SnapshotSource
from app.values.amounts import MAX_UINT256, PPM, format_units, is_ascii_digits
from app.values.identifiers import ChainId, PoolKey
from app.values.ip_addresses import IPAddress
from app.values.times import age_in_words
from app.values.wire_values import bounded_uint, user_address

RATE_DECIMALS: Final = 18

_YOUNGEST_SHOWN: Final = 0.1
"""Seconds. Facts that are not older than this count as read now."""


class Number(Struct, frozen=True):
    """A number in two notations.

    ``human`` is in whole tokens or percent, ``units`` in smallest units or millionths. ``human`` is empty
    where there is only one notation. A number with more decimals than are shown ends in an ellipsis.
    """

    human: str
    units: str


class Suggestion(Struct, frozen=True):
    """A value that would pass instead: an amount (source units) or a tolerance (millionths), in words and
    exact.
    """

    label: str
    amount: AmountText | None = None
    tolerance: int | None = None


class EstimateView(Struct, frozen=True):
    """An explanation, and what the page says about it in words.

    ``rate_source`` and ``fee_source`` say where rate and base fee come from; empty while no route or
    pegged pair is known. ``facts_age`` says how old the pools' balances and the reported fee are; empty where
    they do not count. ``received`` is None for a refusal. ``least`` and ``most`` are the amounts that pass,
    independently of the request. Both are None where none passes, ``most`` also where there is no bound.
    """

    explanation: Explanation
    units: Units
    inputs: tuple[tuple[str, str], ...]
    bridge_type_words: str
    rate_source: str
    fee_source: str
    facts_age: str
    suggestions: tuple[Suggestion, ...]
    received: AmountText | None
    least: AmountText | None
    most: AmountText | None


def estimate_view(inputs: EstimateInputs) -> EstimateView:
    """The explanation of these inputs for people, of an estimate or of its refusal."""
    explained, units = explain(price_transfer(inputs)), Units(inputs)
    passing, result = explained.passing, explained.priced.result
    least = passing.least_amt if passing else None
    most = passing.most_amt if passing and passing.most_amt < MAX_UINT256 else None
    return EstimateView(
        explanation=explained,
        units=units,
        inputs=tuple(_requested(inputs, units)),
        bridge_type_words=BRIDGE_TYPE_WORDS[explained.bridge_type],
        rate_source=_rate_source(explained),
        fee_source=_fee_source(explained),
        facts_age=_facts_age(inputs.facts_age),
        suggestions=_suggestions(explained.refusal, least, most, units) if explained.refusal else (),
        received=units.dst(result.receive) if result and explained.refusal is None else None,
        least=None if least is None else units.src(least),
        most=None if most is None else units.src(most),
    )


class Units:
    """Writes numbers in the units of one request's tokens."""

    def __init__(self, inputs: EstimateInputs) -> None:
        self.symbol = inputs.request.token_symbol
        self._decimals = {
            Counted.SRC: inputs.src_token.decimals if inputs.src_token else None,
            Counted.DST: inputs.dst_token.decimals if inputs.dst_token else None,
            Counted.CURVE: CURVE_DECIMALS,
        }

    def src(self, amt: int) -> AmountText:
        return self._amount(amt, Counted.SRC)

    def dst(self, amt: int) -> AmountText:
        return self._amount(amt, Counted.DST)

    def _amount(self, amt: int, counted: Counted) -> AmountText:
        decimals = self._decimals[counted]
        return AmountText(amt, self.symbol, "" if decimals is None else format_units(amt, decimals))

    def number(self, value: Value, counted: Counted | None) -> Number:
        if isinstance(value, str):
            return Number("", value)
        if counted in (Counted.PPM, Counted.RATIO):
            share = Fraction(value) / (PPM if counted is Counted.PPM else 1)
            ppm = f"{value} ppm" if counted is Counted.PPM else decimal_down(share, RATE_DECIMALS)
            return Number(f"{decimal_down(share * 100, 4)} %", ppm)
        decimals = self._decimals.get(counted) if counted is not None else None
        if decimals is None:
            return Number("", decimal_down(Fraction(value), RATE_DECIMALS))
        whole = decimal_down(Fraction(value) / 10**decimals, decimals + 6)
        human = whole if counted is Counted.CURVE else f"{whole} {self.symbol}"
        return Number(human, decimal_down(Fraction(value), 6))


def decimal_down(value: Fraction, decimals: int) -> str:
    """A fraction as people write it, cut towards zero after so many decimals; an ellipsis marks a cut."""
    sign = "-" if value < 0 else ""
    scaled = abs(value) * 10**decimals
    digits = scaled.numerator // scaled.denominator
    rest = "" if scaled.denominator == 1 else "…"
    return f"{sign}{format_units(digits, decimals)}{rest}"


def _requested(inputs: EstimateInputs, units: Units) -> list[tuple[str, str]]:
    request = inputs.request
    src, dst = inputs.src_chain, inputs.dst_chain
    amount = units.src(request.amt)
    tolerance = units.number(request.slippage_tolerance, Counted.PPM)
    return [
        ("From", f"{src.name} ({src.id})" if src else f"chain {request.src_chain_id}, not configured"),
        ("To", f"{dst.name} ({dst.id})" if dst else f"chain {request.dst_chain_id}, not configured"),
        ("Token", request.token_symbol),
        ("Amount", f"{amount}, {amount.units} smallest units" if amount.text else str(amount)),
        ("Slippage tolerance", f"{tolerance.human}, {tolerance.units}"),
        (
            "Pegged",
            {None: "Default: pegged pairs first", True: "Requested", False: "Not requested"}[
                request.is_pegged
            ],
        ),
    ]


def _rate_source(explained: Explanation) -> str:
    transfer = explained.priced.transfer
    if transfer is None:
        return ""
    if transfer.pools is None:
        return "1: a pegged token has the same value on both chains"
    rate = transfer.rate
    if isinstance(rate, FixedRate):
        return f"Fixed rate of the route, configured as {rate.text}"
    return f"StableSwap curve over the current balances of both pools, amplification {rate.amplification}"


def _fee_source(explained: Explanation) -> str:
    transfer, inputs = explained.priced.transfer, explained.priced.inputs
    if transfer is None:
        return ""
    if transfer.pools is None or inputs.route is None:
        return "Configured with the pegged pair"
    fee = inputs.route.base_fee
    if fee is None:
        return "Not known: neither configured with the route nor reported by the feed"
    if fee.pinned_until is not None:
        until = f"{fee.pinned_until:%Y-%m-%d %H:%M} UTC"
        return f"Pinned by an operator until {until}; used instead of the reported and the configured fee"
    since = f", {age_in_words(inputs.now - fee.since)}" if fee.since is not None else ""
    source = "Reported by the feed" if fee.reported else "Configured with the route"
    longest = inputs.route.base_fee_max_age_seconds
    good = f"; valid for {longest} seconds" if longest is not None else ""
    return f"{source}{since}{good}"


def _facts_age(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return "just now" if seconds < _YOUNGEST_SHOWN else f"{seconds:.1f} s ago"


def _suggestions(
    refusal: EstimateRefused, least: int | None, most: int | None, units: Units
) -> tuple[Suggestion, ...]:
    """The amounts and the tolerance that would pass, each once.

    :param least: the least amount that passes, independently of the request; None where none passes.
    :param most: the largest one; None also where there is no bound.
    """
    amounts = (
        ("Largest smaller amount that passes", refusal.largest_passing_amt),
        ("Smallest larger amount that passes", refusal.smallest_passing_amt),
        ("Minimum that passes", least),
        ("Maximum that passes", most),
    )
    labels: dict[int, str] = {}
    for label, amt in amounts:
        if amt is not None:
            labels.setdefault(amt, label)
    suggestions = [Suggestion(label, units.src(amt)) for amt, label in labels.items()]
    if refusal.largest_passing_tolerance is not None:
        tolerance = refusal.largest_passing_tolerance
        suggestions.append(Suggestion("Highest slippage tolerance that passes", tolerance=tolerance))
    return tuple(suggestions)


_PERCENT_PLACES: Final = 4
_PEGGED: Final[dict[str, bool | None]] = {"": None, "true": True, "false": False}


class EstimateForm(Form):
    """The form, read from a query string. After ``validate`` the amounts are exact integers."""

    src = SelectField("From", [InputRequired("Choose the source chain.")])
    dst = SelectField("To", [InputRequired("Choose the destination chain.")])
    token = SelectField("Token", [InputRequired("Choose a token.")], render_kw={"data-on": "src dst"})
    amount = StringField("Amount", render_kw={"inputmode": "decimal", "autocomplete": "off"})
    unit = SelectField(
        "Unit",
        choices=[
            SelectChoice(TOKENS, "Tokens, such as 12.5"),
            SelectChoice(SMALLEST, "Smallest units"),
        ],
        default=TOKENS,
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

    def validate_slippage(self, field: StringField) -> None:
        ppm = exact(number_text(field.data, "0.5"), _PERCENT_PLACES, "A tolerance in percent has")
        try:
            self.tolerance = bounded_uint(ppm, 32)
        except ValueError as error:
            raise ValidationError(f"The tolerance in ppm {error}.") from None

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
        return EstimateRequest(
            src_chain_id=ChainId(int(self.src.data)),
            dst_chain_id=ChainId(int(self.dst.data)),
            token_symbol=self.token.data,
            amt=self.amt,
            slippage_tolerance=self.tolerance,
            is_pegged=_PEGGED[self.pegged.data],
        )

    def query(self) -> dict[str, str]:
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

    @expose("/")
    def index(self) -> str:
        database = current(Database)
        snapshots = current(SnapshotSource)
        terms = snapshots.newest().terms
        form = EstimateForm(request.args, terms)
        decimals = {f"{key.chain_id} {key.symbol}": token.decimals for key, token in terms.tokens.items()}
        shown = _estimate(database, snapshots, form) if request.args and form.validate() else {}
        return self.render("console/estimates/index.html", form=form, decimals=decimals, **shown)


def _estimate(database: Database, snapshots: SnapshotSource, form: EstimateForm) -> dict[str, object]:
    accounts = (form.user.data,) if form.user.data else ()
    inputs = estimate_inputs(database, snapshots, form.request(), accounts, form.caller_address)

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
