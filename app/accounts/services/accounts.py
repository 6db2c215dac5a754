"""Creates and changes accounts, for administrators, owners and the command line."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import Connection, RowMapping, insert, update

from app.accounts.models import Operator, OperatorSession
from app.accounts.queries import account_where, all_accounts, count_active_with_role
from app.accounts.rules.roles import Role
from app.accounts.rules.sessions import SessionEnd
from app.accounts.rules.sign_in import normal_email
from app.accounts.rules.two_persons import OPERATORS, TwoPersons
from app.accounts.services.passwords import hash_password, why_refused
from app.accounts.services.proposals import SecondPersonNeeded
from app.accounts.services.sessions import end_sessions
from app.audit.keys import AuditKeys
from app.audit.rules.records import Actor, AuditedChange
from app.audit.services import record
from app.db.database import Database
from app.db.engine import reading, writing

_UNIQUIFIER_BYTES: Final = 32

DECIDED_BY_OTHERS: Final = frozenset({"role", "active", "second_factor_required"})
"""Columns of an account that its owner cannot change."""


class AccountRefused(ValueError):
    """An account is not created or changed; the message says why."""


class Account(Struct, frozen=True):
    """An account with all its columns, also the secret ones: for signing in, never to be shown."""

    id: int
    email: str
    password: str
    role: Role
    active: bool
    fs_uniquifier: str
    second_factor_required: bool
    tf_primary_method: str | None
    tf_totp_secret: str | None
    totp_last_counter: int | None
    must_change_password: bool
    created_at: datetime
    signed_in_at: datetime | None
    signed_in_from: str | None


def checked_email(email: str) -> str:
    """The address in its one spelling.

    :raises AccountRefused: it is not valid.
    """
    address = normal_email(email)
    if address is None:
        raise AccountRefused(f"{email!r} is not an email address; enter one such as name@example.org")
    return address


def checked_account(email: str, password: str) -> tuple[str, str]:
    """The address in its one spelling, and the password's hash.

    :raises AccountRefused: the email is not valid, or the password is too weak.
    """
    address = checked_email(email)
    if complaint := why_refused(password, address):
        raise AccountRefused(complaint)
    return address, hash_password(password)


def insert_account(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    columns: Mapping[str, Any],
    *,
    actor: Actor,
    note: str,
) -> None:
    """Create an account that may sign in at once. The caller has the permission and a writing transaction.

    :param columns: its email, which no account has yet, and the values that differ from the defaults.
    :param note: put before the text of the audit record.
    """
    row = {"active": True, "fs_uniquifier": new_uniquifier(), "created_at": database.clock(), **columns}
    connection.execute(insert(Operator).values(row))
    made = account_named(connection, row["email"])
    assert made is not None  # noqa: S101  it was written in this transaction
    _record(connection, database, audit_keys, actor, "operator.create", before=None, after=made, note=note)


def find_account(
    database: Database,
    *,
    account_id: int | None = None,
    email: str | None = None,
    uniquifier: str | None = None,
) -> Account | None:
    """The account with this id, email (in any letter case) or session name; of the primary database."""
    which = Operator.fs_uniquifier == uniquifier
    if account_id is not None:
        which = Operator.id == account_id
    elif email is not None:
        which = Operator.email == (normal_email(email) or "")
    with reading(database.engine) as connection:
        return _account(account_where(connection, which))


def list_accounts(database: Database) -> list[Account]:
    """Every account, by email."""
    with reading(database.engine) as connection:
        return [_read(row) for row in all_accounts(connection)]


def update_account(
    database: Database,
    audit_keys: AuditKeys,
    two_persons: TwoPersons,
    account_id: int,
    changes: Mapping[str, Any],
    *,
    actor: Actor,
) -> Account:
    """Set columns of an account, unless the change waits for a second person.

    The last active administrator stays one, as otherwise no one could create accounts. A new
    ``fs_uniquifier`` ends the account's sessions everywhere, and so does disabling it.

    :raises AccountRefused: there is no such account, or it is the last administrator's.
    :raises SecondPersonNeeded: the change waits for a second administrator (``request_account``).
    """
    with writing(database.engine) as connection:
        before = require_account(connection, account_id)
        if two_persons.guards(OPERATORS) and needs_second_person(before, changes, actor):
            raise SecondPersonNeeded([OPERATORS])
        return change_account(connection, database, audit_keys, account_id, changes, actor=actor)


def change_account(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    account_id: int,
    changes: Mapping[str, Any],
    *,
    actor: Actor,
    note: str = "",
    loses_passkeys: bool = False,
) -> Account:
    """As :func:`update_account`, in a writing transaction of the caller, who has checked the permission.

    :param note: put before the text of the audit record.
    :param loses_passkeys: whether the caller also deletes passkeys, which are not columns of the account.
    """
    before = require_account(connection, account_id)
    connection.execute(update(Operator).where(Operator.id == account_id).values(dict(changes)))
    after = require_account(connection, account_id)
    was_admin = before.active and before.role is Role.ADMIN
    if was_admin and not count_active_with_role(connection, Role.ADMIN.value):
        raise AccountRefused(
            f"{before.email} is the last administrator; give another account the role admin first"
        )
    if before.fs_uniquifier != after.fs_uniquifier or not after.active:
        own = OperatorSession.operator_id == account_id
        why = _why_ended(before, after, actor, loses_passkeys=loses_passkeys)
        end_sessions(connection, database.clock(), why, own)
    if after != before:
        _record(
            connection, database, audit_keys, actor, "operator.change", before=before, after=after, note=note
        )
    return after


def _why_ended(before: Account, after: Account, actor: Actor, *, loses_passkeys: bool) -> SessionEnd:
    """The reason shown to the browsers whose sessions a change of the account ends."""
    if not after.active:
        return SessionEnd.SWITCHED_OFF
    if after.password != before.password:
        return SessionEnd.PASSWORD
    factor = ("second_factor_required", "tf_totp_secret")
    if loses_passkeys or any(getattr(after, name) != getattr(before, name) for name in factor):
        return SessionEnd.SECOND_FACTOR
    return SessionEnd.EVERYWHERE if actor.name == after.email else SessionEnd.BY_ADMIN


def needs_second_person(account: Account, changes: Mapping[str, Any], actor: Actor) -> bool:
    """Whether a change of the account would wait where ``TWO_PERSONS`` names accounts.

    Ending sessions never waits, nor does changing one's own password or second factor.
    """
    changed = {name for name, value in changes.items() if getattr(account, name) != value}
    if actor.name == account.email:
        return not changed.isdisjoint(DECIDED_BY_OTHERS)
    return bool(changed - {"fs_uniquifier"})


def require_account(connection: Connection, account_id: int) -> Account:
    """The account with this id.

    :raises AccountRefused: there is none.
    """
    found = _account(account_where(connection, Operator.id == account_id))
    if found is None:
        raise AccountRefused("this account does not exist; reload the page")
    return found


def account_named(connection: Connection, email: str) -> Account | None:
    """The account with this email in lower case; None where there is none."""
    return _account(account_where(connection, Operator.email == email))


def use_code(database: Database, account_id: int, counter: int) -> bool:
    """Mark a one-time code, by its time step, as used. Returns whether it was still unused.

    Of several requests with the same code, in any processes, only one gets True.
    """
    unused = Operator.totp_last_counter.is_(None) | (Operator.totp_last_counter < counter)
    with writing(database.engine) as connection:
        result = connection.execute(
            update(Operator).where(Operator.id == account_id, unused).values(totp_last_counter=counter)
        )
        return result.rowcount == 1


def new_uniquifier() -> str:
    """A new random name for an account's sessions."""
    return secrets.token_hex(_UNIQUIFIER_BYTES)


def _record(
    connection: Connection,
    database: Database,
    audit_keys: AuditKeys,
    actor: Actor,
    action: str,
    *,
    before: Account | None,
    after: Account,
    note: str,
) -> None:
    subject = f"operator {after.email}"
    change = AuditedChange(subject, None if before is None else documented(before), documented(after))
    secrets_changed = () if before is None else _secrets_changed(before, after)
    record(
        connection,
        audit_keys,
        actor,
        action,
        subject,
        now=database.clock(),
        detail=": ".join(filter(None, (note, ", ".join(secrets_changed)))),
        changes=() if before is not None and change.before == change.after else (change,),
    )


def documented(account: Account) -> dict[str, Any]:
    """What the audit log may show of an account: nothing that helps to sign in.

    ``second_factor`` is about one-time codes only: "none" for an account whose factor is a passkey.
    """
    return {
        "email": account.email,
        "role": account.role.value,
        "active": account.active,
        "second_factor": "set up" if account.tf_totp_secret else "none",
        "second_factor_required": account.second_factor_required,
        "must_change_password": account.must_change_password,
    }


def _secrets_changed(before: Account, after: Account) -> Iterator[str]:
    """The secrets that changed, in words, as the log must not have their values."""
    if before.password != after.password:
        yield "new password"
    if before.tf_totp_secret != after.tf_totp_secret:
        yield "new second factor" if after.tf_totp_secret else "second factor forgotten"
    if before.fs_uniquifier != after.fs_uniquifier:
        yield "signed out everywhere"


def _account(row: RowMapping | None) -> Account | None:
    return None if row is None else _read(row)


def _read(row: RowMapping) -> Account:
    return Account(**{**row, "role": Role(row["role"])})
