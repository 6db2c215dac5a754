"""Connecting a chain, in steps on one page: the chain, tokens and pools, routes, validators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

from flask import flash, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from msgspec.structs import replace
from werkzeug.datastructures import MultiDict
from wtforms import Form, FormField

from app.audit.services import Conflict, Saved
from app.console.access import Access, Audience
from app.console.caller import read_id
from app.console.formats import sentence
from app.console.forms.fields import FieldIds, FlagField, LineField, TextValueField, WholeField
from app.console.forms.numbers import number_text, without_spaces
from app.console.views import ConsoleView, after_saving
from app.db.database import Database
from app.network.admin.amount_fields import SMALLEST, TOKENS, UnitField
from app.network.admin.change_words import told
from app.network.admin.forms import row_inputs
from app.network.admin.names import chain_choices, name_for_this_page
from app.network.admin.previewed import saved_or_previewed
from app.network.admin.row_forms import RowForm
from app.network.admin.validators import ValidatorsField
from app.network.edits.connecting import (
    NO_EXAMPLE,
    Example,
    NewChain,
    NewRoute,
    NewToken,
    connection_edits,
    example_of,
)
from app.network.edits.results import FieldError, Invalid, Preview
from app.network.models import Chain
from app.network.models.columns import declared
from app.network.models.document_fields import MAX_DECIMALS
from app.network.snapshot import SnapshotSource
from app.parts import current
from app.values.amounts import format_units, is_uint256
from app.values.identifiers import ChainId, PoolKey


class UnitsField(TextValueField):
    """An amount, such as 12.5, in the unit that is chosen for all of its kind; empty is None."""

    attributes = {"autocomplete": "off", "inputmode": "decimal"}

    def parse(self, text: str) -> Any:
        if not self.needed and not without_spaces(text):
            return None
        return Fraction(number_text(text, "12.5"))


class _TokenLine(Form):
    """A token that the example has."""

    Meta = FieldIds
    partial = True
    take = FlagField("Connect")
    address = LineField("Contract", needed=False)
    decimal = WholeField("Decimals")
    liquidity = UnitsField("Opening liquidity", needed=False)
    total_cap = UnitsField("Total cap", needed=False)


class _RouteLine(Form):
    """The routes of a token from and to one chain."""

    Meta = FieldIds
    partial = True
    there = FlagField("From the new chain")
    fee_there = UnitsField("Base fee from the new chain", needed=False)
    back = FlagField("To the new chain")
    fee_back = UnitsField("Base fee to the new chain", needed=False)


_CHAIN_INPUTS: Final = row_inputs(Chain)
_COPIED: Final = tuple(name for name, each in declared(Chain).items() if each.copied)


class ConnectForm(RowForm):
    """A new chain, with what it has like the example. Fields of lines are called ``token0``, ``route0`` …"""

    validators = ValidatorsField(
        "Opening validators",
        "Leave empty if not known yet: refunds on this chain cannot be verified until a set is known.",
    )

    token_unit = UnitField("Unit of liquidity and caps", default=TOKENS)
    fee_unit = UnitField("Unit of base fees", default=TOKENS)

    def __init__(self, example: Example, **kwargs: Any) -> None:
        self.example = example
        super().__init__(row={key: example.chain[key] for key in _COPIED if key in example.chain}, **kwargs)

    def sent_without_lines(self) -> MultiDict[str, str]:
        """What was sent about the chain itself: tokens and routes may have other numbers now."""
        own = {field.name for field in (*self.chain_inputs(), self.validators)}
        pairs = request.form.items(multi=True)
        return MultiDict([pair for pair in pairs if pair[0] in own])

    def token_lines(self) -> Iterator[tuple[Any, Any]]:
        """Each token of the example, and its inputs."""
        for number, token in enumerate(self.example.tokens):
            yield token, self[f"token{number}"].form

    def route_lines(self) -> Iterator[tuple[Any, Any]]:
        """Each pair of routes of the example, and its inputs."""
        for number, route in enumerate(self.example.routes):
            yield route, self[f"route{number}"].form

    def decimals_input(self, symbol: str) -> str:
        """The name of the input that holds the decimals of a token on the new chain."""
        lines = (line for token, line in self.token_lines() if token.token["symbol"] == symbol)
        return next((line.decimal.name for line in lines), "")

    def chain_inputs(self) -> list[TextValueField]:
        """The inputs of the chain itself."""
        return [self[name] for name in _CHAIN_INPUTS]

    def later_inputs(self) -> list[TextValueField]:
        """Those among them that a chain can do without."""
        columns = {name: each for name, each in declared(Chain).items() if not each.shape.required}
        return [field for field in self.chain_inputs() if field.short_name in columns]

    def new_chain(self) -> NewChain:
        """What is asked for. Errors stand beside their inputs afterwards: look at ``errors``."""
        tokens: list[NewToken] = []
        decimals = dict(self.example.decimals)
        for token, line in self.token_lines():
            symbol = token.token["symbol"]
            if not line.take.data:
                continue
            if not line.address.data:
                _add(line.address, "Enter the token's contract on the new chain, or clear its checkbox.")
            places = line.decimal.data
            if not isinstance(places, int) or places > MAX_DECIMALS:
                _add(line.decimal, f"Enter a whole number from 0 to {MAX_DECIMALS}.")
                continue
            decimals[self.id.data, symbol] = places
            liquidity, cap = (
                _smallest(field, places, self.token_unit) for field in (line.liquidity, line.total_cap)
            )
            tokens.append(NewToken(token, line.address.data or "", places, liquidity or 0, cap))
        taken = {new.example.token["symbol"] for new in tokens if new.example.pool is not None}
        routes = [route for route in self._routes(decimals) if route.example.symbol in taken]
        chain = {field.name: field.data for field in self.chain_inputs()}
        return NewChain(chain, tokens, routes, self.validators.members(self.id.data))

    def _routes(self, decimals: dict[tuple[int, str], int]) -> Iterator[NewRoute]:
        """The picked routes. Those of a token that is not connected are left out by the caller."""
        for route, line in self.route_lines():
            for there, wanted, fee, dst in (
                (True, line.there.data, line.fee_there, route.peer),
                (False, line.back.data, line.fee_back, self.id.data),
            ):
                if wanted and (dst, route.symbol) in decimals:
                    amount = _smallest(fee, decimals[dst, route.symbol], self.fee_unit, up=True)
                    yield NewRoute(route, there, amount)

    def add_errors_of(self, new: NewChain, errors: Sequence[FieldError]) -> None:
        """Put errors of the service beside the inputs of the row that each is about."""
        rows: list[tuple[str, Any, dict[str, str]]] = [("The chain", None, {})]
        rows += [
            ("Opening validators", None, {"signer": "validators", "power": "validators"})
            for _ in new.validators
        ]
        lines = {token.token["symbol"]: line for token, line in self.token_lines()}
        for each in new.tokens:
            symbol = each.example.token["symbol"]
            rows.append((f"Token {symbol}", lines[symbol], {"address": "address", "decimal": "decimal"}))
        for each in new.tokens:
            symbol = each.example.token["symbol"]
            if each.example.pool is not None:
                own = {"liquidity_added": "liquidity", "total_cap": "total_cap"}
                rows.append((f"Pool of {symbol}", lines[symbol], own))
        for route in new.routes:
            way = "to" if route.there else "from"
            rows.append((f"Route of {route.example.symbol} {way} {route.example.peer_name}", None, {}))
        for error in errors:
            name, line, inputs = rows[error.edit] if error.edit < len(rows) else ("", None, {})
            if error.edit == 0:
                there = "already" in error.message and not error.path
                self.add_errors([replace(error, path="id") if there else error])
            elif line is not None and error.field in inputs:
                _add(line[inputs[error.field]], error.message)
            elif error.field in inputs:
                _add(self[inputs[error.field]], error.message)
            else:
                self.form_errors.append(f"{name}: {error}")


def connect_form(example: Example, **kwargs: Any) -> ConnectForm:
    """The form with a line for each token and route of the example."""
    lines: dict[str, Any] = dict(_CHAIN_INPUTS)
    for number, token in enumerate(example.tokens):
        pool = token.pool or {}
        cap = pool.get("total_cap")
        given = {
            "take": token.pool is not None,
            "decimal": token.decimals,
            "liquidity": "0",
            "total_cap": None if cap is None else format_units(int(cap), token.decimals),
        }
        lines[f"token{number}"] = FormField(_TokenLine, separator="_", default=given)
    for number, route in enumerate(example.routes):
        given = {
            "there": route.there is not None,
            "back": route.back is not None,
            "fee_there": route.fee_there,
            "fee_back": route.fee_back,
        }
        lines[f"route{number}"] = FormField(_RouteLine, separator="_", default=given)
    form: ConnectForm = type("ConnectForm", (ConnectForm,), lines)(example, **kwargs)
    return form


def _smallest(field: UnitsField, decimals: int, unit: UnitField, *, up: bool = False) -> int | None:
    """The amount in smallest units.

    :param unit: whether it was typed in tokens or in these.
    :param up: round it up; otherwise an amount with too many decimals is an error beside the input.
    """
    if field.data is None or isinstance(field.data, str):
        return None
    in_tokens = unit.text != SMALLEST
    amount = field.data * (10**decimals if in_tokens else 1)
    if amount.denominator != 1 and not in_tokens:
        _add(field, "Enter smallest units as digits only, or choose tokens as the unit.")
    elif amount.denominator != 1 and not up:
        _add(field, f"The token has {decimals} decimals. Enter at most {decimals} digits after the point.")
    whole = -(-amount.numerator // amount.denominator)
    if not is_uint256(whole):
        _add(field, "Enter at most 2^256-1 smallest units, the most that a contract can hold.")
        return None
    return whole


def _add(field: Any, message: str) -> None:
    field.errors = [*field.errors, message]


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
        try:
            outcome = saved_or_previewed(form, edits)
            if isinstance(outcome, Saved):
                return after_saving(outcome, _next_page(new))
            return self._preview_page(form, new, outcome)
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
    return None if (chain_id := read_id(like)) is None else example_of(current(Database), chain_id)


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
    terms = current(SnapshotSource).current().terms
    end = PoolKey(ChainId(route.example.peer), route.example.symbol)
    token, chain = terms.tokens.get(end), terms.chains.get(end.chain_id)
    if token is None or chain is None or route.base_fee is None:
        return False
    return not (token.stopped or token.pool_disabled or chain.disabled)
