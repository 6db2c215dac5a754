"""The base of all tables, and the Flask extensions, which ``create_app`` binds to the application."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final

from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import MetaData
from sqlalchemy.orm import DeclarativeBase

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


db = SQLAlchemy(model_class=Base)


class Migrations:
    """What the commands of Flask-Migrate read at the application.

    They import Alembic. A process that serves saves that: it is a tenth of its start.
    """

    db: Final = db
    directory: Final = "migrations"

    @cached_property
    def migrate(self) -> Migrate:
        """The extension, with which a command makes Alembic's configuration."""
        from flask_migrate import Migrate  # noqa: PLC0415

        return Migrate(db=db, directory=self.directory, render_as_batch=True)
