"""Tables: blocked accounts and networks, opening validators, further fields for clients, versions."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from sqlalchemy import JSON, BigInteger, ForeignKey, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models import Base, Projected
from app.db.types import BigId, Uint64, UtcTime
from app.json_documents import Amount, Signer, Text, Time
from app.network.models import document_fields as shapes
from app.network.models.columns import column
from app.values.identifiers import ChainId

_NOTE: Final = "For operators only. Users never see it."
_END: Final = "Leave empty for no end."
_WHO: Final = "For operators only, to call when its signature is missing. It counts on every chain."

CONTACT_LENGTH: Final = 120
"""Characters of a validator's name, and of its contact."""


class BlockedAddress(Base):
    """An account flagged as a security risk. Compared without regard to letter case."""

    __tablename__ = "blocked_addresses"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    address: Mapped[str] = column(shapes.ConfiguredAccount(required=True), "Address", unique=True)
    reason: Mapped[str] = column(shapes.Note(), "Reason", _NOTE, always=True)
    source: Mapped[str] = column(
        Text(shapes.NOTE_LENGTH, least=0, load_default=""),
        "Source",
        "The list or case that it comes from.",
        always=True,
    )
    expires_at: Mapped[datetime | None] = column(
        Time(allow_none=True, load_default=None), "Ends", _END, always=True
    )


class BlockedNetwork(Base):
    """A range of caller addresses, such as a VPN's exits."""

    __tablename__ = "blocked_networks"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    cidr: Mapped[str] = column(
        shapes.Cidr(required=True),
        "Network",
        type_=String(64),
        unique=True,
        doc="canonical, without host bits",
    )
    reason: Mapped[str] = column(shapes.Note(), "Reason", _NOTE, always=True)
    expires_at: Mapped[datetime | None] = column(
        Time(allow_none=True, load_default=None), "Ends", _END, always=True
    )


class OpeningValidator(Base):
    """A member of a chain's validator set before the first reported rotation."""

    __tablename__ = "opening_validators"
    __table_args__ = (UniqueConstraint("chain_id", "signer"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    chain_id: Mapped[ChainId] = column(shapes.ListedChain(), reference=ForeignKey("chains.chain_id"))
    signer: Mapped[str] = column(Signer(required=True))
    power: Mapped[int] = column(Amount(required=True), validates=True)
    name: Mapped[str] = column(Text(CONTACT_LENGTH, least=0, load_default=""), "Name", _WHO)
    contact: Mapped[str] = column(Text(CONTACT_LENGTH, least=0, load_default=""), "Contact", _WHO)


class ConfigField(Base):
    """A field next to the lists of the transfer configs, published to clients unchanged."""

    __tablename__ = "config_fields"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    name: Mapped[str] = column(shapes.Label(shapes.SYMBOL_LENGTH, required=True), unique=True)
    value: Mapped[Any] = column(shapes.AnyJson(required=True, allow_none=True))


class NetworkPart(Base):
    """The version of one part of the configuration, to which each change adds one: so readers learn which
    part to read again. A part without a row is at 0.
    """

    __tablename__ = "network_parts"

    part: Mapped[str] = mapped_column(String(32), primary_key=True, doc="a value of sections.Part")
    version: Mapped[int] = mapped_column(BigInteger)
    changed_at: Mapped[datetime] = mapped_column(UtcTime)


class ReportedValidatorSet(Projected, Base):
    """The latest canonical ``validators.updated`` of a chain. It takes precedence over the opening set."""

    __tablename__ = "fed_validator_sets"

    chain_id: Mapped[ChainId] = mapped_column(Uint64, primary_key=True, autoincrement=False)
    version: Mapped[int] = mapped_column(doc="how many canonical updates the chain has had")
    members: Mapped[list[list[str]]] = mapped_column(JSON, doc="[address, power] pairs, sorted by address")
    at: Mapped[datetime] = mapped_column(UtcTime)
    event_id: Mapped[str] = mapped_column(String(256))
