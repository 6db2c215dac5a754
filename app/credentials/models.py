"""The keys of integrators, how much each was used, and the tokens of reporters."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, BigInteger, ForeignKey, String
from sqlalchemy.orm import Mapped, mapped_column

from app.db.models import Base
from app.db.types import BigId, Hash32, UtcTime

LIMIT_LENGTH = 200


class Credential(Base):
    """The stored part of a key or token. Rows are never deleted."""

    __abstract__ = True

    id: Mapped[int] = mapped_column(BigId, primary_key=True)
    name: Mapped[str]
    key_id: Mapped[str] = mapped_column(String(16), unique=True, doc="the public part of the text")
    digest: Mapped[bytes] = mapped_column(Hash32, doc="SHA-256 of the whole text")
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="null is valid")


class ApiKey(Credential):
    """A key. Its name is never used again."""

    __tablename__ = "api_keys"

    name: Mapped[str] = mapped_column(String(64), unique=True)
    scopes: Mapped[list[str]] = mapped_column(JSON, doc="values of Scope")
    rate_limit: Mapped[str] = mapped_column(String(LIMIT_LENGTH), doc="as RATE_LIMIT; empty is none")


class ApiKeyUse(Base):
    """How many requests came with a key on one day; all processes add to the same rows."""

    __tablename__ = "api_key_uses"

    api_key_id: Mapped[int] = mapped_column(ForeignKey("api_keys.id"), primary_key=True, autoincrement=False)
    day: Mapped[int] = mapped_column(
        BigInteger, primary_key=True, autoincrement=False, doc="Unix time // 86400 when they were written"
    )
    requests: Mapped[int] = mapped_column(BigInteger, doc="all of them, those beyond the limit too")
    limited: Mapped[int] = mapped_column(BigInteger, doc="those beyond the key's limit")


class IngestToken(Credential):
    """A reporter's token.

    The name is its reporter's, and every event of its bearer has it. It is never given to another reporter.
    While a token is replaced, the old and the new one have it.
    """

    __tablename__ = "ingest_tokens"

    name: Mapped[str] = mapped_column(String(64), index=True)
    types: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True), doc="null is all")
    chains: Mapped[list[int] | None] = mapped_column(JSON(none_as_null=True), doc="null is all")
    expires_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="null is never")
    quota_events: Mapped[int | None] = mapped_column(BigInteger, doc="null is no quota")
    quota_seconds: Mapped[int | None] = mapped_column(BigInteger)


class IngestUsage(Base):
    """How many events of a reporter count against its quota in a period."""

    __tablename__ = "ingest_usage"

    reporter: Mapped[str] = mapped_column(String(64), primary_key=True)
    period_start: Mapped[int] = mapped_column(BigInteger, doc="seconds since the Unix epoch")
    events: Mapped[int] = mapped_column(BigInteger)
