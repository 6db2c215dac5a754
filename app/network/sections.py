"""The lists of the network document: their tables, their keys and the parts they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

from marshmallow import fields
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
from app.network.schemas import section_schemas as shape
from app.network.schemas.document_fields import Strict

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

    ``key`` are the columns that identify a row; ``label`` is its name for people. ``chains`` and
    ``facts`` are set in the sections by which kept events are judged: the columns that name the row's
    chains, and those that the judgement depends on. ``left_out`` are keys that the document leaves out where
    they have their default, and with ``optional`` it leaves out the list where it is empty: so gateways from
    before them read it, and people only what is special.
    """

    name: str
    part: Part
    model: type[Base]
    schema: Strict
    key: tuple[str, ...]
    label: str
    chains: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    optional: bool = False

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
            if key not in self.left_out or value != _default(self.schema.fields[key])
        }

    def with_defaults(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """A documented row, with the defaults of what it leaves out."""
        return {key: _default(self.schema.fields[key]) for key in self.left_out} | dict(values)

    def written_out(self, row: Row) -> dict[str, Any]:
        """As :meth:`documented`, with every key."""
        written: dict[str, Any] = self.schema.dump(row)
        return written


def _default(field: fields.Field[Any]) -> Any:
    return field.load_default() if callable(field.load_default) else field.load_default


SECTIONS: Final = (
    Section(
        "chains", Part.CORE, Chain, shape.ChainSchema(), ("chain_id",), "chain {chain_id}",
        chains=("chain_id",), facts=("contract_addr",),
        left_out=(
            "tx_path", "drop_gas_cost_amt", "drop_gas_balance_alert", "suggested_gas_cost", "flat_usd_fee",
            "farming_reward_contract_addr", "transfer_agent_contract_addr",
            "watch_from_block", "finality", "poll_seconds", "rpc", "extra",
        ),
    ),
    Section(
        "tokens", Part.CORE, Token, shape.TokenSchema(), ("chain_id", "symbol"),
        "token {symbol} on chain {chain_id}", chains=("chain_id",), facts=("address", "decimal"),
        left_out=(
            "pool_disabled", "transfer_disabled", "min_send", "max_send", "liq_add_disabled",
            "liq_rm_disabled", "liq_agg_rm_src_disabled", "delay_threshold", "delay_period", "extra",
        ),
    ),
    Section(
        "pools", Part.CORE, Pool, shape.PoolSchema(), ("chain_id", "symbol"),
        "pool of {symbol} on chain {chain_id}",
    ),
    Section(
        "routes", Part.CORE, Route, shape.RouteSchema(), ("symbol", "src_chain_id", "dst_chain_id"),
        "route of {symbol} from {src_chain_id} to {dst_chain_id}", facts=("rate_value",),
        left_out=("pinned_base_fee", "pinned_until"),
    ),
    Section(
        "route_blocks", Part.CORE, RouteBlock, shape.RouteBlockSchema(),
        ("symbol", "src_chain_id", "dst_chain_id"),
        "block of {symbol} from {src_chain_id} to {dst_chain_id}", left_out=("expires_at",),
    ),
    Section(
        "pegged_pairs", Part.CORE, PeggedPair, shape.PeggedPairSchema(),
        ("symbol", "org_chain_id", "pegged_chain_id"),
        "pegged pair of {symbol}, {org_chain_id} to {pegged_chain_id}",
        chains=("org_chain_id", "pegged_chain_id"),
        facts=(
            "pegged_deposit_contract_addr", "deposit_contracts",
            "pegged_burn_contract_addr", "burn_contracts", "org_token", "pegged_token",
        ),
        left_out=(
            "deposit_contracts", "burn_contracts", "org_token", "pegged_token",
            "migration_peg_burn_contract_addr", "min_deposit", "max_deposit", "min_burn", "max_burn", "extra",
        ),
    ),
    Section(
        "blocked_addresses", Part.BLOCKED_ADDRESSES, BlockedAddress, shape.BlockedAddressSchema(),
        ("address",), "blocked address {address}",
    ),
    Section(
        "blocked_networks", Part.BLOCKED_NETWORKS, BlockedNetwork, shape.BlockedNetworkSchema(),
        ("cidr",), "blocked network {cidr}",
    ),
    Section(
        "validators", Part.VALIDATORS, OpeningValidator, shape.ValidatorSchema(), ("chain_id", "signer"),
        "validator {signer} of chain {chain_id}", chains=("chain_id",), facts=("power",),
    ),
    Section(
        "config_fields", Part.CORE, ConfigField, shape.ConfigFieldSchema(), ("name",),
        "field {name} of the transfer configs", optional=True,
    ),
)  # fmt: skip
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
