"""Which code may run on the schema, as migrations tell it that take something away."""

from __future__ import annotations

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from app.extensions import Base

REVISION_LENGTH = 32


class SchemaFloor(Base):
    """Written by a migration that older code would not survive, and removed by its way down.

    A migration that only adds writes none (docs/decisions/0050-range-of-schemas.md).
    """

    __tablename__ = "schema_floors"

    revision: Mapped[str] = mapped_column(String(REVISION_LENGTH), primary_key=True, doc="of that migration")
    oldest_code: Mapped[str] = mapped_column(
        String(REVISION_LENGTH), doc="the newest revision that the oldest code knows which still runs here"
    )
