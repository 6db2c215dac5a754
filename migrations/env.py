"""Alembic's entry: runs the migrations over the application's own engine."""

from __future__ import annotations

from alembic import context
from flask import current_app
from sqlalchemy import Column
from sqlalchemy.types import TypeEngine

from app.models.connections.patience import MIGRATION, set_patience
from app.models.types import Address, ExactInteger, FeeTiers, Hash32, UtcTime

database = current_app.extensions["migrate"].db


def plain_type(kind: str, item: object, _context: object) -> str | bool:
    """Write column types as SQLAlchemy's own, so that old migrations never follow new code."""
    if kind != "type" or not isinstance(item, TypeEngine):
        return False
    for ours, plain in (
        (ExactInteger, 'sa.Text().with_variant(sa.Numeric(), "postgresql")'),
        (Hash32, "sa.LargeBinary(32)"),
        (Address, "sa.String(128)"),
        (UtcTime, "sa.DateTime(timezone=True)"),
        (FeeTiers, "sa.JSON()"),
    ):
        if isinstance(item, ours):
            return plain
    return False


def same_type(
    _context: object, _inspected: Column[object], model: Column[object], *_types: object
) -> bool | None:
    """Our types are text on SQLite and numeric on PostgreSQL on purpose: no difference."""
    return False if isinstance(model.type, ExactInteger | Hash32 | UtcTime) else None


def run() -> None:
    """Migrate in one transaction, so that a failure leaves nothing half done."""
    set_patience(database.engine, MIGRATION)
    with database.engine.connect() as connection:
        context.configure(
            connection=connection,
            target_metadata=database.metadata,
            render_item=plain_type,
            compare_type=same_type,
            render_as_batch=True,
        )
        with context.begin_transaction():
            context.run_migrations()


run()
