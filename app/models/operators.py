"""Accounts of the console, their sessions, and failed sign-ins."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, ForeignKey, Index, String, false
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import BigId, Hash32, UtcTime


class Operator(Base):
    """An account. Rows are never deleted, as the audit names them; they are switched off."""

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
    """A signed-in browser. Its row gone or ended, its cookie is worth nothing.

    One that was ended before its time is kept as long as its cookie, to tell that browser why.
    """

    __tablename__ = "operator_sessions"
    __table_args__ = (Index("ix_operator_sessions_operator_id", "operator_id"),)

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    operator_id: Mapped[int] = mapped_column(ForeignKey("operators.id"))
    digest: Mapped[bytes] = mapped_column(Hash32, unique=True, doc="SHA-256 of the cookie's secret")
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    seen_at: Mapped[datetime] = mapped_column(UtcTime, doc="to the minute")
    proved_at: Mapped[datetime | None] = mapped_column(
        UtcTime, doc="when its owner was last asked again and gave password, code or passkey; null: never"
    )
    address: Mapped[str] = mapped_column(String(64))
    browser: Mapped[str] = mapped_column(String(255), doc="the User-Agent")
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="before its time; null: it was not")
    ended_why: Mapped[str | None] = mapped_column(String(16), doc="a SessionEnd")


class SignInFailure(Base):
    """Failed sign-ins by account, network, both, and known browser; forgotten after a while.

    Written by ``counting``, without the writer's lock: sign-ins do not wait for the feed.
    """

    __tablename__ = "sign_in_failures"
    __table_args__ = (Index("ix_sign_in_failures_last_at", "last_at"),)

    key: Mapped[str] = mapped_column(
        String(400), primary_key=True, doc="a FailureScope and whom it counts; never what was typed"
    )
    failures: Mapped[int]
    last_at: Mapped[datetime] = mapped_column(UtcTime)
