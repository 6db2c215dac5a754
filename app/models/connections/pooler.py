"""Connections through a pooler that lends a server's connection for one transaction at a time.

Nothing may be left on such a connection: the next statement may find another one, and somebody else may find
what was left (docs/decisions/0033-behind-a-pooler.md).
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, Engine, event

from app.models.connections.patience import set_transaction_limits

_OPTION: Final = "gateway_pooled"


def is_pooled(engine: Engine) -> bool:
    """Whether a pooler is said to share the engine's connections between transactions."""
    return bool(engine.get_execution_options().get(_OPTION))


def prepare_pooled(engine: Engine, *, reader: bool) -> None:
    """Attach the behaviour to an engine of PostgreSQL.

    :param reader: its connections never open a transaction, so only the role can bound their statements.
    """
    engine.update_execution_options(**{_OPTION: True})

    @event.listens_for(engine, "connect")
    def _prepare_nothing(dbapi: Any, _record: Any) -> None:
        dbapi.prepare_threshold = None

    @event.listens_for(engine, "begin")
    def _set_limits(connection: Connection) -> None:
        if reader or connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT":
            return
        set_transaction_limits(connection)
