"""The base of all tables, and what migrations store: how far backfills are, and which code may run."""

from __future__ import annotations

from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final

from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import BigInteger, LargeBinary, MetaData, String, Table
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from app.db.types import UtcTime

if TYPE_CHECKING:
    from flask_migrate import Migrate


class Base(DeclarativeBase):
    """The base of tables. Every constraint has a predictable name, so that migrations can drop it on both
    databases.
    """

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Projected:
    """A table whose rows follow from the event log. This is the only declaration: whatever is done to all of
    these tables, such as verifying them, finds them by it.
    """

    apart: ClassVar[frozenset[str]] = frozenset()
    """Columns that do not follow from the log."""
    __tablename__: str


class ProjectedSum(Projected):
    """A table of sums of what many events contribute, by its key. A row of zeros means the same as none."""


def projected_models() -> list[type[Projected]]:
    """The models of all such tables, those that others refer to first."""
    found = {mapper.local_table: mapper.class_ for mapper in Base.registry.mappers}
    models = (found[table] for table in Base.metadata.sorted_tables if table in found)
    return [model for model in models if issubclass(model, Projected)]


def table_of(model: type[Projected] | type[Base]) -> Table:
    return Base.metadata.tables[model.__tablename__]


db = SQLAlchemy(model_class=Base)


class Migrations:
    """The settings that the commands of Flask-Migrate read.

    They import Alembic. A process that serves saves that: it is a tenth of its start.
    """

    db: Final = db
    directory: Final = "migrations"

    @cached_property
    def migrate(self) -> Migrate:
        """The extension, with which a command makes Alembic's configuration."""
        from flask_migrate import Migrate  # noqa: PLC0415

        return Migrate(db=db, directory=self.directory)


class BackfillProgress(Base):
    """How far a backfill is. It is written in the transaction that fills the rows."""

    __tablename__ = "backfills"

    name: Mapped[str] = mapped_column(String(64), primary_key=True)
    done_to: Mapped[bytes] = mapped_column(LargeBinary, doc="the last key that was looked at; empty at first")
    looked_at: Mapped[int] = mapped_column(BigInteger, doc="rows")
    changed: Mapped[int] = mapped_column(BigInteger, doc="rows")
    moved_at: Mapped[datetime] = mapped_column(UtcTime)
    ended_at: Mapped[datetime | None] = mapped_column(UtcTime, doc="none while there are further rows")


REVISION_LENGTH = 32


class SchemaFloor(Base):
    """The oldest code that can run here. A migration that excludes older code writes it, and its downgrade
    removes it.

    A migration that only adds writes none (docs/decisions/0050-range-of-schemas.md).
    """

    __tablename__ = "schema_floors"

    revision: Mapped[str] = mapped_column(String(REVISION_LENGTH), primary_key=True, doc="of that migration")
    oldest_code: Mapped[str] = mapped_column(
        String(REVISION_LENGTH), doc="the newest revision that the oldest code knows which still runs here"
    )
