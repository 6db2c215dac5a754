"""The form of a section, made of what its table declares. A field is named like the key that it edits."""

from __future__ import annotations

from typing import Any, Final

from marshmallow import fields, missing
from wtforms import DataList, Field, FormField

from app.console.forms.ends import EndField
from app.console.forms.fields import FlagField, LineField, NoteField, SecondsField, WholeField
from app.db.base import Base
from app.json_documents import Amount, Text, Time, WholeNumber
from app.network.admin.amount_fields import AmountField
from app.network.admin.field_types import (
    AnyChainField,
    ChainField,
    ContractsField,
    FinalityField,
    PairTokenField,
    PpmField,
    RateField,
    SymbolField,
    TiersField,
)
from app.network.admin.names import symbol_choices
from app.network.admin.row_forms import RowForm
from app.network.models.columns import Declared, declared, in_order
from app.network.models.document_fields import (
    AnyChain,
    Cidr,
    Flag,
    ListedChain,
    ListedSymbol,
    ListOf,
    Note,
    Symbol,
)
from app.network.models.price_fields import Ppm, Rate, Tiers
from app.network.models.route_tables import PairToken
from app.network.models.watch_fields import BlocksOrFinalized, Seconds

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
    (Flag, FlagField),
    (ListOf, ContractsField),
    (ListedSymbol, SymbolField),
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
    if isinstance(shape, Symbol) and of is LineField:
        more["datalist"] = DataList(symbol_choices)
    return of(column.label, column.help, **more)
