"""Accounts of the console, their second factors, sessions and failed sign-ins, and proposed changes."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, BigInteger, ForeignKey, Index, LargeBinary, String, Text, UniqueConstraint, false
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models import Base
from app.db.types import BigId, Hash32, UtcTime


class Operator(Base):
    """An account. Rows are never deleted, as the audit log names them; they are disabled instead."""

    __tablename__ = "operators"

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    email: Mapped[str] = mapped_column(String(254), unique=True, doc="in lower case")
    password: Mapped[str] = mapped_column(String(255), doc="Argon2id")
    role: Mapped[str] = mapped_column(String(16), doc="a value of Role")
    active: Mapped[bool]
    fs_uniquifier: Mapped[str] = mapped_column(
        String(64), unique=True, doc="what a session names the account by; a new one ends every session"
    )
    second_factor_required: Mapped[bool]
    tf_primary_method: Mapped[str | None] = mapped_column(String(32), doc="authenticator, once it is set up")
    tf_totp_secret: Mapped[str | None] = mapped_column(String(512), doc="encrypted under SECRET_KEY")
    totp_last_counter: Mapped[int | None] = mapped_column(BigInteger, doc="codes up to it were used")
    must_change_password: Mapped[bool] = mapped_column(
        server_default=false(), doc="somebody else made it: nothing is served before it is changed"
    )
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    signed_in_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="the last time")
    signed_in_from: Mapped[str | None] = mapped_column(String(64))


class OperatorSession(Base):
    """A signed-in browser. Without its row, or after its end, its cookie is worth nothing.

    A session that was ended before its time is stored as long as its cookie, to show that browser why.
    The row of one that its own browser signed out is deleted.
    """

    __tablename__ = "operator_sessions"
    __table_args__ = (Index("ix_operator_sessions_operator_id", "operator_id"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    operator_id: Mapped[int] = mapped_column(ForeignKey("operators.id"))
    digest: Mapped[bytes] = mapped_column(Hash32, unique=True, doc="SHA-256 of the cookie's secret")
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    seen_at: Mapped[datetime] = mapped_column(UtcTime, doc="to the minute")
    proved_at: Mapped[datetime | None] = mapped_column(
        UtcTime,
        doc="when its owner last proved their identity by password, code or passkey; null: not since sign-in",
    )
    address: Mapped[str] = mapped_column(String(64))
    browser: Mapped[str] = mapped_column(String(255), doc="the User-Agent")
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="before its time; null: it was not")
    ended_why: Mapped[str | None] = mapped_column(String(16), doc="a SessionEnd")


class SignInFailure(Base):
    """Failed sign-ins by account, network, both, and known browser; deleted after a while.

    Written by ``counting``, without the writer's lock: sign-ins do not wait for the feed.
    """

    __tablename__ = "sign_in_failures"
    __table_args__ = (Index("ix_sign_in_failures_last_at", "last_at"),)

    key: Mapped[str] = mapped_column(
        String(400), primary_key=True, doc="a FailureScope and whom it counts; never what was typed"
    )
    failures: Mapped[int]
    last_at: Mapped[datetime] = mapped_column(UtcTime)


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
    """Rules for every account. One row, with the id 1; without it there are no rules."""

    __tablename__ = "operator_rules"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    second_factor_required: Mapped[bool]


class Proposal(Base):
    """A proposed change (``app.accounts.rules.two_persons``). Rows are never deleted."""

    __tablename__ = "proposals"
    __table_args__ = (Index("ix_proposals_state_expires_at", "state", "expires_at"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    kind: Mapped[str] = mapped_column(String(32), doc="how the input is read and planned")
    section: Mapped[str] = mapped_column(String(32), doc="as TWO_PERSONS names it")
    subject: Mapped[str] = mapped_column(String(256), doc="as the audit names it, such as chain 1")
    summary: Mapped[str] = mapped_column(Text, doc="the change in a sentence")
    input: Mapped[str] = mapped_column(Text, doc="JSON: what was entered, and what it was based on")
    secret: Mapped[str | None] = mapped_column(String(255), doc="a hash; null once it is decided")
    changes: Mapped[str] = mapped_column(Text, doc="canonical JSON of the rows before and after")
    reason: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(16), doc="a value of ProposalState")
    proposed_by: Mapped[str] = mapped_column(String(254), doc="an account's email")
    proposed_at: Mapped[datetime] = mapped_column(UtcTime)
    expires_at: Mapped[datetime] = mapped_column(UtcTime)
    decided_by: Mapped[str | None] = mapped_column(String(254))
    decided_at: Mapped[datetime | None] = mapped_column(UtcTime)
    decision_reason: Mapped[str] = mapped_column(Text, doc="empty for an approval")
    record_id: Mapped[int | None] = mapped_column(BigInteger, doc="the audit record of the change made")
