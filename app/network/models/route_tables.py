"""Which tokens go where, at what price: routes through pools, pegged pairs, and what is blocked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from marshmallow import fields, post_load, pre_load
from sqlalchemy import CheckConstraint, ForeignKey, ForeignKeyConstraint, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models import Base
from app.db.types import BigId, UtcTime
from app.json_documents import Time, WholeNumber
from app.network.models import document_fields as shapes
from app.network.models.chain_tables import known_of_tokens
from app.network.models.columns import VALIDATES, Published, Unit, column, published_columns
from app.network.models.value_fields import AmountOrNone, Most, Rate, Tiers
from app.values.identifiers import ChainId

_RATE_LENGTH: Final = 80
_TIERS: Final = (
    "The whole amount pays the fee of the highest tier that it reaches, at most 2 %. The first tier starts "
    "at 0, each later tier at a higher amount. Without tiers the fee is not known and no estimates are given."
)
_SOURCE: Final = Unit("src_chain_id")
_DESTINATION: Final = Unit("dst_chain_id")


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
    symbol: Mapped[str] = column(shapes.ListedSymbol(), "Token", after="dst_chain_id")
    src_chain_id: Mapped[ChainId] = column(shapes.ListedChain(), "From")
    dst_chain_id: Mapped[ChainId] = column(shapes.ListedChain(), "To")
    rate_model: Mapped[str] = column(
        Rate(required=True), "Rate", name="rate", type_=String(16), doc="fixed or stableswap"
    )
    rate_value: Mapped[str | None] = mapped_column(
        String(_RATE_LENGTH), doc="plain decimal, of a fixed rate", info=VALIDATES
    )
    amplification: Mapped[int | None] = mapped_column(doc="of a curve, as Curve's A()")
    base_fee: Mapped[int | None] = column(
        AmountOrNone(required=True),
        "Base fee",
        "Pays for gas on the destination chain, in the destination token. A pinned or reported fee takes "
        "precedence. Leave empty if not known: no estimates are given until the event feed reports a fee.",
        unit=_DESTINATION,
    )
    base_fee_changed_at: Mapped[datetime] = mapped_column(UtcTime, doc="since when base_fee has this value")
    base_fee_max_age_seconds: Mapped[int | None] = column(
        WholeNumber(1, shapes.MAX_UINT32, allow_none=True, load_default=None),
        "Maximum base-fee age (seconds)",
        "No estimates are given when the base fee is older than this. Leave empty for no limit.",
        always=True,
    )
    pinned_base_fee: Mapped[int | None] = column(
        AmountOrNone(),
        "Pinned base fee",
        "Takes precedence over the reported and the configured fee until it ends, and never becomes too old. "
        "Leave empty for none.",
        unit=_DESTINATION,
        both="pinned_until",
    )
    pinned_until: Mapped[datetime | None] = column(
        Time(allow_none=True, load_default=None),
        "Pinned until",
        "At most 30 days ahead. Leave empty to pin nothing.",
        both="pinned_base_fee",
    )
    perc_fee_tiers: Mapped[tuple[tuple[int, int], ...] | None] = column(
        Tiers(required=True, allow_none=True),
        "Protocol fee tiers",
        _TIERS,
        unit=_SOURCE,
        doc="null is not known",
    )


_NOTE: Final = "For operators only. Users never see it."
_END: Final = "Leave empty for no end."


class RouteBlock(Base):
    """Transfers of a token that are stopped, in one direction or in both. It may name chains and tokens that
    are not configured yet: a block comes first.
    """

    __tablename__ = "route_blocks"
    __table_args__ = (
        UniqueConstraint("symbol", "src_chain_id", "dst_chain_id"),
        CheckConstraint("src_chain_id <> dst_chain_id", name="two_chains"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    symbol: Mapped[str] = column(shapes.Symbol(), "Token", "Symbol of the token. It may be added later.")
    src_chain_id: Mapped[ChainId] = column(shapes.AnyChain(), "From")
    dst_chain_id: Mapped[ChainId] = column(shapes.AnyChain(), "To")
    both_directions: Mapped[bool] = column(
        shapes.Flag(required=True),
        "Both directions",
        "Also stops transfers in the other direction.",
        start=True,
    )
    reason: Mapped[str] = column(shapes.Note(), "Reason", _NOTE, always=True)
    expires_at: Mapped[datetime | None] = column(Time(allow_none=True, load_default=None), "Ends", _END)


class PairTokenSchema(shapes.Strict):
    """The values that a pair sets for one of its tokens. If a key is omitted or null, the chain's value
    counts.
    """

    name = shapes.Name(shapes.NAME_LENGTH)
    address = shapes.ConfiguredAccount()
    icon = shapes.Url(least=0)
    decimal = WholeNumber(0, shapes.MAX_DECIMALS)
    xfer_disabled = shapes.Flag()
    extra = shapes.Extra(known_of_tokens)

    @pre_load
    def _leave_out(self, data: Any, **_kwargs: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {
            key: value
            for key, value in data.items()
            if value is not None and not (key == "xfer_disabled" and value is False)
        }

    @post_load
    def _without_nothing(self, data: Mapping[str, Any], **_kwargs: Any) -> dict[str, Any]:
        return {key: value for key, value in data.items() if key != "extra" or value}


class PairToken(fields.Nested):
    def __init__(self) -> None:
        super().__init__(PairTokenSchema, load_default=dict)


def _contracts() -> shapes.Different:
    return shapes.Different(shapes.ConfiguredAccount(), shapes.MAX_CONTRACTS)


_ORIGINAL: Final = Unit("org_chain_id", "org_token.decimal")
_PEGGED: Final = Unit("pegged_chain_id", "pegged_token.decimal")


def known_of_pairs() -> tuple[str, ...]:
    return ("org_chain_id", "org_token", "pegged_chain_id", "pegged_token", *published_columns(PeggedPair))


class PeggedPair(Base):
    """A token locked in a vault on its original chain and minted on another.

    Its tokens are those of its chains, except for the values in ``org_token`` and ``pegged_token``. A chain
    need not list the token: the document's rules then check that these values suffice.
    """

    __tablename__ = "pegged_pairs"
    __table_args__ = (
        UniqueConstraint("symbol", "org_chain_id", "pegged_chain_id"),
        CheckConstraint("org_chain_id <> pegged_chain_id", name="two_chains"),
    )

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    symbol: Mapped[str] = column(shapes.ListedSymbol(), "Token")
    org_chain_id: Mapped[ChainId] = column(
        shapes.ListedChain(),
        "Original chain",
        "Where the token is locked.",
        reference=ForeignKey("chains.chain_id"),
    )
    pegged_chain_id: Mapped[ChainId] = column(
        shapes.ListedChain(), "Pegged chain", "Where it is minted.", reference=ForeignKey("chains.chain_id")
    )
    org_token: Mapped[dict[str, Any]] = column(
        PairToken(),
        "Original token",
        after="max_burn",
        validates=True,
    )
    pegged_token: Mapped[dict[str, Any]] = column(
        PairToken(),
        "Pegged token",
        after="org_token",
        validates=True,
    )
    pegged_deposit_contract_addr: Mapped[str] = column(
        shapes.Contract(required=True),
        "Vault",
        "The contract on the original chain, which pays refunds of deposits. Leave empty if there is none.",
        validates=True,
        published=Published("Vault on the original chain."),
    )
    pegged_burn_contract_addr: Mapped[str] = column(
        shapes.Contract(required=True),
        "Bridge",
        "The contract on the pegged chain, which pays refunds of burns. Leave empty if there is none.",
        validates=True,
        published=Published("Bridge on the pegged chain."),
    )
    deposit_contracts: Mapped[list[str]] = column(
        _contracts(), "More vaults", "Other vaults of this pair, one per line. Optional.", validates=True
    )
    burn_contracts: Mapped[list[str]] = column(
        _contracts(), "More bridges", "Other bridges of this pair, one per line. Optional.", validates=True
    )
    canonical_token_contract_addr: Mapped[str] = column(
        shapes.Contract(load_default=""),
        "Canonical token",
        "Contract of the canonical form of the minted token. Optional.",
        always=True,
        published=Published("Address, or empty."),
    )
    migration_peg_burn_contract_addr: Mapped[str] = column(
        shapes.Contract(load_default=""),
        published=Published("Address, or empty.", after="bridge_version"),
    )
    vault_version: Mapped[int] = column(
        WholeNumber(0, shapes.MAX_UINT32, required=True),
        "Vault version",
        start=2,
        published=Published("Version of the contract.", 2),
    )
    bridge_version: Mapped[int] = column(
        WholeNumber(0, shapes.MAX_UINT32, required=True),
        "Bridge version",
        "Between two pegged chains of a token, both with version 2, transfers are burned and minted.",
        start=2,
        published=Published("Version of the contract.", 2),
    )
    deposit_base_fee: Mapped[int | None] = column(
        AmountOrNone(load_default=0),
        "Base fee to the pegged chain",
        "In the pegged chain's token. Leave empty if not known: no estimates are given.",
        unit=_PEGGED,
        always=True,
    )
    burn_base_fee: Mapped[int | None] = column(
        AmountOrNone(load_default=0),
        "Base fee back to the original chain",
        "In the original chain's token. Leave empty if not known: no estimates are given.",
        unit=_ORIGINAL,
        always=True,
    )
    perc_fee_tiers: Mapped[tuple[tuple[int, int], ...] | None] = column(
        Tiers(required=True, allow_none=True),
        "Protocol fee tiers",
        _TIERS,
        unit=_ORIGINAL,
        doc="null is not known",
    )
    min_deposit: Mapped[int | None] = column(
        AmountOrNone(),
        "Minimum deposit",
        "The vault's minDeposit plus 1. Leave empty for the minimum of the token on the original chain.",
        unit=_ORIGINAL,
    )
    max_deposit: Mapped[int | None] = column(
        Most(),
        "Maximum deposit",
        "The vault's maxDeposit. Leave empty, also where that is 0, for the maximum of the token on the "
        "original chain.",
        unit=_ORIGINAL,
        least="min_deposit",
    )
    min_burn: Mapped[int | None] = column(
        AmountOrNone(),
        "Minimum burn",
        "The bridge's minBurn plus 1. Leave empty for the minimum of the token on the pegged chain.",
        unit=_PEGGED,
    )
    max_burn: Mapped[int | None] = column(
        Most(),
        "Maximum burn",
        "The bridge's maxBurn. Leave empty, also where that is 0, for the maximum of the token on the "
        "pegged chain.",
        unit=_PEGGED,
        least="min_burn",
    )
    extra: Mapped[dict[str, Any]] = column(shapes.Extra(known_of_pairs))
