"""Whether one person alone may change an account."""

from __future__ import annotations

from sqlalchemy import Connection

from app.domain.audit import Actor, Source
from app.domain.operators import Role
from app.domain.proposals.two_persons import OPERATORS
from app.queries.operators import count_active_with_role
from app.runtime.gateway import Gateway
from app.services.proposals.break_glass import require_leave


def require_account_leave(
    connection: Connection, gateway: Gateway, actor: Actor, email: str, break_glass: str | None
) -> None:
    """Let one person alone change accounts that ``TWO_PERSONS`` guards: for a recorded reason; and on the
    command line without one, while there are no two administrators who could approve for each other.

    :raises SecondPersonNeeded: neither is so.
    """
    guarded = gateway.two_persons.guards(OPERATORS)
    alone = count_active_with_role(connection, Role.ADMIN.value) < 2
    sections = [OPERATORS] if guarded and not (alone and actor.source is Source.CLI) else []
    require_leave(connection, gateway, actor, sections, subject=f"operator {email}", break_glass=break_glass)
