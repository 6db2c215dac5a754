"""Alembic's entry point: runs the migrations on the application's database, or prints their SQL."""

from __future__ import annotations

import logging
from contextlib import nullcontext

from alembic import context
from alembic.util import CommandError
from flask import current_app
from sqlalchemy import Column, NullPool, create_engine
from sqlalchemy.types import TypeEngine

from app.db.engine import WRITER, is_pooled, prepare
from app.db.migrating import PERCENT, TURN, Turn, again_while_locked, requested_percent, taking_turns
from app.db.schema import applied_migrations, complaint_after_last, complaint_before_first
from app.db.sqlite import CREATES
from app.db.timeouts import MIGRATION
from app.db.types import Accounts, Address, ChainIds, ExactInteger, FeeTiers, Hash32, Uint64, UtcTime

logger = logging.getLogger("migrations")  # not below alembic, whose handler throws entries of commands away
database = current_app.extensions["migrate"].db


def plain_type(kind: str, item: object, _context: object) -> str | bool:
    """Write column types as SQLAlchemy's own, so that old migrations do not depend on new code."""
    if kind != "type" or not isinstance(item, TypeEngine):
        return False
    for ours, plain in (
        (ExactInteger, 'sa.Text().with_variant(sa.Numeric(), "postgresql")'),
        (Hash32, "sa.LargeBinary(32)"),
        (Address, "sa.String(128)"),
        (UtcTime, "sa.DateTime(timezone=True)"),
        (FeeTiers, "sa.JSON()"),
        (Uint64, "sa.BigInteger()"),
        (ChainIds, "sa.Text()"),
        (Accounts, "sa.Text()"),
    ):
        if isinstance(item, ours):
            return plain
    return False


def same_type(
    _context: object, _inspected: Column[object], model: Column[object], *_types: object
) -> bool | None:
    """Our types are text on SQLite and numeric on PostgreSQL on purpose, so that is no difference."""
    return False if isinstance(model.type, ExactInteger | Hash32 | UtcTime) else None


def say(words: str) -> None:
    """Print a message for the operator who upgrades."""
    logger.warning("%s", words)


def run_online(percent: int) -> None:
    """Run each migration in its own transaction, while no other migration runs, with short locks only.

    SQLite has one writer and no short locks, so there everything is one transaction.
    """
    changes = _changes_the_schema()
    engine = create_engine(
        database.engine.url, poolclass=NullPool, hide_parameters=True, execution_options={CREATES: changes}
    )
    prepare(engine, MIGRATION, pooled=is_pooled(database.engine))
    on_postgresql = engine.dialect.name == "postgresql"
    done: list[str] = []
    with (
        taking_turns(engine, say) if changes else nullcontext(Turn()) as turn,
        engine.connect().execution_options(**{WRITER: changes}) as connection,
    ):

        def note(step: object, **_: object) -> None:
            """Called for each revision before it is committed."""
            turn.confirm()
            done.append(str(step))

        def attempt() -> None:
            with connection.begin():
                applied = applied_migrations(connection)
                newest = context.script.get_current_head() or ""
                if complaint := complaint_before_first(applied) or complaint_after_last(applied, newest):
                    raise CommandError(f"nothing was changed: {complaint}")
            context.configure(
                connection=connection,
                target_metadata=database.metadata,
                render_item=plain_type,
                compare_type=same_type,
                transaction_per_migration=on_postgresql,
                **{PERCENT: percent, TURN: turn},
                on_version_apply=note,
            )
            with context.begin_transaction():
                context.run_migrations()

        try:
            again_while_locked(attempt, say)
        finally:
            engine.dispose()
    if changes and not done:
        logger.info("the database has this schema already: nothing to do")


def _changes_the_schema() -> bool:
    """Whether this is an upgrade, a downgrade or a stamp. Other commands only read, and do not wait."""
    try:
        context.get_revision_argument()
    except KeyError:
        return False
    return True


def run_offline() -> None:
    """Print the SQL for the database that DATABASE_URL names, without connecting to it."""
    context.configure(
        dialect_name=database.engine.dialect.name,
        target_metadata=database.metadata,
        literal_binds=True,
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        if database.engine.dialect.name == "postgresql":
            context.execute(f"SET lock_timeout = '{round(MIGRATION.lock * 1000)}ms'")
        context.run_migrations()


percent = requested_percent(context.get_x_argument(as_dictionary=True))
if context.is_offline_mode():
    run_offline()  # a wrong percent is refused above; SQL has no pace
else:
    run_online(percent)
