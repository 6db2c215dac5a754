"""Creates and changes accounts, for administrators, owners and the command line."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, delete, insert, update

from app.domain.audit import Actor, AuditedChange
from app.domain.operators import Role, normal_email
from app.models.engine import reading, writing
from app.models.operators import Operator, OperatorSession
from app.queries.operators.accounts import (
    account_by_email,
    account_by_id,
    account_by_uniquifier,
    all_accounts,
    count_active_with_role,
    has_active_account,
)
from app.runtime.gateway import Gateway
from app.services.audit.record import record
from app.services.operators.passwords import generate_password, hash_password, why_refused

_UNIQUIFIER_BYTES: Final = 32


class AccountRefused(ValueError):
    """An account is not created or changed; the message says why."""


@dataclass(frozen=True, slots=True)
class Account:
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


def create_account(
    gateway: Gateway, email: str, password: str, role: Role, *, actor: Actor, passed_on: bool = False
) -> Account:
    """Create an account that may sign in at once.

    :param passed_on: the password was chosen by somebody else than the account's owner, who must change
        it before anything else.
    :raises AccountRefused: the email is not valid or is taken, or the password is too weak.
    """
    address = normal_email(email)
    if address is None:
        raise AccountRefused(f"{email!r} is no email address")
    if complaint := why_refused(password, address):
        raise AccountRefused(complaint)
    row = {
        "email": address,
        "password": hash_password(password),
        "role": role.value,
        "active": True,
        "fs_uniquifier": new_uniquifier(),
        "second_factor_required": False,
        "must_change_password": passed_on,
        "created_at": gateway.clock(),
    }
    with writing(gateway.engine) as connection:
        if account_by_email(connection, address) is not None:
            raise AccountRefused(f"there is an account {address} already")
        connection.execute(insert(Operator).values(row))
        made = _account(account_by_email(connection, address))
        assert made is not None  # noqa: S101  it was written in this transaction
        _record(connection, gateway, actor, "operator.create", before=None, after=made)
    return made


def find_account(
    gateway: Gateway,
    *,
    account_id: int | None = None,
    email: str | None = None,
    uniquifier: str | None = None,
) -> Account | None:
    """The account with this id, email (in any letter case) or session name; of the primary database."""
    with reading(gateway.engine) as connection:
        if account_id is not None:
            return _account(account_by_id(connection, account_id))
        if email is not None:
            return _account(account_by_email(connection, normal_email(email) or ""))
        return _account(account_by_uniquifier(connection, uniquifier))


def list_accounts(gateway: Gateway) -> list[Account]:
    """Every account, by email."""
    with reading(gateway.engine) as connection:
        return [_read(row) for row in all_accounts(connection)]


def any_account(gateway: Gateway) -> bool:
    """Whether there is an account that may sign in."""
    with reading(gateway.engine) as connection:
        return has_active_account(connection)


def update_account(gateway: Gateway, account_id: int, changes: Mapping[str, Any], *, actor: Actor) -> Account:
    """Set columns of an account.

    The last active administrator stays one, as otherwise nobody could create accounts.
    A new ``fs_uniquifier`` ends the account's sessions everywhere, and so does switching it off.

    :raises AccountRefused: there is no such account, or it is the last administrator's.
    """
    with writing(gateway.engine) as connection:
        return change_account(connection, gateway, account_id, changes, actor=actor)


def change_account(
    connection: Connection, gateway: Gateway, account_id: int, changes: Mapping[str, Any], *, actor: Actor
) -> Account:
    """:func:`update_account` in a transaction of the caller."""
    before = _account(account_by_id(connection, account_id))
    if before is None:
        raise AccountRefused("there is no such account (any more)")
    connection.execute(update(Operator).where(Operator.id == account_id).values(dict(changes)))
    after = _account(account_by_id(connection, account_id))
    assert after is not None  # noqa: S101  rows are never deleted
    was_admin = before.active and before.role is Role.ADMIN
    if was_admin and not count_active_with_role(connection, Role.ADMIN.value):
        raise AccountRefused(
            f"{before.email} is the last administrator: make another one before changing this account"
        )
    if before.fs_uniquifier != after.fs_uniquifier or not after.active:
        connection.execute(delete(OperatorSession).where(OperatorSession.operator_id == account_id))
    if after != before:
        _record(connection, gateway, actor, "operator.change", before=before, after=after)
    return after


def reset_password(gateway: Gateway, account_id: int, *, actor: Actor) -> str:
    """Give the account a generated password, end its sessions, and return the password.

    Its owner must change it before anything else.

    :raises AccountRefused: there is no such account.
    """
    password = generate_password()
    changes = {
        "password": hash_password(password),
        "must_change_password": True,
        "fs_uniquifier": new_uniquifier(),
    }
    update_account(gateway, account_id, changes, actor=actor)
    return password


def use_code(gateway: Gateway, account_id: int, counter: int) -> bool:
    """Mark a one-time code, by its time step, as used; whether it was still unused.

    Of several requests with the same code, in any processes, only one gets True.
    """
    unused = Operator.totp_last_counter.is_(None) | (Operator.totp_last_counter < counter)
    with writing(gateway.engine) as connection:
        result = connection.execute(
            update(Operator).where(Operator.id == account_id, unused).values(totp_last_counter=counter)
        )
        return result.rowcount == 1


def new_uniquifier() -> str:
    """A new random name for an account's sessions."""
    return secrets.token_hex(_UNIQUIFIER_BYTES)


def _record(
    connection: Connection,
    gateway: Gateway,
    actor: Actor,
    action: str,
    *,
    before: Account | None,
    after: Account,
) -> None:
    subject = f"operator {after.email}"
    change = AuditedChange(subject, None if before is None else _documented(before), _documented(after))
    secrets_changed = () if before is None else _secrets_changed(before, after)
    record(
        connection,
        gateway.audit_keys,
        actor,
        action,
        subject,
        now=gateway.clock(),
        detail=", ".join(secrets_changed),
        changes=() if before is not None and change.before == change.after else (change,),
    )


def _documented(account: Account) -> dict[str, Any]:
    """What the audit log may show of an account: nothing that helps to sign in."""
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
