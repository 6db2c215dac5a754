"""Passkeys of accounts: their public halves, and challenges that are answered once.

The console verifies the signatures.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict
from sqlalchemy import Connection, delete, insert, or_, update

from app.accounts.models import Operator, OperatorPasskey
from app.accounts.queries import account_where, passkey_by_credential, passkeys_of, second_factor_is_demanded
from app.audit.keys import AuditKeys
from app.audit.records import Actor
from app.audit.services import record
from app.db.database import Database
from app.db.engine import reading, writing

MOST_PASSKEYS: Final = 20
"""Of one account. More would come from a program, not from a person."""


class PasskeyRefused(ValueError):
    """A passkey is not added or removed; the message says why."""


class NewPasskey(Struct, frozen=True):
    """What a browser has registered, checked."""

    name: str
    credential_id: bytes
    public_key: bytes
    sign_count: int
    transports: list[str]
    synced: bool


class Passkey(NewPasskey, frozen=True):
    """A passkey of an account."""

    id: int
    operator_id: int
    created_at: datetime
    last_used_at: datetime | None
    challenge_at: datetime | None


def list_passkeys(database: Database, operator_id: int) -> list[Passkey]:
    """The account's passkeys, the oldest first."""
    with reading(database.engine) as connection:
        return [Passkey(**row) for row in passkeys_of(connection, operator_id)]


def find_passkey(database: Database, credential_id: bytes) -> Passkey | None:
    """The passkey with this credential id, of any account."""
    with reading(database.engine) as connection:
        row = passkey_by_credential(connection, credential_id)
    return None if row is None else Passkey(**row)


def add_passkey(
    database: Database, audit_keys: AuditKeys, operator_id: int, new: NewPasskey, *, actor: Actor
) -> None:
    """Store a passkey that was just registered.

    :raises PasskeyRefused: its name or the passkey is taken, or the account has too many.
    """
    now = database.clock()
    with writing(database.engine) as connection:
        own = passkeys_of(connection, operator_id)
        if any(row["name"] == new.name for row in own):
            raise PasskeyRefused(f"You already have a passkey “{new.name}”. Enter another name.")
        if len(own) >= MOST_PASSKEYS:
            raise PasskeyRefused(f"An account can have {MOST_PASSKEYS} passkeys at most. Remove one first.")
        if passkey_by_credential(connection, new.credential_id) is not None:
            raise PasskeyRefused("That passkey is already registered.")
        row = asdict(new) | {"operator_id": operator_id, "created_at": now}
        connection.execute(insert(OperatorPasskey).values(row))
        subject = f"operator {actor.name}"
        record(connection, audit_keys, actor, "passkey.add", subject, now=now, detail=new.name)


def why_passkey_stays(database: Database, operator_id: int) -> str | None:
    """Why the account cannot remove a passkey now, in a sentence; None where it can."""
    with reading(database.engine) as connection:
        return _why_it_stays(connection, operator_id)


def remove_passkey(
    database: Database, audit_keys: AuditKeys, operator_id: int, name: str, *, actor: Actor
) -> None:
    """Remove one of the account's passkeys.

    :raises PasskeyRefused: there is none of this name, or it is the last factor where one is demanded.
    """
    where = (OperatorPasskey.operator_id == operator_id, OperatorPasskey.name == name)
    with writing(database.engine) as connection:
        if refusal := _why_it_stays(connection, operator_id):
            raise PasskeyRefused(refusal)
        if not connection.execute(delete(OperatorPasskey).where(*where)).rowcount:
            raise PasskeyRefused(f"You have no passkey “{name}”. Reload the page.")
        subject = f"operator {actor.name}"
        now = database.clock()
        record(connection, audit_keys, actor, "passkey.remove", subject, now=now, detail=name)


def use_passkey(database: Database, passkey_id: int, challenge_at: datetime, sign_count: int) -> bool:
    """Mark a challenge, by the time when it was made, as answered. Returns whether it was still open.

    Of several requests with the same answer, in any processes, only one gets True. A challenge older than one
    that was already answered is not open either.
    """
    challenge = OperatorPasskey.challenge_at
    still_open = or_(challenge.is_(None), challenge < challenge_at)
    used = {"challenge_at": challenge_at, "sign_count": sign_count, "last_used_at": database.clock()}
    with writing(database.engine) as connection:
        result = connection.execute(
            update(OperatorPasskey).where(OperatorPasskey.id == passkey_id, still_open).values(used)
        )
        return result.rowcount == 1


def _why_it_stays(connection: Connection, operator_id: int) -> str | None:
    account = account_where(connection, Operator.id == operator_id)
    if account is None:
        return "This account no longer exists."
    demanded = account["second_factor_required"] or second_factor_is_demanded(connection)
    if demanded and not account["tf_totp_secret"] and len(passkeys_of(connection, operator_id)) == 1:
        return "It is your only second factor, and your account needs one. Set up another one first."
    return None
