"""How a column of the network document is declared: once, where its table is.

The document's schema, the console's form, what is validated again after a change, and the answer to clients
are made of it (docs/network.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from marshmallow import fields, missing
from msgspec import Struct
from sqlalchemy import JSON, BigInteger, Boolean, ForeignKey, Integer, String
from sqlalchemy import Text as LongText
from sqlalchemy.orm import MappedColumn, mapped_column
from sqlalchemy.types import TypeEngine

from app.db.models import Base
from app.db.types import Address, FeeTiers, Uint64, Uint256, UtcTime
from app.json_documents import Account, Amount, Signer, Text, Time, WholeNumber
from app.network.models.document_fields import NOTE_LENGTH, ChainNumber, Flag, Url
from app.network.models.value_fields import Tiers

_KEY: Final = "document"
_VALIDATES: Final = "validates"


class Unit(Struct, frozen=True):
    """The unit of an amount: the keys of the row that define it.

    :param chain: holds the chain whose token is meant.
    :param decimals: holds decimals that count before those of the chain's token; ``pair.decimal`` is the
        key of an object.
    :param contract: holds a contract. Where it is an EVM address the unit is the coin of an EVM chain, unless
        the chain lists a token of the symbol.
    """

    chain: str = ""
    decimals: str = ""
    symbol: str = "symbol"
    contract: str = ""


class Published(Struct, frozen=True):
    """How a column is published in the transfer configs.

    :param text: OpenAPI's description of the field, and an example.
    :param name: of the field, where it is not that of the column.
    :param after: the field that precedes it, where that is not the one of the column before.
    :param briefly: whether messages that name the row have it, too.
    :param of_pairs: a pair's token has the chain's value unless the pair has its own. In any other field of
        a token it has the default.
    """

    text: str
    example: Any = None
    name: str = ""
    after: str = ""
    briefly: bool = False
    of_pairs: bool = False


class Declared(Struct, frozen=True):
    """A column of the document.

    :param shape: how the document writes it: which values, and the default where it may be left out.
    :param label: what operators call it; empty: the console's form does not have it.
    :param help: the text below its input.
    :param name: the document's key of several columns that it writes as one.
    :param start: what the form of a new row starts with, where that is not the default.
    :param after: the input that precedes its input, where that is not the one of the column before.
    :param always: the document has it even where it has its default. Otherwise it is omitted there: so older
        gateways can read the document, and people read only what is special.
    :param opening: given with a new row, and not edited afterwards: the event feed counts what follows.
    :param copied: a chain that is connected after another one's example starts with its value.
    :param least: a column of the same row that it must not be below, where both are given.
    :param both: a column of the same row that is given with this one, or neither is.
    :param published: how clients get it; None: only operators see it.
    """

    shape: fields.Field[Any]
    label: str = ""
    help: str = ""
    name: str = ""
    unit: Unit | None = None
    start: Any = None
    after: str = ""
    always: bool = False
    opening: bool = False
    copied: bool = False
    least: str = ""
    both: str = ""
    published: Published | None = None

    @property
    def default(self) -> Any:
        """Its value where the document omits it; ``missing`` where it is required."""
        default = self.shape.load_default
        return default() if callable(default) else default

    @property
    def left_out(self) -> bool:
        """Whether the document leaves it out where it has its default."""
        return not self.always and self.shape.load_default is not missing


def column(
    shape: fields.Field[Any],
    label: str = "",
    help_text: str = "",
    *,
    type_: TypeEngine[Any] | None = None,
    reference: ForeignKey | None = None,
    validates: bool = False,
    unique: bool | None = None,
    doc: str | None = None,
    **more: Any,
) -> MappedColumn[Any]:
    """A column that the document has.

    :param type_: in the database, where the shape does not say it (``_stored``).
    :param reference: to the column of another table, which has the type then.
    :param validates: stored events are validated again after a change of it.
    :param more: further attributes of ``Declared``.
    """
    default = {} if shape.load_default in (missing, None) else {"default": shape.load_default}
    return mapped_column(
        reference if reference is not None else type_ or _stored(shape),
        unique=unique,
        doc=doc,
        **default,
        info={_KEY: Declared(shape, label, help_text, **more)} | (VALIDATES if validates else {}),
    )


def _stored(shape: fields.Field[Any]) -> TypeEngine[Any]:
    found = next((type_ for of, type_ in _STORED.items() if isinstance(shape, of)), None)
    if found is not None:
        return found
    if isinstance(shape, WholeNumber):
        return Integer() if shape.high < 2**31 else BigInteger()
    if isinstance(shape, Text):
        return String(shape.most) if shape.most < NOTE_LENGTH or isinstance(shape, Url) else LongText()
    return JSON()


_STORED: Final[Mapping[type[fields.Field[Any]], TypeEngine[Any]]] = {
    Amount: Uint256(),
    ChainNumber: Uint64(),
    Account: Address(),
    Signer: Address(),
    Time: UtcTime(),
    Flag: Boolean(),
    Tiers: FeeTiers(),
}


VALIDATES: Final = {_VALIDATES: True}
"""The ``info`` of a column that the document writes under the key of another one."""


@cache
def declared_columns(model: type[Base]) -> Mapping[str, Declared]:
    """The columns that the document has, by the names that they have in the table."""
    return {column.key: column.info[_KEY] for column in model.__table__.columns if _KEY in column.info}


@cache
def declared(model: type[Base]) -> Mapping[str, Declared]:
    """The columns that the document has, by its keys, in its order."""
    return {each.name or name: each for name, each in declared_columns(model).items()}


def validating_columns(model: type[Base]) -> tuple[str, ...]:
    return tuple(column.key for column in model.__table__.columns if _VALIDATES in column.info)


@cache
def published_columns(*models: type[Base]) -> Mapping[str, tuple[str, Declared, Published]]:
    """The fields that clients get of the tables' rows, in the answer's order, each with its column."""
    found = {
        each.published.name or column: (column, each, each.published)
        for model in models
        for column, each in declared(model).items()
        if each.published is not None
    }
    return {
        name: found[name]
        for name in in_order({name: published.after for name, (*_, published) in found.items()})
    }


def in_order(after: Mapping[str, str]) -> Iterable[str]:
    """The names in the given order, but each that has an ``after`` behind the name given there."""
    order = [name for name, before in after.items() if not before]
    for name, before in after.items():
        if before:
            order.insert(order.index(before) + 1, name)
    return order
