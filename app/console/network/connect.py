"""Connecting a chain, or a token on a chain, on one page: the chain, tokens and pools, routes, validators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from flask import flash, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_admin import expose
from msgspec import Struct
from msgspec.structs import replace
from werkzeug.datastructures import MultiDict
from wtforms import Form, FormField

from app.audit.services import Conflict, Saved
from app.console.network.change_words import changes_page
from app.console.network.editing import page_of_token
from app.console.network.forms import RowForm, row_inputs
from app.console.network.names import chain_choices, chain_names
from app.console.network.previewed import saved_or_previewed
from app.console.network.validators import ValidatorsField
from app.console.shell.access import EDIT, Access, Audience
from app.console.shell.caller import read_id
from app.console.shell.formats import sentence
from app.console.shell.forms.fields import FieldIds, FlagField, LineField, TextValueField, WholeField
from app.console.shell.forms.numbers import number_text, whole_digits, without_spaces
from app.console.shell.views import ConsoleView, after_saving
from app.db.database import Database
from app.http.application import current
from app.network.edits.connect import (
    NO_EXAMPLE,
    Example,
    connection_edits,
    example_of,
    fits_anywhere,
    pool_like,
    route_like,
    token_example,
    token_like,
    unfit_rates,
)
from app.network.edits.refusals import FieldError, Invalid
from app.network.models import Chain
from app.network.models.columns import declared
from app.network.models.document_fields import MAX_DECIMALS
from app.network.snapshot import SnapshotSource
from app.values.amounts import format_units, is_uint256
from app.values.identifiers import ChainId, PoolKey, RouteKey


class TokensField(TextValueField):
    """An amount in whole tokens, such as 12.5. Empty is None."""

    attributes = {"autocomplete": "off", "inputmode": "decimal"}

    def parse(self, text: str) -> Any:
        if not self.needed and not without_spaces(text):
            return None
        return Fraction(number_text(text, "12.5"))


_CURVE: Final = "curve"


class ConnectedRateField(LineField):
    """A rate in one input: a number is a fixed one, ``curve 200`` a curve with that amplification."""

    def parse(self, text: str) -> Any:
        """The rate as the document writes it; None where nothing is typed."""
        words = text.casefold().removesuffix(_CURVE).removeprefix(_CURVE)
        if not text.strip():
            return None
        if words == text.casefold():
            return {"model": "fixed", "value": number_text(text, "1")}
        if (digits := whole_digits(words)) is None:
            raise ValueError("Enter a rate such as 1, or a curve with its amplification, such as curve 200.")
        return {"model": "stableswap", "amplification": int(digits)}

    def format(self, value: Any) -> str:
        return "" if value is None else rate_text(value)


def rate_text(rate: Mapping[str, Any]) -> str:
    """A rate as it is typed: ``1`` or ``curve 200``."""
    return str(rate["value"]) if rate["model"] == "fixed" else f"{_CURVE} {rate['amplification']}"


class _TokenLine(Form):
    Meta = FieldIds
    partial = True
    take = FlagField("Connect")
    address = LineField("Contract", needed=False)
    decimal = WholeField("Decimals")
    liquidity = TokensField("Opening liquidity", needed=False)
    total_cap = TokensField("Total cap", needed=False)


class _RouteLine(Form):
    Meta = FieldIds
    partial = True
    take = FlagField("Connect")
    rate = ConnectedRateField("Rate", needed=False)
    fee = TokensField("Base fee", needed=False)


_CHAIN_INPUTS: Final = row_inputs(Chain)
_COPIED: Final = tuple(name for name, each in declared(Chain).items() if each.copied)


class NewRow(Struct, frozen=True):
    """A row that is added: its name in messages, and the inputs of its keys."""

    section: str
    row: Mapping[str, Any]
    title: str
    inputs: Mapping[str, Any] = {}


class ConnectForm(RowForm):
    """The form of a new chain, or of one that lacks the example's only token, with what the example has.

    Fields of lines are named ``token0``, ``route0`` … The chain has inputs only where it is new.
    """

    validators = ValidatorsField(
        "Opening validators",
        "Leave empty if not known yet: refunds on this chain cannot be verified until a set is known.",
    )

    def __init__(self, example: Example, to: int | None, **kwargs: Any) -> None:
        self.example, self.to = example, to
        super().__init__(row={key: example.chain[key] for key in _COPIED if key in example.chain}, **kwargs)

    def sent_without_lines(self) -> MultiDict[str, str]:
        """The values sent about the chain itself. Tokens and routes may have other numbers now."""
        own = {field.name for field in self.chain_inputs()} | {"validators"}
        pairs = request.form.items(multi=True)
        return MultiDict([pair for pair in pairs if pair[0] in own])

    @property
    def chain_id(self) -> Any:
        return self.id.data if self.to is None else self.to

    @property
    def symbol(self) -> str:
        """The token that is connected; empty for a chain."""
        return "" if self.to is None else self.example.tokens[0].token["symbol"]

    @property
    def chain_name(self) -> str:
        return self.name.data if self.to is None else chain_names()[self.to]

    @property
    def title(self) -> str:
        return f"{self.symbol} on {self.chain_name}" if self.symbol else self.chain_name

    def token_lines(self) -> Iterator[tuple[Any, Any]]:
        for number, token in enumerate(self.example.tokens):
            yield token, self[f"token{number}"].form

    def route_lines(self) -> Iterator[tuple[Any, Any]]:
        for number, route in enumerate(self.example.routes):
            yield route, self[f"route{number}"].form

    def chain_inputs(self) -> list[TextValueField]:
        return [self[name] for name in _CHAIN_INPUTS] if self.to is None else []

    def later_inputs(self) -> list[TextValueField]:
        columns = {name: each for name, each in declared(Chain).items() if not each.shape.required}
        return [field for field in self.chain_inputs() if field.short_name in columns]

    def rows(self) -> list[NewRow]:
        """The rows to add, a new chain's own first. What is wrong is added to ``errors``; the page shows it
        next to the inputs.
        """
        chain_id = self.chain_id
        tokens: list[NewRow] = []
        pools: list[NewRow] = []
        decimals = dict(self.example.decimals)
        for token, line in self.token_lines():
            symbol = token.token["symbol"]
            if not line.take.data:
                continue
            if not line.address.data:
                where = self.chain_name if self.symbol else "the new chain"
                _add(line.address, f"Enter the token's contract on {where}.")
            places = line.decimal.data
            if not isinstance(places, int) or places > MAX_DECIMALS:
                _add(line.decimal, f"Enter a whole number from 0 to {MAX_DECIMALS}.")
                continue
            decimals[chain_id, symbol] = places
            row = token_like(token, chain_id, line.address.data or "", places)
            inputs = {"address": line.address, "decimal": line.decimal}
            tokens.append(NewRow("tokens", row, f"Token {symbol}", inputs))
            liquidity, cap = (_smallest(field, places) for field in (line.liquidity, line.total_cap))
            if token.pool is not None:
                row = pool_like(token, chain_id, places, liquidity or 0, cap)
                inputs = {"liquidity_added": line.liquidity, "total_cap": line.total_cap}
                pools.append(NewRow("pools", row, f"Pool of {symbol}", inputs))
        routes = self._routes(decimals, {p.row["symbol"] for p in pools})
        return [*(self._chain() if self.to is None else ()), *tokens, *pools, *routes]

    def _chain(self) -> Iterator[NewRow]:
        yield NewRow("chains", {field.name: field.data for field in self.chain_inputs()}, "The chain")
        inputs = {"signer": self.validators, "power": self.validators}
        for member in self.validators.members(self.chain_id):
            yield NewRow("validators", member, "Opening validators", inputs)

    def _routes(self, decimals: dict[tuple[int, str], int], symbols: set[str]) -> Iterator[NewRow]:
        """The picked routes of the tokens that get a pool."""
        for route, line in self.route_lines():
            if line.take.data and route.symbol in symbols:
                dst = route.peer if route.there else self.chain_id
                amount = _smallest(line.fee, decimals[dst, route.symbol], up=True)
                row = route_like(route, self.chain_id, amount, decimals, line.rate.data)
                title = f"Route of {route.symbol} {'to' if route.there else 'from'} {route.peer_name}"
                yield NewRow("routes", row, title, {"rate": line.rate, "base_fee": line.fee})

    def copied_rates(self, rows: Sequence[NewRow]) -> dict[RouteKey, NewRow]:
        return {
            RouteKey(new.row["symbol"], new.row["src_chain_id"], new.row["dst_chain_id"]): new
            for new in rows
            if new.section == "routes"
            and new.inputs["rate"].data is None
            and not fits_anywhere(new.row["rate"])
        }

    def leave_open(self, unfit: Mapping[RouteKey, str], copied: Mapping[RouteKey, NewRow]) -> None:
        """Require a rate for each route that the example's rate does not fit."""
        for key, why in unfit.items():
            of, rate = self.example.chain["name"], rate_text(copied[key].row["rate"])
            _add(copied[key].inputs["rate"], f"Enter a rate. The rate of {of}, {rate}, is not copied: {why}.")

    def add_errors_of(self, rows: Sequence[NewRow], errors: Sequence[FieldError]) -> None:
        for error in errors:
            of = rows[error.edit] if error.edit < len(rows) else NewRow("", {}, "")
            if of.section == "chains":
                there = "already" in error.message and not error.path
                self.add_errors([replace(error, path="id") if there else error])
            elif error.field in of.inputs:
                _add(of.inputs[error.field], error.message)
            else:
                self.form_errors.append(f"{of.title}: {error}")


def connect_form(example: Example, to: int | None, **kwargs: Any) -> ConnectForm:
    """The form with a line for each token and route of the example.

    :param to: the chain that the only token is connected on; None for a new chain.
    """
    lines: dict[str, Any] = dict(_CHAIN_INPUTS) if to is None else {"validators": None}
    for number, token in enumerate(example.tokens):
        pool = token.pool or {}
        cap = pool.get("total_cap")
        given = {
            "take": token.pool is not None,
            "decimal": token.token["decimal"],
            "liquidity": "0",
            "total_cap": None if cap is None else format_units(int(cap), token.token["decimal"]),
        }
        lines[f"token{number}"] = FormField(_TokenLine, separator="_", default=given)
    for number, route in enumerate(example.routes):
        # Whether a curve fits is known only once the liquidity is entered.
        rate = route.like["rate"] if fits_anywhere(route.like["rate"]) else None
        given = {"take": True, "rate": rate, "fee": route.fee}
        lines[f"route{number}"] = FormField(_RouteLine, separator="_", default=given)
    form: ConnectForm = type("ConnectForm", (ConnectForm,), lines)(example, to, **kwargs)
    return form


def _smallest(field: TokensField, decimals: int, *, up: bool = False) -> int | None:
    """The amount in smallest units.

    :param up: round it up; otherwise an amount with too many decimals is an error of the input.
    """
    if field.data is None or isinstance(field.data, str):
        return None
    amount = field.data * 10**decimals
    if amount.denominator != 1 and not up:
        _add(field, f"The token has {decimals} decimals. Enter at most {decimals} digits after the point.")
    whole = -(-amount.numerator // amount.denominator)
    if not is_uint256(whole):
        _add(field, "Enter at most 2^256-1 smallest units, the most that a contract can hold.")
        return None
    return whole


def _add(field: Any, message: str) -> None:
    field.errors = [*field.errors, message]


_CHANGED: Final = (
    "The chain that you copy from was changed while you were editing. Nothing was saved: enter tokens and "
    "routes again."
)
_MOST_LINES: Final = 100
"""Tokens and routes of an example that one page has. Of a chain with more, the tokens are chosen first."""
_NOTHING: Final = "nothing"
"""In the address: a chain without an example."""


class ConnectView(ConsoleView):
    """A new chain, with or without another one as its example, or a token on a chain that lacks it.

    All of it is saved or proposed together.
    """

    section = ""  # the lists of chains and tokens lead here
    access = {"index": Access(Audience.OPERATOR, Audience.OPERATOR, sensitive=True), "token": EDIT}

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
        """As :meth:`index`: its token, pool and routes are filled in as on another chain with the token."""
        chain_id, symbol = read_id(request.args.get("chain", "")), request.args.get("symbol", "")
        example = None if chain_id is None else token_example(current(Database), chain_id, symbol)
        if example is None:
            flash(
                "Choose a chain, and a token that only other chains have. "
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
        chain_names()[chain_id] = name
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
    there = [new.row for new in rows if new.section == "routes" and new.row["src_chain_id"] == form.chain_id]
    if not there:
        if form.symbol:
            return page_of_token(form.chain_id, form.symbol)
        return url_for("chains.edit", key=form.chain_id)
    first = min(there, key=lambda route: not _may_pass(route))
    ends = {"src": form.chain_id, "dst": first["dst_chain_id"]}
    return url_for("estimates.index", **ends, token=first["symbol"], amount="100")


def _may_pass(route: Mapping[str, Any]) -> bool:
    terms = current(SnapshotSource).current().terms
    end = PoolKey(ChainId(route["dst_chain_id"]), route["symbol"])
    token, chain = terms.tokens.get(end), terms.chains.get(end.chain_id)
    if token is None or chain is None or route["base_fee"] is None:
        return False
    return not (token.stopped or token.pool_disabled or chain.disabled)
