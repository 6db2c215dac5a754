"""Connects Flask-Security to the accounts: its user, its datastore, and one-time codes that work once."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import g
from flask_security import RoleMixin, Totp, UserDatastore, UserMixin
from passlib.exc import UsedTokenError
from passlib.totp import TotpMatch

from app.admin.requests import actor_named
from app.domain.operators import Role, is_too_long, normal_password
from app.runtime.gateway import current_gateway
from app.services.operators.accounts import (
    Account,
    find_account,
    new_uniquifier,
    update_account,
    use_code,
)

_WRITTEN = ("password", "fs_uniquifier", "tf_primary_method", "tf_totp_secret")
"""What Flask-Security sets on a user and hands to the datastore."""


class OperatorRole(RoleMixin):
    """A role as Flask-Security expects it."""

    def __init__(self, role: Role) -> None:
        self.name = role.value


class OperatorUser(UserMixin):
    """Who is signed in, or about to be. Attributes are the account's columns."""

    # Flask-Security looks at the class for the columns that there are.
    fs_uniquifier = ""
    tf_primary_method: str | None = None
    tf_totp_secret: str | None = None

    def __init__(self, account: Account) -> None:
        self.take(account)

    def take(self, account: Account) -> None:
        """Take over the account as it is stored."""
        self.account = account
        vars(self).update(asdict(account))
        self.roles = [OperatorRole(account.role)]

    def verify_and_update_password(self, password: str) -> bool:
        """Whether the password is the account's, however keyboards write it. It may be any text."""
        if is_too_long(password):
            return False
        return bool(super().verify_and_update_password(normal_password(password)))

    @property
    def unsaved(self) -> dict[str, Any]:
        """What was set on the user since it was loaded."""
        values = {name: getattr(self, name) for name in _WRITTEN}
        return {name: value for name, value in values.items() if value != getattr(self.account, name)}

    def check_tf_required(self, tf_setup_methods: list[Any], tf_fresh: bool) -> tuple[bool, list[Any]]:
        """Require a code at every sign-in of an account that has, or must have, a second factor."""
        return self.account.second_factor_required or bool(tf_setup_methods), tf_setup_methods

    def check_tf_required_setup(self) -> bool:
        """Whether the account may not go without a second factor."""
        return self.account.second_factor_required


class OperatorDatastore(UserDatastore):
    """Reads and writes accounts through the service; every write is a transaction of its own."""

    def __init__(self) -> None:
        super().__init__(OperatorUser, OperatorRole)

    def find_user(self, case_insensitive: bool = False, **kwargs: Any) -> OperatorUser | None:
        """The account by ``email`` or ``fs_uniquifier``; read once per request."""
        (name, value), *_ = kwargs.items()
        if name not in ("email", "fs_uniquifier"):
            return None
        known: OperatorUser | None = g.get("console_user")
        if name == "fs_uniquifier" and known is not None and known.fs_uniquifier == value:
            return known
        by = {"email": value} if name == "email" else {"uniquifier": value}
        account = find_account(current_gateway(), **by)
        if account is None:
            return None
        g.console_user = OperatorUser(account)
        return g.console_user

    def put(self, user: OperatorUser) -> OperatorUser:
        """Store what was set on the user."""
        if user.unsaved:
            own = actor_named(user.email)
            user.take(update_account(current_gateway(), user.id, user.unsaved, actor=own))
        return user

    def commit(self) -> None:
        """Does nothing: ``put`` has stored the user."""

    def set_uniquifier(self, user: Any, uniquifier: str | None = None) -> None:
        """Change the uniquifier, which ends the open sessions."""
        user.fs_uniquifier = uniquifier or new_uniquifier()
        self.put(user)

    def find_role(self, role: str) -> OperatorRole | None:
        """The role of that name."""
        return OperatorRole(Role(role)) if role in set(Role) else None


class OneTimeCodes(Totp):
    """TOTP (RFC 6238) whose codes work once, in whichever process they are presented."""

    def get_last_counter(self, user: Any) -> int | None:
        """The time step of the last code that was used."""
        last: int | None = user.account.totp_last_counter
        return last

    def set_last_counter(self, user: Any, tmatch: TotpMatch) -> None:
        """Use the code up.

        :raises UsedTokenError: another request has used it first.
        """
        if not use_code(current_gateway(), user.id, tmatch.counter):
            raise UsedTokenError
