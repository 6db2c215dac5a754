"""The form that connects a chain, or a token on a chain: what its page offers, and the rows that it adds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from flask import request
from msgspec import Struct
from msgspec.structs import replace
from werkzeug.datastructures import MultiDict
from wtforms import Form, FormField

from app.console.network.amount_fields import SMALLEST, TOKENS, UnitField
from app.console.network.forms import RowForm, row_inputs
from app.console.network.names import chain_names
from app.console.network.validators import ValidatorsField
from app.console.shell.forms.fields import FieldIds, FlagField, LineField, TextValueField, WholeField
from app.console.shell.forms.numbers import number_text, whole_digits, without_spaces
from app.network.edits.connecting import Example, fits_anywhere, pool_like, route_like, token_like
from app.network.edits.results import FieldError
from app.network.models import Chain
from app.network.models.columns import declared
from app.network.models.document_fields import MAX_DECIMALS
from app.values.amounts import format_units, is_uint256
from app.values.identifiers import RouteKey


class UnitsField(TextValueField):
    """An amount, such as 12.5, in the unit that is chosen for all amounts of its kind. Empty is None."""

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
    """A token of the example."""

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
    rate_there = ConnectedRateField("Rate from the new chain", needed=False)
    fee_there = UnitsField("Base fee from the new chain", needed=False)
    back = FlagField("To the new chain")
    rate_back = ConnectedRateField("Rate to the new chain", needed=False)
    fee_back = UnitsField("Base fee to the new chain", needed=False)


_CHAIN_INPUTS: Final = row_inputs(Chain)
_COPIED: Final = tuple(name for name, each in declared(Chain).items() if each.copied)


class NewRow(Struct, frozen=True):
    """A row that is added: its name in messages, and the inputs of its keys."""

    section: str
    row: Mapping[str, Any]
    title: str
    inputs: Mapping[str, Any] = {}


class ConnectForm(RowForm):
    """What is copied from the example to a new chain, or to one that lacks its only token.

    Fields of lines are named ``token0``, ``route0`` … The chain has inputs only where it is new.
    """

    validators = ValidatorsField(
        "Opening validators",
        "Leave empty if not known yet: refunds on this chain cannot be verified until a set is known.",
    )

    token_unit = UnitField("Unit of liquidity and caps", default=TOKENS)
    fee_unit = UnitField("Unit of base fees", default=TOKENS)

    def __init__(self, example: Example, to: int | None, **kwargs: Any) -> None:
        self.example, self.to = example, to
        super().__init__(row={key: example.chain[key] for key in _COPIED if key in example.chain}, **kwargs)

    def sent_without_lines(self) -> MultiDict[str, str]:
        """What was sent about the chain itself. Tokens and routes may have other numbers now."""
        own = {field.name for field in self.chain_inputs()} | {"validators"}
        pairs = request.form.items(multi=True)
        return MultiDict([pair for pair in pairs if pair[0] in own])

    @property
    def chain_id(self) -> Any:
        """The chain that is connected, or whose token is."""
        return self.id.data if self.to is None else self.to

    @property
    def symbol(self) -> str:
        """The token that is connected; empty for a chain."""
        return "" if self.to is None else self.example.tokens[0].token["symbol"]

    @property
    def chain_name(self) -> str:
        """The name of that chain."""
        return self.name.data if self.to is None else chain_names()[self.to]

    @property
    def title(self) -> str:
        """What is connected, for headings."""
        return f"{self.symbol} on {self.chain_name}" if self.symbol else self.chain_name

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
        return [self[name] for name in _CHAIN_INPUTS] if self.to is None else []

    def later_inputs(self) -> list[TextValueField]:
        """The optional ones among them."""
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
                _add(line.address, self._no_contract())
            places = line.decimal.data
            if not isinstance(places, int) or places > MAX_DECIMALS:
                _add(line.decimal, f"Enter a whole number from 0 to {MAX_DECIMALS}.")
                continue
            decimals[chain_id, symbol] = places
            row = token_like(token, chain_id, line.address.data or "", places)
            inputs = {"address": line.address, "decimal": line.decimal}
            tokens.append(NewRow("tokens", row, f"Token {symbol}", inputs))
            liquidity, cap = (
                _smallest(field, places, self.token_unit) for field in (line.liquidity, line.total_cap)
            )
            if token.pool is not None:
                row = pool_like(token, chain_id, places, liquidity or 0, cap)
                inputs = {"liquidity_added": line.liquidity, "total_cap": line.total_cap}
                pools.append(NewRow("pools", row, f"Pool of {symbol}", inputs))
        routes = self._routes(decimals, {p.row["symbol"] for p in pools})
        return [*(self._chain() if self.to is None else ()), *tokens, *pools, *routes]

    def _no_contract(self) -> str:
        if self.symbol:
            return f"Enter the token's contract on {self.chain_name}."
        return "Enter the token's contract on the new chain, or clear its checkbox."

    def _chain(self) -> Iterator[NewRow]:
        """A new chain, and its validators."""
        yield NewRow("chains", {field.name: field.data for field in self.chain_inputs()}, "The chain")
        inputs = {"signer": self.validators, "power": self.validators}
        for member in self.validators.members(self.chain_id):
            yield NewRow("validators", member, "Opening validators", inputs)

    def _routes(self, decimals: dict[tuple[int, str], int], symbols: set[str]) -> Iterator[NewRow]:
        """The picked routes of the tokens that get a pool."""
        for route, line in self.route_lines():
            for there, wanted, rate, fee, dst in (
                (True, line.there.data, line.rate_there, line.fee_there, route.peer),
                (False, line.back.data, line.rate_back, line.fee_back, self.chain_id),
            ):
                if wanted and (dst, route.symbol) in decimals:
                    amount = _smallest(fee, decimals[dst, route.symbol], self.fee_unit, up=True)
                    if route.symbol in symbols:
                        row = route_like(route, self.chain_id, amount, decimals, rate=rate.data, there=there)
                        way = "to" if there else "from"
                        title = f"Route of {route.symbol} {way} {route.peer_name}"
                        yield NewRow("routes", row, title, {"rate": rate, "base_fee": fee})

    def copied_rates(self, rows: Sequence[NewRow]) -> dict[RouteKey, NewRow]:
        """The routes that have the example's rate, as none was entered."""
        return {
            RouteKey(new.row["symbol"], new.row["src_chain_id"], new.row["dst_chain_id"]): new
            for new in rows
            if new.section == "routes"
            and new.inputs["rate"].data is None
            and not fits_anywhere(new.row["rate"])
        }

    def leave_open(self, unfit: Mapping[RouteKey, str], copied: Mapping[RouteKey, NewRow]) -> None:
        """Request a rate for each route that the example's does not fit."""
        for key, why in unfit.items():
            of, rate = self.example.chain["name"], rate_text(copied[key].row["rate"])
            _add(copied[key].inputs["rate"], f"Enter a rate. That of {of}, {rate}, is not copied: {why}.")

    def add_errors_of(self, rows: Sequence[NewRow], errors: Sequence[FieldError]) -> None:
        """Add each error of the service to the inputs of the row that it is about."""
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
        given = {
            "there": route.there is not None,
            "back": route.back is not None,
            "rate_there": _proposed(route.there),
            "rate_back": _proposed(route.back),
            "fee_there": route.fee_there,
            "fee_back": route.fee_back,
        }
        lines[f"route{number}"] = FormField(_RouteLine, separator="_", default=given)
    form: ConnectForm = type("ConnectForm", (ConnectForm,), lines)(example, to, **kwargs)
    return form


def _proposed(route: Mapping[str, Any] | None) -> Any:
    """The rate that is filled in. Whether a curve fits is known only once the liquidity is entered."""
    return route["rate"] if route is not None and fits_anywhere(route["rate"]) else None


def _smallest(field: UnitsField, decimals: int, unit: UnitField, *, up: bool = False) -> int | None:
    """The amount in smallest units.

    :param unit: whether it was typed in tokens or in smallest units.
    :param up: round it up; otherwise an amount with too many decimals is an error of the input.
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
