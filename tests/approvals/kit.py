"""People, a clock, and stored proposals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import insert, update

from app.accounts.models import Operator
from app.accounts.queries import proposal_by_id
from app.accounts.rules.roles import Role
from app.accounts.rules.two_persons import Proposal
from app.audit.rules.records import Actor, Source
from app.db.database import Database
from app.db.engine import reading, writing
from tests.network.services.edits.kit import ALICE, BOB, NOON

__all__ = ["ALICE", "BOB", "NOON"]

VERA = Actor("vera@example.org", Source.CONSOLE, "192.0.2.9")
OLGA = Actor("olga@example.org", Source.CONSOLE, "192.0.2.10")
NOBODY = Actor("nobody@example.org", Source.CONSOLE, "192.0.2.11")
PEOPLE = {ALICE.name: Role.ADMIN, BOB.name: Role.ADMIN, OLGA.name: Role.OPERATOR, VERA.name: Role.VIEWER}


def add_people(database: Database, people: Mapping[str, Role]) -> None:
    """Accounts whose password hashes match nothing."""
    rows = [
        {
            "email": email,
            "password": f"the hash of {email}",
            "role": role.value,
            "active": True,
            "fs_uniquifier": f"session of {email}",
            "second_factor_required": False,
            "created_at": NOON,
        }
        for email, role in people.items()
    ]
    with writing(database.engine) as connection:
        connection.execute(insert(Operator), rows)


def set_account(database: Database, who: Actor, **columns: Any) -> None:
    """Change an account without a record."""
    with writing(database.engine) as connection:
        connection.execute(update(Operator).where(Operator.email == who.name).values(columns))


def stored(database: Database, proposal_id: int | None) -> Proposal:
    with reading(database.engine) as connection:
        found = proposal_by_id(connection, proposal_id or 0)
    assert found is not None
    return found
