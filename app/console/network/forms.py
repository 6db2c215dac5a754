"""The form of a section, made of what its table declares, and forms about one field of many rows.

A field is named like the key that it edits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from fractions import Fraction
from typing import Any, Final

from marshmallow import fields, missing
from msgspec import Struct
from wtforms import DataList, Field, FormField, ValidationError
from wtforms.utils import unset_value

from app.console.network.amount_fields import AmountField
from app.console.network.field_types import (
    AnyChainField,
    ChainField,
    ContractsField,
    FinalityField,
    PairTokenField,
    PpmField,
    RateField,
    SymbolField,
    SymbolTextField,
    TiersField,
)
from app.console.network.names import chain_names, symbol_choices
from app.console.network.previewed import PreviewedForm
from app.console.network.token_state import STATE, StateField, with_states
from app.console.shell.forms.fields import (
    ChoiceField,
    FlagField,
    LineField,
    LongTextField,
    NoteField,
    SecondsField,
    TextValueField,
    WholeField,
    bound_field,
    locate,
)
from app.console.shell.forms.form import inputs_of
from app.console.shell.forms.numbers import number_text, written_time
from app.db.database import Database
from app.db.models import Base
from app.http.application import current
from app.json_documents import Amount, Text, Time, WholeNumber
from app.network.edits.fees import FeeEdit
from app.network.models.columns import Declared, Unit, declared, in_order
from app.network.models.document_fields import (
    AnyChain,
    Cidr,
    Flag,
    ListedChain,
    ListedSymbol,
    ListOf,
    Note,
    Symbol,
    TokenStop,
)
from app.network.models.route_tables import PairToken
from app.network.models.value_fields import BlocksOrFinalized, Ppm, Rate, Seconds, Tiers
from app.values.amounts import grouped
from app.values.differences import FieldDifference
from app.values.times import rfc3339

_PRESETS: Final = {
    "1h": (timedelta(hours=1), "in 1 hour"),
    "24h": (timedelta(hours=24), "in 24 hours"),
    "7d": (timedelta(days=7), "in 7 days"),
}
_HOW: Final = [*((key, label) for key, (_, label) in _PRESETS.items()), ("", "at a time")]
"""The usual spans from now; the last is the time that is typed."""


class EndField(TextValueField):
    """When something ends, as the network document writes times; an empty text is None.

    The page's script accepts it in the reader's time zone, like every time of the console. A span is counted
    from when the form is sent. The preview has the resulting time, and confirming uses the same.
    """

    attributes: Mapping[str, str] = {
        **TextValueField.attributes,
        "data-utc": "",
        "placeholder": "2027-01-31 18:00",
    }
    zoned = True

    def __init__(self, label: str, description: str = "", **kwargs: Any) -> None:
        how = bound_field(kwargs, "in")
        self.preset = ChoiceField(
            f"{label}: how", default="", choices=_HOW, complaint="Choose one of these.", **how
        )
        super().__init__(label, description, **kwargs)

    @property
    def companions(self) -> Iterable[TextValueField]:
        return (self.preset,)

    def process(self, formdata: Any, data: Any = unset_value, extra_filters: Any = None) -> None:
        super().process(formdata, data, extra_filters)
        sent = formdata is not None and self.preset.name in formdata
        self.preset.process(formdata if sent else None)
        self.complain(*self.preset.process_errors)

    def settle(self) -> None:
        if self.preset.text in _PRESETS:
            after, _ = _PRESETS[self.preset.text]
            self.data = rfc3339(current(Database).clock() + after, "seconds")
            self.text, self.preset.text = self.format(self.data), ""

    def parse(self, text: str) -> str | None:
        return written_time(text)

    def format(self, value: str | None) -> str:
        return "" if value is None else value.replace("T", " ").removesuffix("Z")

    def in_words(self, text: str, part: str = "") -> tuple[str, str]:
        return ("none" if text == "null" else text), ""


_INPUTS: Final[tuple[tuple[type[fields.Field[Any]], type[Field]], ...]] = (
    (Amount, AmountField),
    (Tiers, TiersField),
    (Rate, RateField),
    (PairToken, PairTokenField),
    (ListedChain, ChainField),
    (AnyChain, AnyChainField),
    (Ppm, PpmField),
    (WholeNumber, WholeField),
    (BlocksOrFinalized, FinalityField),
    (Seconds, SecondsField),
    (Time, EndField),
    (TokenStop, StateField),
    (Flag, FlagField),
    (ListOf, ContractsField),
    (ListedSymbol, SymbolField),
    (Symbol, SymbolTextField),
    (Note, NoteField),
    (Text, LineField),
    (Cidr, LineField),
)
"""The input of each shape; the first counts that the shape is one of."""


def row_inputs(model: type[Base]) -> dict[str, Any]:
    """The inputs of a table's rows, for the columns that have a label."""
    columns = {each.shape.data_key or name: each for name, each in declared(model).items() if each.label}
    order = in_order({name: each.after for name, each in columns.items()})
    return {name: _input(columns[name]) for name in order}


def row_form(model: type[Base]) -> type[RowForm]:
    """The form of a table's rows."""
    form: type[RowForm] = type(f"{model.__name__}Form", (RowForm,), row_inputs(model))
    return form


def _input(column: Declared) -> Any:
    shape = column.shape
    of = next(of for kind, of in _INPUTS if isinstance(shape, kind))
    if issubclass(of, FormField):
        return of(column.label)
    more: dict[str, Any] = {"needed": not (shape.allow_none or getattr(shape, "least", 1) == 0)}
    start = column.default if column.start is None else column.start
    if start is not missing and start is not None and not isinstance(start, list):
        more["default"] = str(start) if isinstance(shape, Amount) else start
    if column.unit is not None:
        more["unit_of"] = column.unit
    if of is SymbolTextField:
        more["datalist"] = DataList(symbol_choices)
    return of(column.label, column.help, **more)


VALUES: Final = (TextValueField, RateField, PairTokenField)
"""The types of fields that are keys of the row."""


class DiffLine(Struct, frozen=True):
    """A difference in the form's words: the bare values, with human units and names."""

    label: str
    before: str | None
    after: str | None
    before_hint: str
    after_hint: str


def unlabelled(each: FieldDifference) -> DiffLine:
    """A field that no form has: by its name in the document, with the name of a chain."""
    words = each.field.replace("_", " ").removesuffix(" id" if each.field.endswith("chain_id") else "")
    hints = ["", ""]
    if each.field.endswith("chain_id"):
        hints = [chain_names().get(int(text), "") if text else "" for text in (each.before, each.after)]
    return DiffLine(words[:1].upper() + words[1:], each.before, each.after, *hints)


class RowForm(PreviewedForm):
    """The fields of one section. A field is named like the key of the row that it edits.

    :param row: the row as the document writes it; None for a new one, which starts with the defaults.
    :param locked: keys that cannot be changed, with the reason.
    """

    partial = True
    """A field that is not sent does not change."""

    def __init__(
        self, *, row: Mapping[str, Any] | None = None, locked: Mapping[str, str] | None = None, **kwargs: Any
    ) -> None:
        self.row = row or {}
        self.locked = locked or {}
        super().__init__(data=self.row, **kwargs)

    def validate(self, extra_validators: Any = None) -> bool:
        if super().validate(extra_validators):
            return True
        if self.form_errors:  # the page has to be loaded again: show what it would show then
            for key, field in self._row_fields():
                field.process(None, self.row.get(key, unset_value))
            self.settle()
        return False

    def values(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, field in self._row_fields():
            if any(each.raw_data for each in inputs_of(field)):
                found |= field.data if key == STATE else {key: field.data}
        return found

    def in_words(self, differences: Iterable[FieldDifference]) -> list[DiffLine]:
        return [self._line(each) for each in with_states(differences, self.row)]

    def _row_fields(self) -> list[tuple[str, Field]]:
        return [(field.short_name, field) for field in self if isinstance(field, VALUES)]

    def _line(self, each: FieldDifference) -> DiffLine:
        ends = [at for at in (each.field.find("."), each.field.find("[")) if at >= 0]
        at = min(ends, default=len(each.field))
        key, part = each.field[:at], each.field[at:]
        compound = key in self and isinstance(self[key], FormField)
        if key not in self or (compound and part.removeprefix(".") not in self[key].form):
            return unlabelled(each)
        field, place = locate(self[key], each.field)
        label = field.label.text
        if place:
            label += f", {place}"
        elif part and not compound:
            label += f", {part.lstrip('.')}"
        before, after = (
            (None, "") if text is None else field.in_words(text, part) for text in (each.before, each.after)
        )
        return DiffLine(label, before[0], after[0], before[1], after[1])


LARGEST_LIST: Final = 8 * 1024 * 1024
"""Bytes of a form with a hundred thousand addresses or networks."""

_LARGEST_FACTOR: Final = 1_000_000
_CHANGES: Final = [
    ("factor", "Multiply each fee by a factor"),
    ("amount", "Set the same fee on all routes of the token"),
]


class _FactorField(TextValueField):
    def parse(self, text: str) -> Fraction:
        factor = Fraction(number_text(text, "1.5"))
        if not 0 < factor <= _LARGEST_FACTOR:
            raise ValueError(f"Enter a factor above 0 and at most {grouped(_LARGEST_FACTOR)}.")
        return factor


class BaseFeesForm(PreviewedForm):
    """New base fees for the routes to one chain."""

    dst_chain_id = ChainField(
        "Destination chain", empty="Choose …", complaint="Choose the destination chain."
    )
    symbol = SymbolField(
        "Token",
        "To set a fee, choose one token: each token has its own unit. Fees of all tokens can be multiplied.",
        needed=False,
        empty="All tokens",
    )
    how = ChoiceField(
        "Change", empty="Choose …", choices=_CHANGES, complaint="Choose how to change the fees."
    )
    factor = _FactorField(
        "Factor",
        "Such as 1.5 or 0.8. New fees are rounded up to a whole smallest unit.",
        only_for=("how", "factor"),
    )
    amount = AmountField(
        "New base fee",
        "In the destination token.",
        unit_of=Unit("dst_chain_id"),
        only_for=("how", "amount"),
    )

    def validate_symbol(self, field: SymbolField) -> None:
        if self.how.text == "amount" and not field.data:
            raise ValidationError("Choose a token: each token has its own unit.")

    def edit(self) -> FeeEdit:
        by_amount = self.how.data == "amount"
        return FeeEdit(
            self.dst_chain_id.data,
            self.symbol.data or None,
            int(self.amount.data) if by_amount else None,
            None if by_amount else self.factor.data,
        )


class BlocksForm(PreviewedForm):
    """Addresses or networks to block, one per line. A subclass has the inputs that count for all lines.

    :param names: what the lines are called.
    """

    text = LongTextField()

    def __init__(self, names: str, description: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.text.label.text = names
        self.text.description = description
        self.text.render_kw = {"spellcheck": "false", "rows": "8"}

    def validate_text(self, field: NoteField) -> None:
        if not (field.text.strip() or self.back.data):
            raise ValidationError("Enter at least one.")

    def shared_fields(self) -> list[TextValueField]:
        return [field for field in self.value_lines() if field.name != self.text.name]

    def shared(self) -> dict[str, Any]:
        return {field.name: field.data for field in self.shared_fields()}
