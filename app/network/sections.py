"""The lists of the network document: their tables, their keys and the parts they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from app.db.models import Base
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
from app.network.models.columns import declared, validating_columns
from app.network.schemas import row_schema

Row = dict[str, Any]
"""A row of a table by column name."""


class Part(StrEnum):
    """A part of the configuration with its own version. After an edit only its part is read again."""

    CORE = "core"
    BLOCKED_ADDRESSES = "blocked_addresses"
    BLOCKED_NETWORKS = "blocked_networks"
    VALIDATORS = "validators"


BLOCKED: Final = (Part.BLOCKED_ADDRESSES, Part.BLOCKED_NETWORKS)
"""Parts that may have a hundred thousand rows, with no rules between them: an edit never reads them whole."""


class Section:
    """One list of the document and its table.

    ``columns`` are those of the document by its names, as the table declares them, and ``schema`` is made of
    them. ``keys`` are the document's names of the columns in ``key``, ``prefix`` is how every label begins.
    ``facts`` are the columns by which stored events are validated; ``left_out`` those that the document
    leaves out where they have their default.

    :param key: the columns that identify a row.
    :param label: the row's name for people.
    :param name: of the list, where it is not that of the table.
    :param chains: the columns that name the row's chains, in the sections by which these are validated.
    :param optional: the document leaves out the list where it is empty.
    """

    def __init__(
        self, model: type[Base], key: tuple[str, ...], label: str, *, name: str = "", part: Part = Part.CORE,
        chains: tuple[str, ...] = (), optional: bool = False,
    ) -> None:  # fmt: skip
        self.model, self.key, self.label, self.prefix = model, key, label, label.partition("{")[0]
        self.name, self.part = name or model.__tablename__, part
        self.chains, self.optional = chains, optional
        self.columns, self.schema, self.facts = declared(model), row_schema(model), validating_columns(model)
        self.left_out = tuple(column for column, each in self.columns.items() if each.left_out)
        self.keys = {column: self.schema.fields[column].data_key or column for column in key}

    @property
    def opening(self) -> tuple[str, ...]:
        """Set in a new row and not edited afterwards, as the feed counts what follows."""
        return tuple(name for name, each in self.columns.items() if each.opening)

    def identity(self, row: Row) -> tuple[Any, ...]:
        """The values of the row's key. Addresses are compared without regard to case."""
        return tuple(row[column].casefold() if column == "address" else row[column] for column in self.key)

    def describe(self, row: Row) -> str:
        """The row's name for people, such as ``token USDT on chain 1``."""
        return self.label.format_map(row)

    def documented(self, row: Row) -> dict[str, Any]:
        return {
            key: value
            for key, value in self.written_out(row).items()
            if key not in self.left_out or value != self.columns[key].default
        }

    def with_defaults(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {key: self.columns[key].default for key in self.left_out} | dict(values)

    def written_out(self, row: Row) -> dict[str, Any]:
        """The row as the document writes it, with every key."""
        written: dict[str, Any] = self.schema.dump(row)
        return written


SECTIONS: Final = (
    Section(Chain, ("chain_id",), "chain {chain_id}", chains=("chain_id",)),
    Section(Token, ("chain_id", "symbol"), "token {symbol} on chain {chain_id}", chains=("chain_id",)),
    Section(Pool, ("chain_id", "symbol"), "pool of {symbol} on chain {chain_id}"),
    Section(
        Route,
        ("symbol", "src_chain_id", "dst_chain_id"),
        "route of {symbol} from {src_chain_id} to {dst_chain_id}",
    ),
    Section(
        RouteBlock,
        ("symbol", "src_chain_id", "dst_chain_id"),
        "block of {symbol} from {src_chain_id} to {dst_chain_id}",
    ),
    Section(
        PeggedPair,
        ("symbol", "org_chain_id", "pegged_chain_id"),
        "pegged pair of {symbol}, {org_chain_id} to {pegged_chain_id}",
        chains=("org_chain_id", "pegged_chain_id"),
    ),
    Section(BlockedAddress, ("address",), "blocked address {address}", part=Part.BLOCKED_ADDRESSES),
    Section(BlockedNetwork, ("cidr",), "blocked network {cidr}", part=Part.BLOCKED_NETWORKS),
    Section(
        OpeningValidator,
        ("chain_id", "signer"),
        "validator {signer} of chain {chain_id}",
        name="validators",
        part=Part.VALIDATORS,
        chains=("chain_id",),
    ),
    Section(ConfigField, ("name",), "field {name} of the transfer configs", optional=True),
)
"""In the order of the document. Rows can be inserted in it, as each section refers only to earlier ones."""


def key_of(section: Section, documented: Mapping[str, Any]) -> Row | None:
    """The key columns of a row as the document writes it; None where it is no row of the section."""
    try:
        return {column: documented[name] for column, name in section.keys.items()}
    except KeyError:
        return None


def section_of(subject: str, documented: Mapping[str, Any]) -> Section | None:
    """The section of a row that the audit log names; None where it is about something else."""
    for section in SECTIONS:
        if not subject.startswith(section.prefix):
            continue
        key = key_of(section, documented)
        if key is not None and section.describe(key) == subject:
            return section
    return None
