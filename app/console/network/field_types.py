"""Compound fields of the sections' forms: chains, contracts, tokens of a pair, tiers of the protocol fee."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from wtforms import Form, FormField, ValidationError
from wtforms.utils import unset_value
from wtforms.widgets import TextArea

from app.console.network.amount_fields import WithUnit
from app.console.network.names import chain_choices, chain_names, percent, symbol_choices
from app.console.shell.forms.fields import (
    ChoiceField,
    Choices,
    DigitsField,
    FieldIds,
    FlagField,
    LineField,
    TextValueField,
    WholeField,
    bound_field,
)
from app.console.shell.forms.numbers import exact, number_text
from app.network.models.columns import Unit
from app.network.models.value_fields import MAX_PPM, NEW_RATE, NEW_TIERS
from app.network.rules.watch_terms import FINALIZED
from app.values.amounts import format_units, is_ascii_digits

_RATE_MODELS: Final = [("fixed", "Fixed value"), ("stableswap", "StableSwap curve over the two pools")]


class FinalityField(WholeField):
    """A number of blocks, or the name that nodes use."""

    attributes = TextValueField.attributes
    complaint = f"Enter a whole number of blocks, or {FINALIZED}."

    def parse(self, text: str) -> Any:
        return FINALIZED if text.strip().lower() == FINALIZED else super().parse(text)


class PpmField(WholeField):
    """Parts per million."""

    def hint_for(self, text: str, part: str = "") -> str:
        return percent_of(text)


class ChainField(ChoiceField):
    """One of the chains. The document's rules check whether it is configured."""

    choices = staticmethod(chain_choices)
    complaint = "choose a chain"
    hint = ""  # the choice says the name itself

    def parse(self, text: str) -> int:
        if not is_ascii_digits(text) or len(text) > 20:
            raise ValueError(self.complaint)
        return int(text)

    def hint_for(self, text: str, part: str = "") -> str:
        return chain_names().get(int(text[:20]), "") if is_ascii_digits(text) else ""


class SymbolTextField(LineField):
    """A symbol as text. The page's script offers those that all chosen chains have, for a new token of a
    chain those that it lacks. Nothing is narrowed where a pair is edited: it may have tokens of its own.
    """

    def settle(self) -> None:
        chains = [name for name in ("chain_id", "src_chain_id", "dst_chain_id") if name in self.its_form]
        lacking = chains == ["chain_id"] and not isinstance(self, ChoiceField)
        if chains:
            self.render_kw = {**self.attributes, "data-not-on" if lacking else "data-on": " ".join(chains)}


class SymbolField(SymbolTextField, ChoiceField):
    """One of the tokens' symbols."""

    choices = staticmethod(symbol_choices)
    complaint = "choose a token"


class _RateForm(Form):
    Meta = FieldIds
    partial = True
    model = ChoiceField("Rate", choices=_RATE_MODELS, complaint="choose how the rate is found")
    value = LineField(
        "Fixed value",
        "Destination tokens for one source token, for example 1 or 1.000001.",
        needed=False,
        only_for=("model", "fixed"),
    )
    amplification = WholeField(
        "Amplification",
        "The curve's A, from 1 to 1 000 000. A higher value keeps the rate near 1 for longer.",
        only_for=("model", "stableswap"),
    )


class RateField(FormField):
    """A fixed rate, or the curve over both pools."""

    def __init__(self, label: str, **kwargs: Any) -> None:
        super().__init__(_RateForm, label, separator="_", default=NEW_RATE, **kwargs)

    @property
    def data(self) -> dict[str, Any]:
        if self.form.model.data == "fixed":
            return {"model": "fixed", "value": self.form.value.data or ""}
        return {"model": self.form.model.data, "amplification": self.form.amplification.data}


OTHER: Final = "other"


class AnyChainField(ChainField):
    """One of the configured chains, or any other by its id."""

    def __init__(self, label: str, description: str = "", **kwargs: Any) -> None:
        self.other = DigitsField(f"{label}: chain ID", default="", **bound_field(kwargs, OTHER))
        super().__init__(label, description, **kwargs)

    @property
    def companions(self) -> Iterable[TextValueField]:
        return (self.other,)

    def choices(self) -> Choices:
        return [*chain_choices(), (OTHER, "another chain, by its ID …")]

    def process(self, formdata: Any, data: Any = unset_value, extra_filters: Any = None) -> None:
        self.other.process(formdata if formdata is not None and self.other.name in formdata else None)
        super().process(formdata, data, extra_filters)

    def parse(self, text: str) -> int:
        return super().parse(self.other.text.strip() if text == OTHER else text)

    @property
    def called(self) -> str:
        return f"chain {self.other.text}" if self.text == OTHER else super().called

    def settle(self) -> None:
        """Show an id that is not in the list in the other input."""
        if is_ascii_digits(self.text) and self.text not in dict(chain_choices()):
            self.text, self.other.text = OTHER, self.text


class ContractsField(TextValueField):
    """Accounts or contracts, a line each."""

    widget = TextArea()
    attributes: Mapping[str, str] = {**TextValueField.attributes, "rows": "2"}

    def __init__(self, label: str, description: str = "", **kwargs: Any) -> None:
        super().__init__(label, description, default=[], **kwargs)

    def parse(self, text: str) -> list[str]:
        return [line.strip() for line in text.splitlines() if line.strip()]

    def format(self, value: list[str] | None) -> str:
        return "\n".join(value or ())


class _PairTokenForm(Form):
    """The inputs of a pair's token. For an empty one the chain's token counts."""

    Meta = FieldIds
    partial = True
    name = LineField("Name", "Leave empty to use the chain's token.", needed=False)
    address = LineField(
        "Contract",
        "Only where the pair uses another contract than the chain's token. Refunds are paid in this one.",
        needed=False,
    )
    decimal = WholeField(
        "Decimals", "Required if you enter a contract and the chain does not have the token.", needed=False
    )
    icon = LineField("Icon", "https URL of an image.", needed=False)
    xfer_disabled = FlagField("Pair stopped", "No estimates are given for this pair, in either direction.")


class PairTokenField(FormField):
    """The keys of a token that the pair sets itself.

    :param whose: such as ``Original token``, which begins the label of each input.
    """

    def __init__(self, whose: str, **kwargs: Any) -> None:
        self.whose = whose
        self._given: dict[str, Any] = {}
        super().__init__(_PairTokenForm, separator="_", default=dict, **kwargs)

    def process(self, formdata: Any, data: Any = unset_value, extra_filters: Any = None) -> None:
        super().process(formdata, data, extra_filters)
        self._given = {} if data is unset_value else dict(data)
        for field in self.form:
            field.label.text = f"{self.whose}: {field.label.text.lower()}"

    @property
    def data(self) -> dict[str, Any]:
        """What was typed, and the row's keys that have no input. An icon may be empty on purpose."""
        typed = {field.short_name: field.data for field in self.form}
        given = {key: value for key, value in typed.items() if not (value is None or value is False)}
        without_input = {key: value for key, value in self._given.items() if key not in typed}
        return without_input | {
            key: value for key, value in given.items() if value != "" or self._given.get(key) == ""
        }


MOST_TIERS: Final = 100
SPARE_ROWS: Final = 3
"""Empty rows under the tiers, for pages without the script that adds rows."""

_PERCENT_PLACES: Final = 4
_ITEM: Final = re.compile(r"\w+\[(\d+)\](?:\.(\w+))?")
_NAMES: Final = {"from": "from", "ppm": "fee"}


class _Cell(TextValueField):
    attributes = {**TextValueField.attributes, "inputmode": "decimal"}

    def process_formdata(self, valuelist: list[str]) -> None:
        self.text = valuelist[-1] if valuelist else ""


class TierRow(Struct):
    """A row as it is typed: where the tier begins, and its fee in percent."""

    start: _Cell
    fee: _Cell

    @property
    def is_blank(self) -> bool:
        return not (self.start.text.strip() or self.fee.text.strip())


class TiersField(WithUnit):
    """Fee tiers. Blank rows do not count; without any row the fees are not known."""

    is_input = False

    def __init__(self, label: str, description: str = "", *, unit_of: Unit, **kwargs: Any) -> None:
        self.rows: list[TierRow] = []
        self.typed = False
        self._bound = dict(kwargs)
        super().__init__(label, description, unit_of=unit_of, default=NEW_TIERS, **kwargs)

    @property
    def companions(self) -> Iterable[TextValueField]:
        return (self.unit, *(cell for row in self.rows for cell in (row.start, row.fee)))

    def process(self, formdata: Any, data: Any = unset_value, extra_filters: Any = None) -> None:
        super().process(formdata, data, extra_filters)
        sent = sorted(_numbers(formdata or (), self.name))
        self.typed = bool(sent) or (formdata is not None and self.unit.name in formdata)
        self.rows = [self._row(number, formdata) for number in sent] if self.typed else []

    def process_formdata(self, valuelist: list[str]) -> None:
        """Nothing is sent under the name of the table itself."""

    def settle(self) -> None:
        tiers = self.data or []
        self.choose_unit([tier["from"] for tier in tiers], typed=self.typed)
        if self.typed:
            self._read()
            return
        self.rows = [self._row(number, None) for number in range(len(tiers))]
        for row, tier in zip(self.rows, tiers, strict=True):
            row.start.text = self.written(tier["from"])
            row.fee.text = format_units(tier["ppm"], _PERCENT_PLACES)

    def _read(self) -> None:
        filled = [row for row in self.rows if not row.is_blank]
        if len(filled) > MOST_TIERS:
            self.complain(f"Enter at most {MOST_TIERS} tiers.")
            return
        if filled and not self.unit.raw_data:
            self.complain("The unit of the amounts is missing. Reload the page.")
            return
        found = []
        for number, row in enumerate(filled, 1):
            try:
                found.append(
                    {
                        "from": self._cell(row.start, f"row {number}, from: "),
                        "ppm": int(self._cell(row.fee, f"row {number}, fee: ")),
                    }
                )
            except ValueError as error:
                self.complain(str(error.args[0]))
        self.data = found or None

    def _cell(self, cell: _Cell, name: str) -> str:
        """Where a tier begins in smallest units, or its fee in parts per million.

        :raises ValueError: with the row and what to type instead; the cell is marked.
        """
        try:
            if cell.short_name.endswith("from"):
                return self.smallest(cell.text)
            ppm = exact(
                number_text(cell.text.replace("%", ""), "0.04"), _PERCENT_PLACES, "A fee in percent has"
            )
            if ppm > MAX_PPM:
                raise ValidationError(f"Enter at most {percent_of(str(MAX_PPM))}.")
        except ValueError as error:
            cell.render_kw = {**(cell.render_kw or {}), "aria-invalid": "true"}
            text = str(error.args[0])
            raise ValueError(name + text[:1].lower() + text[1:]) from None
        return str(ppm)

    def shown_rows(self) -> Iterator[TierRow]:
        """The rows with something in them, and a few blank ones under them."""
        filled = [row for row in self.rows if not row.is_blank]
        yield from filled
        taken = {row.start.name for row in filled}
        free = (n for n in range(10 * MOST_TIERS) if f"{self.name}_{n}_from" not in taken)
        for _ in range(SPARE_ROWS):
            yield self._row(next(free), None)

    def _row(self, number: int, formdata: Any) -> TierRow:
        cells = []
        for part, label in (("from", "From"), ("fee", "Fee (%)")):
            cell = _Cell(f"{label}, row {number + 1}", **bound_field(self._bound, number, part))
            cell.process(formdata if formdata is not None and cell.name in formdata else None)
            cells.append(cell)
        cells[0].render_kw = {**(cells[0].render_kw or {}), "data-tier": self.name}
        return TierRow(*cells)

    def pre_validate(self, form: Form) -> None:
        """The rows were validated when they were read."""

    def place(self, path: str) -> str:
        item = _ITEM.match(path)
        if item is None:
            return ""
        part = _NAMES.get(item[2] or "", item[2])
        return f"row {int(item[1]) + 1}{f', {part}' if part else ''}"

    def in_words(self, text: str, part: str = "") -> tuple[str, str]:
        if part.endswith(".ppm"):
            return percent_of(text) or text, f"{text} ppm" if percent_of(text) else ""
        return self.both(text)


def _numbers(names: Iterable[str], table: str) -> set[int]:
    pattern = re.compile(rf"{re.escape(table)}_(\d{{1,3}})_(?:from|fee)", re.ASCII)
    return {int(match[1]) for match in map(pattern.fullmatch, names) if match}


def percent_of(text: str) -> str:
    """Parts per million as a percentage, where the text is such."""
    return percent(int(text)) if is_ascii_digits(text) and len(text) < 10 else ""
