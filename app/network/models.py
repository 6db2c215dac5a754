"""What an operator configures: chains, tokens, pools, routes, blocks, pegged pairs and validators.

Every row has an integer ``id`` for the console and keeps the order of its arrival; what a row
is about stands in its unique constraint.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import Address, BigId, FeeTiers, Uint64, Uint256, UtcTime
from app.network.watch_terms import DEFAULT_POLL_SECONDS, Finality
from app.values.identifiers import BlockNumber, ChainId

URL_LENGTH = 2048
NAME_LENGTH = 128
SYMBOL_LENGTH = 64
RATE_LENGTH = 80
PATH_LENGTH = 64
PASSED_LENGTH = 128
"""Of texts that clients are told as they stand."""


class Chain(Base):
    """A chain, its explorer and the bridge contract on it."""

    __tablename__ = "chains"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    chain_id: Mapped[ChainId] = mapped_column(Uint64, unique=True)
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    icon: Mapped[str] = mapped_column(String(URL_LENGTH))
    block_delay: Mapped[int] = mapped_column(BigInteger, doc="blocks a transfer waits on this source")
    gas_token_symbol: Mapped[str] = mapped_column(String(SYMBOL_LENGTH))
    explore_url: Mapped[str] = mapped_column(
        String(URL_LENGTH), doc="as configured, maybe with a / at its end"
    )
    contract_addr: Mapped[str] = mapped_column(Address(), doc="empty where there is none yet")
    drop_gas_amt: Mapped[int] = mapped_column(Uint256)
    minimal_max_slippage: Mapped[int] = mapped_column(doc="parts per million")
    disabled: Mapped[bool]
    disabled_reason: Mapped[str] = mapped_column(Text, doc="for operators; never answered")
    disabled_at: Mapped[datetime | None] = mapped_column(
        UtcTime, doc="since when it is stopped; null where it is not, or that is not known"
    )
    tx_path: Mapped[str] = mapped_column(
        String(PATH_LENGTH), default="/tx/", doc="between the explorer and the hash"
    )
    drop_gas_cost_amt: Mapped[str] = mapped_column(String(PASSED_LENGTH), default="0")
    drop_gas_balance_alert: Mapped[str] = mapped_column(String(PASSED_LENGTH), default="0")
    suggested_gas_cost: Mapped[str] = mapped_column(String(PASSED_LENGTH), default="0")
    flat_usd_fee: Mapped[float] = mapped_column(JSON, default=0)
    farming_reward_contract_addr: Mapped[str] = mapped_column(Address(), default="")
    transfer_agent_contract_addr: Mapped[str] = mapped_column(Address(), default="")
    watch_from_block: Mapped[BlockNumber | None] = mapped_column(BigInteger, doc="null is not watched")
    finality: Mapped[Finality | None] = mapped_column(
        JSON(none_as_null=True), doc="blocks, or the node's own word; null is from block_delay"
    )
    poll_seconds: Mapped[float] = mapped_column(JSON, default=DEFAULT_POLL_SECONDS)
    rpc: Mapped[list[str]] = mapped_column(
        JSON, default=list, doc="names of the variables that hold the nodes' URLs"
    )
    extra: Mapped[dict[str, Any]] = mapped_column(
        JSON, default=dict, doc="fields that clients are told as they stand"
    )


class Token(Base):
    """A token's form on one chain."""

    __tablename__ = "tokens"
    __table_args__ = (UniqueConstraint("chain_id", "symbol"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    chain_id: Mapped[ChainId] = mapped_column(ForeignKey("chains.chain_id"))
    symbol: Mapped[str] = mapped_column(String(SYMBOL_LENGTH))
    name: Mapped[str] = mapped_column(String(NAME_LENGTH))
    icon: Mapped[str] = mapped_column(String(URL_LENGTH))
    address: Mapped[str] = mapped_column(Address())
    decimal: Mapped[int]
    xfer_disabled: Mapped[bool] = mapped_column(doc="stops all its transfers")
    pool_disabled: Mapped[bool] = mapped_column(default=False, doc="stops transfers through the pool")
    transfer_disabled: Mapped[bool] = mapped_column(default=False)
    min_send: Mapped[int | None] = mapped_column(Uint256, doc="null is no least amount")
    max_send: Mapped[int | None] = mapped_column(Uint256, doc="null is no greatest amount")
    liq_add_disabled: Mapped[bool] = mapped_column(default=False)
    liq_rm_disabled: Mapped[bool] = mapped_column(default=False)
    liq_agg_rm_src_disabled: Mapped[bool] = mapped_column(default=False)
    delay_threshold: Mapped[str] = mapped_column(String(PASSED_LENGTH), default="")
    delay_period: Mapped[int] = mapped_column(BigInteger, default=0)
    extra: Mapped[dict[str, Any]] = mapped_column(
        JSON, default=dict, doc="fields that clients are told as they stand"
    )


class Pool(Base):
    """A token's liquidity pool on one chain: opening values and caps, in the token's smallest units.

    What the feed adds stands in ``pool_counters``.
    """

    __tablename__ = "pools"
    __table_args__ = (
        UniqueConstraint("chain_id", "symbol"),
        ForeignKeyConstraint(["chain_id", "symbol"], ["tokens.chain_id", "tokens.symbol"]),
        CheckConstraint("epoch_seconds > 0", name="epoch_seconds"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    chain_id: Mapped[ChainId] = mapped_column(Uint64)
    symbol: Mapped[str] = mapped_column(String(SYMBOL_LENGTH))
    liquidity_added: Mapped[int] = mapped_column(Uint256)
    liquidity_sent: Mapped[int] = mapped_column(Uint256)
    liquidity_relayed: Mapped[int] = mapped_column(Uint256)
    liquidity_withdrawn: Mapped[int] = mapped_column(Uint256)
    total_cap: Mapped[int | None] = mapped_column(Uint256, doc="null is no cap")
    epoch_cap: Mapped[int | None] = mapped_column(Uint256, doc="null is no cap")
    epoch_seconds: Mapped[int] = mapped_column(BigInteger)


class Route(Base):
    """The price of moving one token through the pools of two chains, in one direction."""

    __tablename__ = "routes"
    __table_args__ = (
        UniqueConstraint("symbol", "src_chain_id", "dst_chain_id"),
        ForeignKeyConstraint(["src_chain_id", "symbol"], ["pools.chain_id", "pools.symbol"]),
        ForeignKeyConstraint(["dst_chain_id", "symbol"], ["pools.chain_id", "pools.symbol"]),
        CheckConstraint("src_chain_id <> dst_chain_id", name="two_chains"),
        CheckConstraint(
            "(rate_model = 'fixed' AND rate_value IS NOT NULL AND amplification IS NULL)"
            " OR (rate_model = 'stableswap' AND rate_value IS NULL AND amplification IS NOT NULL)",
            name="rate",
        ),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    symbol: Mapped[str] = mapped_column(String(SYMBOL_LENGTH))
    src_chain_id: Mapped[ChainId] = mapped_column(Uint64)
    dst_chain_id: Mapped[ChainId] = mapped_column(Uint64)
    rate_model: Mapped[str] = mapped_column(String(16), doc="fixed or stableswap")
    rate_value: Mapped[str | None] = mapped_column(String(RATE_LENGTH), doc="plain decimal, of a fixed rate")
    amplification: Mapped[int | None] = mapped_column(doc="of a curve, as Curve's A()")
    base_fee: Mapped[int | None] = mapped_column(Uint256, doc="destination units; null is not known")
    base_fee_changed_at: Mapped[datetime] = mapped_column(UtcTime, doc="since when base_fee has this value")
    base_fee_max_age_seconds: Mapped[int | None] = mapped_column(BigInteger, doc="null is no limit")
    pinned_base_fee: Mapped[int | None] = mapped_column(
        Uint256, doc="destination units; counts until pinned_until, over base_fee and the feed"
    )
    pinned_until: Mapped[datetime | None] = mapped_column(UtcTime, doc="null where nothing is pinned")
    perc_fee_tiers: Mapped[tuple[tuple[int, int], ...] | None] = mapped_column(
        FeeTiers, doc="null is not known"
    )


class RouteBlock(Base):
    """Transfers of a token that are stopped, in one direction or in both.

    It may name chains and tokens that are not configured (yet): a block comes first.
    """

    __tablename__ = "route_blocks"
    __table_args__ = (
        UniqueConstraint("symbol", "src_chain_id", "dst_chain_id"),
        CheckConstraint("src_chain_id <> dst_chain_id", name="two_chains"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    symbol: Mapped[str] = mapped_column(String(SYMBOL_LENGTH))
    src_chain_id: Mapped[ChainId] = mapped_column(Uint64)
    dst_chain_id: Mapped[ChainId] = mapped_column(Uint64)
    both_directions: Mapped[bool]
    reason: Mapped[str] = mapped_column(Text, doc="for operators; never answered")
    expires_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="null is never")


class PeggedPair(Base):
    """A token locked in a vault on its original chain and minted on another.

    Its tokens are those of its chains, as far as ``org_token`` and ``pegged_token`` say nothing else. A chain
    need not list the token: that they say enough then is for the document's rules.
    """

    __tablename__ = "pegged_pairs"
    __table_args__ = (
        UniqueConstraint("symbol", "org_chain_id", "pegged_chain_id"),
        CheckConstraint("org_chain_id <> pegged_chain_id", name="two_chains"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    symbol: Mapped[str] = mapped_column(String(SYMBOL_LENGTH))
    org_chain_id: Mapped[ChainId] = mapped_column(ForeignKey("chains.chain_id"))
    pegged_chain_id: Mapped[ChainId] = mapped_column(ForeignKey("chains.chain_id"))
    org_token: Mapped[dict[str, Any]] = mapped_column(
        JSON, default=dict, doc="what differs from the original chain's token"
    )
    pegged_token: Mapped[dict[str, Any]] = mapped_column(
        JSON, default=dict, doc="what differs from the pegged chain's token"
    )
    pegged_deposit_contract_addr: Mapped[str] = mapped_column(
        Address(), doc="the vault, on the original chain"
    )
    pegged_burn_contract_addr: Mapped[str] = mapped_column(Address(), doc="the bridge, on the pegged chain")
    deposit_contracts: Mapped[list[str]] = mapped_column(
        JSON, default=list, doc="further vaults that serve the pair"
    )
    burn_contracts: Mapped[list[str]] = mapped_column(
        JSON, default=list, doc="further bridges that serve the pair"
    )
    canonical_token_contract_addr: Mapped[str] = mapped_column(Address())
    migration_peg_burn_contract_addr: Mapped[str] = mapped_column(Address(), default="")
    vault_version: Mapped[int] = mapped_column(BigInteger)
    bridge_version: Mapped[int] = mapped_column(BigInteger)
    deposit_base_fee: Mapped[int | None] = mapped_column(
        Uint256, doc="units of the pegged chain; null is not known"
    )
    burn_base_fee: Mapped[int | None] = mapped_column(
        Uint256, doc="units of the original chain; null is not known"
    )
    min_deposit: Mapped[int | None] = mapped_column(Uint256, doc="units of the original chain; null is none")
    max_deposit: Mapped[int | None] = mapped_column(Uint256, doc="units of the original chain; null is none")
    min_burn: Mapped[int | None] = mapped_column(Uint256, doc="units of the pegged chain; null is none")
    max_burn: Mapped[int | None] = mapped_column(Uint256, doc="units of the pegged chain; null is none")
    perc_fee_tiers: Mapped[tuple[tuple[int, int], ...] | None] = mapped_column(
        FeeTiers, doc="null is not known"
    )
    extra: Mapped[dict[str, Any]] = mapped_column(
        JSON, default=dict, doc="fields that clients are told as they stand"
    )


class ConfigField(Base):
    """A field beside the lists of the transfer configs, told to clients as it stands."""

    __tablename__ = "config_fields"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    name: Mapped[str] = mapped_column(String(SYMBOL_LENGTH), unique=True)
    value: Mapped[Any] = mapped_column(JSON)


class OpeningValidator(Base):
    """A member of a chain's validator set before the first reported rotation."""

    __tablename__ = "opening_validators"
    __table_args__ = (UniqueConstraint("chain_id", "signer"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    chain_id: Mapped[ChainId] = mapped_column(ForeignKey("chains.chain_id"))
    signer: Mapped[str] = mapped_column(Address())
    power: Mapped[int] = mapped_column(Uint256)


class NetworkPart(Base):
    """The version of one part of the configuration; grows by one with every change of it.

    Readers compare versions to learn which part to read again. A part without a row is at 0.
    """

    __tablename__ = "network_parts"

    part: Mapped[str] = mapped_column(String(32), primary_key=True, doc="a value of PartName")
    version: Mapped[int] = mapped_column(BigInteger)
    changed_at: Mapped[datetime] = mapped_column(UtcTime)


class BlockedAddress(Base):
    """An account flagged as a security risk. Compared without regard to letter case."""

    __tablename__ = "blocked_addresses"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    address: Mapped[str] = mapped_column(Address(), unique=True)
    reason: Mapped[str] = mapped_column(Text, doc="for operators; never answered")
    source: Mapped[str] = mapped_column(Text, doc="for operators; never answered")
    expires_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="null is never")


class BlockedNetwork(Base):
    """A range of caller addresses, such as a VPN's exits."""

    __tablename__ = "blocked_networks"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    cidr: Mapped[str] = mapped_column(String(64), unique=True, doc="canonical, without host bits")
    reason: Mapped[str] = mapped_column(Text, doc="for operators; never answered")
    expires_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="null is never")


class ReportedValidatorSet(Base):
    """The latest standing ``validators.updated`` of a chain; outranks the opening set."""

    __tablename__ = "fed_validator_sets"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    version: Mapped[int] = mapped_column(doc="how many standing updates the chain has had")
    members: Mapped[list[list[str]]] = mapped_column(JSON, doc="[address, power] pairs, sorted by address")
    at: Mapped[datetime] = mapped_column(UtcTime)
    event_id: Mapped[str] = mapped_column(String(256))
