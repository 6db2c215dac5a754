"""Amounts as people write them: in whole tokens, or in smallest units where that unit is chosen.

Nothing is rounded: more decimals than the token has are refused. So is an amount without a unit: a page from
before there were units sends smallest units, which would be read as tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct
from wtforms import Form, FormField
from wtforms.utils import unset_value

from app.console.network.names import token_decimals
from app.console.shell.formats import grouped, units
from app.console.shell.forms.fields import ChoiceField, Choices, TextValueField, bound_field
from app.console.shell.forms.numbers import LONGEST_NUMBER, exact, number_text, whole_digits
from app.network.models.columns import Unit
from app.network.models.document_fields import MAX_DECIMALS
from app.values.amounts import MAX_UINT256, format_units, is_ascii_digits
from app.values.crypto import parse_evm_address

TOKENS: Final = "tokens"
SMALLEST: Final = "smallest"

EVM_DECIMALS: Final = 18
"""Of the coin that pays for gas on an EVM chain, which counts it in wei."""

_LONGEST_CHAIN: Final = 19


class Counted(Struct, frozen=True):
    """The unit of an amount: a token's symbol, empty while none is chosen, and its decimals where known."""

    symbol: str
    decimals: int | None

    def words(self, smallest: int) -> tuple[str, str]:
        """An amount in tokens, and in smallest units; the second is empty where decimals are not known."""
        if self.decimals is None:
            return f"{grouped(smallest)} smallest units of {self.symbol or 'the token'}", ""
        return f"{units(smallest, self.decimals)} {self.symbol}", f"{grouped(smallest)} smallest units"


def unit_in(form: Form, of: Unit) -> Counted:
    """The unit that the form has chosen now."""
    symbol = _text(form, of.symbol)
    own = _text(form, of.decimals)
    if is_ascii_digits(own) and len(own) < 3 and int(own) <= MAX_DECIMALS:
        return Counted(symbol, int(own))
    chain = _text(form, of.chain)
    known = is_ascii_digits(chain) and len(chain) <= _LONGEST_CHAIN
    listed = token_decimals().get((int(chain), symbol)) if known else None
    if listed is None and parse_evm_address(_text(form, of.contract).strip()) is not None:
        return Counted(symbol, EVM_DECIMALS)
    return Counted(symbol, listed)


def _text(form: Form, path: str) -> str:
    """The text of a field, or of an input of a compound one; empty where the form has none."""
    name, _, part = path.partition(".")
    if not name or name not in form:
        return ""
    field = form[name].form[part] if isinstance(form[name], FormField) else form[name]
    text: str = field.text.strip()
    return text


class UnitField(ChoiceField):
    """Whether an amount counts whole tokens or smallest units."""

    complaint = "Choose whole tokens or smallest units."
    unit = Counted("", None)

    def choices(self) -> Choices:
        return [(TOKENS, self.unit.symbol or "whole tokens"), (SMALLEST, "smallest units")]


class WithUnit(TextValueField):
    """A value with amounts, and an input next to it for their unit.

    :param unit_of: which fields say what is counted.
    """

    def __init__(self, label: str, description: str = "", *, unit_of: Unit, **kwargs: Any) -> None:
        self.unit_of = unit_of
        self.unit = UnitField(f"{label}: unit", default=TOKENS, **bound_field(kwargs, "unit"))
        self.attributes = {**self.attributes, **self.unit_attributes, "data-unit": self.unit.name}
        super().__init__(label, description, **kwargs)

    @property
    def unit_attributes(self) -> Mapping[str, str]:
        """The unit for the page's script: the names of the inputs."""
        names = {
            "data-chain": self.unit_of.chain,
            "data-own-decimals": self.unit_of.decimals.replace(".", "_"),
            "data-symbol": self.unit_of.symbol,
            "data-contract": self.unit_of.contract,
        }
        return {key: name for key, name in names.items() if name}

    @property
    def companions(self) -> Iterable[TextValueField]:
        return (self.unit,)

    def process(self, formdata: Any, data: Any = unset_value, extra_filters: Any = None) -> None:
        super().process(formdata, data, extra_filters)
        self.unit.process(formdata)
        if formdata is not None and self.unit.name in formdata:
            self.complain(*self.unit.process_errors)

    def choose_unit(self, amounts: Iterable[str | None], *, typed: bool) -> None:
        """Find the unit. An amount that was not typed is shown in tokens where their decimals are known.

        :param amounts: those that are shown, in smallest units.
        """
        self.unit.unit = unit_in(self.its_form, self.unit_of)
        if not typed and self.unit.unit.decimals is None and any(each not in (None, "0") for each in amounts):
            self.unit.text = SMALLEST
        elif not self.unit.text:
            self.unit.text = TOKENS

    def smallest(self, text: str) -> str:
        """An amount that was typed, in smallest units.

        :raises ValueError: with what to type instead.
        """
        unit = self.unit.unit
        if self.unit.text == SMALLEST:
            digits = whole_digits(text)
            if digits is None or len(digits) > LONGEST_NUMBER:
                raise ValueError(
                    "Enter smallest units as digits only, without a point, or choose tokens as the unit."
                )
            return _bounded(int(digits))
        number = number_text(text, "12.5")
        if not number.strip("0."):
            return "0"
        if unit.decimals is None:
            of = f"{unit.symbol} on this chain" if unit.symbol else "the token"
            raise ValueError(
                f"The decimals of {of} are not known. Choose chain and token first, or enter smallest units."
            )
        return _bounded(exact(number, unit.decimals, f"{unit.symbol} has"))

    def written(self, smallest: str) -> str:
        decimals = self.unit.unit.decimals
        if self.unit.text == SMALLEST or decimals is None:
            return smallest
        return format_units(int(smallest), decimals)

    def both(self, text: str) -> tuple[str, str]:
        """A stored amount in words; other texts as they are, null as none."""
        if text == "null":
            return "none", ""
        return unit_in(self.its_form, self.unit_of).words(int(text)) if is_ascii_digits(text) else (text, "")


class AmountField(WithUnit):
    """An amount. Its data are smallest units, as the document writes them. Optional without ``needed``."""

    attributes: Mapping[str, str] = {**TextValueField.attributes, "inputmode": "decimal"}
    typed = False

    def process_data(self, value: Any) -> None:
        super().process_data(value)
        self.typed = False

    def process_formdata(self, valuelist: list[str]) -> None:
        if valuelist or not getattr(self.its_form, "partial", False):
            self.text, self.typed = valuelist[-1] if valuelist else "", True

    def settle(self) -> None:
        self.choose_unit([self.data], typed=self.typed)
        if not self.typed:
            self.text = "" if self.data is None else self.written(self.data)
            return
        if not self.text.strip() and not self.needed:
            self.data = None
            return
        try:
            self._require_unit()
            self.data = self.smallest(self.text)
        except ValueError as error:
            self.complain(str(error.args[0]))

    def _require_unit(self) -> None:
        """An amount without its unit is never guessed: it could be a millionth of what was meant."""
        if self.raw_data and not self.unit.raw_data:
            raise ValueError("The unit of the amount is missing. Reload the page.")

    @property
    def hint(self) -> str:
        try:
            smallest = int(self.smallest(self.text))
        except ValueError:
            return ""
        tokens, units_of_it = self.unit.unit.words(smallest)
        return f"= {tokens}" + (f" = {units_of_it}" if units_of_it else "")

    @property
    def called(self) -> str:
        return self.both(self.data)[0] if self.data else self.text

    @property
    def under(self) -> str:
        return self.both(self.data)[1] if self.data else ""

    def in_words(self, text: str, part: str = "") -> tuple[str, str]:
        return self.both(text)


def _bounded(amount: int) -> str:
    if amount > MAX_UINT256:
        raise ValueError("Enter at most 2^256-1 smallest units, the most that a contract can hold.")
    return str(amount)
