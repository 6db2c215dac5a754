"""What accounts of the console prove themselves with beside a password, and the rules for all of them."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, BigInteger, ForeignKey, LargeBinary, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import BigId, Hash32, UtcTime


class OperatorPasskey(Base):
    """A passkey (WebAuthn credential) of an account: its public half."""

    __tablename__ = "operator_passkeys"
    __table_args__ = (UniqueConstraint("operator_id", "name", name="uq_operator_passkeys_operator_id_name"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    operator_id: Mapped[int] = mapped_column(ForeignKey("operators.id"))
    name: Mapped[str] = mapped_column(String(64), doc="as its owner calls it")
    credential_id: Mapped[bytes] = mapped_column(LargeBinary, unique=True)
    public_key: Mapped[bytes] = mapped_column(LargeBinary, doc="COSE")
    sign_count: Mapped[int] = mapped_column(BigInteger, doc="of the last use; 0 where it is not counted")
    transports: Mapped[list[str]] = mapped_column(JSON, doc="how the browser reaches it")
    synced: Mapped[bool] = mapped_column(doc="may be on several devices of its owner")
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    last_used_at: Mapped[datetime | None] = mapped_column(UtcTime)
    challenge_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="challenges up to it were used")


class OperatorRecoveryCode(Base):
    """A recovery code that is not used yet. A used one is deleted."""

    __tablename__ = "operator_recovery_codes"

    operator_id: Mapped[int] = mapped_column(ForeignKey("operators.id"), primary_key=True)
    digest: Mapped[bytes] = mapped_column(Hash32, primary_key=True, doc="SHA-256 of the code")


class OperatorRules(Base):
    """What is demanded of every account. One row, with the id 1; none is as if nothing were demanded."""

    __tablename__ = "operator_rules"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    second_factor_required: Mapped[bool]
