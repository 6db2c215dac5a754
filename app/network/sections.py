"""The lists of the network document: their tables, their keys and the parts they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct

from app.db.base import Base
from app.network.models import (
    BlockedAddress,
    BlockedNetwork,
    Chain,
    ConfigField,
    OpeningValidator,
    PeggedPair,
    Pool,
    Route,
    RouteBlock,
    Token,
)
from app.network.models.columns import Declared, declared, judged_columns
from app.network.models.document_fields import Strict
from app.network.schemas import row_schema

Row = dict[str, Any]
"""A row of a table by column name."""


class Part(StrEnum):
    """A part of the configuration with its own version. After an edit only its part is read again."""

    CORE = "core"
    BLOCKED_ADDRESSES = "blocked_addresses"
    BLOCKED_NETWORKS = "blocked_networks"
    VALIDATORS = "validators"


class Section(Struct, frozen=True):
    """One list of the document and its table.

    ``key`` are the columns that identify a row; ``label`` is its name for people. ``columns`` are those of
    the document by its names, as the table declares them. ``chains`` and ``facts`` are set in the sections by
    which stored events are judged: the columns that name the row's chains, and those that the judgement
    depends on. ``left_out`` are those that the document leaves out where they have their default, and with
    ``optional`` it leaves out the list where it is empty.
    """

    name: str
    part: Part
    model: type[Base]
    columns: Mapping[str, Declared]
    schema: Strict
    key: tuple[str, ...]
    label: str
    chains: tuple[str, ...]
    facts: tuple[str, ...]
    left_out: tuple[str, ...]
    optional: bool

    @property
    def opening(self) -> tuple[str, ...]:
        """Given with a new row, and not edited afterwards, as the feed counts what follows."""
        return tuple(name for name, each in self.columns.items() if each.opening)

    def identity(self, row: Row) -> tuple[Any, ...]:
        """The values of the row's key. Addresses are compared without regard to case."""
        return tuple(row[column].casefold() if column == "address" else row[column] for column in self.key)

    def describe(self, row: Row) -> str:
        """The row's name for people, such as ``token USDT on chain 1``."""
        return self.label.format_map(row)

    def documented(self, row: Row) -> dict[str, Any]:
        """The row as the document writes it."""
        return {
            key: value
            for key, value in self.written_out(row).items()
            if key not in self.left_out or value != self.columns[key].default
        }

    def with_defaults(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """A documented row, with the defaults of what it leaves out."""
        return {key: self.columns[key].default for key in self.left_out} | dict(values)

    def written_out(self, row: Row) -> dict[str, Any]:
        """As :meth:`documented`, with every key."""
        written: dict[str, Any] = self.schema.dump(row)
        return written


def _section(
    model: type[Base],
    key: tuple[str, ...],
    label: str,
    *,
    name: str = "",
    part: Part = Part.CORE,
    chains: tuple[str, ...] = (),
    optional: bool = False,
) -> Section:
    columns = declared(model)
    return Section(
        name=name or model.__tablename__,
        part=part,
        model=model,
        columns=columns,
        schema=row_schema(model),
        key=key,
        label=label,
        chains=chains,
        facts=judged_columns(model),
        left_out=tuple(name for name, each in columns.items() if each.left_out),
        optional=optional,
    )


SECTIONS: Final = (
    _section(Chain, ("chain_id",), "chain {chain_id}", chains=("chain_id",)),
    _section(Token, ("chain_id", "symbol"), "token {symbol} on chain {chain_id}", chains=("chain_id",)),
    _section(Pool, ("chain_id", "symbol"), "pool of {symbol} on chain {chain_id}"),
    _section(
        Route,
        ("symbol", "src_chain_id", "dst_chain_id"),
        "route of {symbol} from {src_chain_id} to {dst_chain_id}",
    ),
    _section(
        RouteBlock,
        ("symbol", "src_chain_id", "dst_chain_id"),
        "block of {symbol} from {src_chain_id} to {dst_chain_id}",
    ),
    _section(
        PeggedPair,
        ("symbol", "org_chain_id", "pegged_chain_id"),
        "pegged pair of {symbol}, {org_chain_id} to {pegged_chain_id}",
        chains=("org_chain_id", "pegged_chain_id"),
    ),
    _section(BlockedAddress, ("address",), "blocked address {address}", part=Part.BLOCKED_ADDRESSES),
    _section(BlockedNetwork, ("cidr",), "blocked network {cidr}", part=Part.BLOCKED_NETWORKS),
    _section(
        OpeningValidator,
        ("chain_id", "signer"),
        "validator {signer} of chain {chain_id}",
        name="validators",
        part=Part.VALIDATORS,
        chains=("chain_id",),
    ),
    _section(ConfigField, ("name",), "field {name} of the transfer configs", optional=True),
)
"""In the order of the document. Rows can be inserted in it, as each section refers only to earlier ones."""


def key_of(section: Section, documented: Mapping[str, Any]) -> Row | None:
    """The key columns of a row as the document writes it; None where it is no row of the section."""
    names = {column: section.schema.fields[column].data_key or column for column in section.key}
    if not set(names.values()) <= set(documented):
        return None
    return {column: documented[name] for column, name in names.items()}


def section_of(subject: str, documented: Mapping[str, Any]) -> Section | None:
    """The section of a row that the audit log names; None where it is about something else."""
    for section in SECTIONS:
        if not subject.startswith(section.label.partition("{")[0]):
            continue
        key = key_of(section, documented)
        if key is not None and section.describe(key) == subject:
            return section
    return None
