"""What migrations store about the schema: how far backfills are, and which code may run on it."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, LargeBinary, String
from sqlalchemy.orm import Mapped, mapped_column

from app.db.base import Base
from app.db.types import UtcTime


class BackfillProgress(Base):
    """Written in the transaction that writes the rows of a range: both exist or neither."""

    __tablename__ = "backfills"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    done_to: Mapped[bytes] = mapped_column(LargeBinary, doc="the last key that was looked at; empty at first")
    looked_at: Mapped[int] = mapped_column(BigInteger, doc="rows")
    changed: Mapped[int] = mapped_column(BigInteger, doc="rows")
    moved_at: Mapped[datetime] = mapped_column(UtcTime)
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="none while there are further rows")


REVISION_LENGTH = 32


class SchemaFloor(Base):
    """Written by a migration that older code could not run on, and removed by its downgrade.

    A migration that only adds writes none (docs/decisions/0050-range-of-schemas.md).
    """

    __tablename__ = "schema_floors"

    revision: Mapped[str] = mapped_column(String(REVISION_LENGTH), primary_key=True, doc="of that migration")
    oldest_code: Mapped[str] = mapped_column(
        String(REVISION_LENGTH), doc="the newest revision that the oldest code knows which still runs here"
    )
