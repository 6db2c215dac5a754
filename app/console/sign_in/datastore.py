"""Connects Flask-Security to the accounts: its user, its datastore, codes that work once, and sessions.

Sessions are rows of the database, named by the signed cookie, so that they can be ended from other browsers.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final, NoReturn

from flask import abort, flash, redirect, request, session, url_for
from flask_login import current_user
from flask_security import MfRecoveryCodesUtil, RoleMixin, Totp, UserDatastore, UserMixin, WebAuthnMixin
from flask_security.utils import logout_user
from msgspec.structs import asdict
from passlib.exc import UsedTokenError
from passlib.totp import TotpMatch
from webauthn.helpers.structs import CredentialDeviceType

from app.accounts.rules.two_persons import TwoPersons
from app.accounts.services.accounts import Account, find_account, update_account, use_code
from app.accounts.services.code_keys import CodeKeys
from app.accounts.services.factors import (
    NewPasskey,
    Passkey,
    PasskeyRefused,
    add_passkey,
    everyone_needs_second_factor,
    find_passkey,
    list_passkeys,
    recovery_codes_left,
    remove_passkey,
    use_recovery_code,
)
from app.accounts.services.sessions import (
    EndedSession,
    begin_session,
    ended_session,
    session_is_open,
    sign_out,
)
from app.audit.keys import AuditKeys
from app.console.shell.caller import actor, actor_named
from app.db.database import Database
from app.http.application import current

SECRET: Final = "console_session"  # noqa: S105  the key's name in the cookie

_PRESERVED: Final = frozenset({"_user_id", "_fresh", "_id", "fs_cc", "fs_paa", "_flashes"})
"""What Flask-Login and Flask-Security have just written about the new sign-in."""

_HOW: Final = {"password": "password", "change": "new password", "webauthn": "passkey"}
"""What the sign-in was made with, by the library's word for it."""


def renew_session(_sender: Any, user: Any, authn_via: list[str] | None = None, **_more: Any) -> None:
    """Begin a new session after a complete sign-in (password, and the second factor where there is one).

    Everything else in the cookie is removed, the CSRF token included.
    """
    for key in set(session) - _PRESERVED:
        del session[key]
    session.permanent = True
    # Flask-Security passes ``authn_via`` for passwords, not for second factors.
    how = _HOW.get((authn_via or ["code"])[0], "second factor")
    browser = request.user_agent.string
    session[SECRET] = begin_session(
        current(Database), current(AuditKeys), user.id, actor_named(user.email), browser, how
    )


def leave_ended_session(*, counts_as_use: bool = True) -> EndedSession | None:
    """Sign out a user whose session has ended. Returns its owner and the reason, None where there was none.

    A session that was ended everywhere no longer names its user, but its secret is still known.

    :param counts_as_use: whether this request extends an open session.
    """
    secret, signed_in = session.get(SECRET, ""), current_user.is_authenticated
    if not signed_in and not secret:
        return None
    if signed_in and session_is_open(current(Database), current_user.id, secret, counts_as_use=counts_as_use):
        return None
    ended = ended_session(current(Database), secret) or EndedSession("", None)
    if signed_in:
        logout_user()
    session.clear()
    return ended


def sets_up_second_factor() -> bool:
    """Whether this session waits for the first code of a new second factor."""
    return session.get("tf_state") == "validating_profile"


def close_session(_sender: Any, user: Any, **_more: Any) -> None:
    """End the session at sign-out, so that a copy of the cookie is worthless."""
    secret = session.pop(SECRET, None)
    if secret is not None and user.is_authenticated:
        sign_out(current(Database), current(AuditKeys), user.id, secret, actor_named(user.email))


_WRITTEN = ("password", "must_change_password", "fs_uniquifier", "tf_primary_method", "tf_totp_secret")
"""What Flask-Security sets on a user and passes to the datastore."""


class _EveryUse(str):
    """How a passkey may be used, in the library's words: as the only factor and next to a password."""

    def __eq__(self, other: object) -> bool:
        return any(str.__eq__(word, other) is True for word in ("first", "secondary"))

    __hash__ = str.__hash__


class OwnedPasskey(WebAuthnMixin):
    """A passkey as Flask-Security reads it. Attributes are the passkey's columns."""

    extensions = None

    def __init__(self, passkey: Passkey) -> None:
        vars(self).update(asdict(passkey))
        self.usage = _EveryUse("first")
        self.lastuse_datetime = passkey.last_used_at or passkey.created_at


class OperatorUser(UserMixin):
    """A user who is signed in or signing in. Attributes are the account's columns."""

    # Flask-Security looks at the class to find the columns.
    fs_uniquifier = ""
    tf_primary_method: str | None = None
    tf_totp_secret: str | None = None

    def __init__(self, account: Account) -> None:
        self.take(account)

    def take(self, account: Account) -> None:
        self.account = account
        vars(self).update(asdict(account))

    @property
    def webauthn(self) -> list[OwnedPasskey]:  # type: ignore[override]  # a column of the library's models
        return [OwnedPasskey(passkey) for passkey in list_passkeys(current(Database), self.account.id)]

    @property
    def fs_webauthn_user_handle(self) -> str:  # type: ignore[override]  # a column there, too
        """The account's name in passkeys: it says nothing about its owner, and differs between gateways."""
        made = f"{self.account.id} {self.account.created_at.isoformat()}"
        return hashlib.sha256(made.encode()).hexdigest()

    @property
    def factor_demanded(self) -> bool:
        return self.account.second_factor_required or everyone_needs_second_factor(current(Database))

    @property
    def unsaved(self) -> dict[str, Any]:
        """The columns that were set on the user since it was loaded."""
        values = {name: getattr(self, name) for name in _WRITTEN}
        return {name: value for name, value in values.items() if value != getattr(self.account, name)}

    def check_tf_required(self, tf_setup_methods: list[Any], tf_fresh: bool) -> tuple[bool, list[Any]]:
        """Require a code at every sign-in of an account that has, or must have, a second factor."""
        return bool(tf_setup_methods) or self.factor_demanded, tf_setup_methods

    def check_tf_required_setup(self) -> bool:
        """Whether the account must have one-time codes, as its only second factor."""
        return self.factor_demanded and not self.webauthn


class OperatorDatastore(UserDatastore):
    """Reads and writes accounts through the service; every write is a transaction of its own."""

    def __init__(self) -> None:
        super().__init__(OperatorUser, RoleMixin)  # the guard checks roles

    def find_user(self, case_insensitive: bool = False, **kwargs: Any) -> OperatorUser | None:
        """The account by ``email`` or ``fs_uniquifier``."""
        email, uniquifier = kwargs.get("email"), kwargs.get("fs_uniquifier")
        account = find_account(current(Database), email=email, uniquifier=uniquifier)
        return None if account is None else OperatorUser(account)

    def put(self, user: Any) -> Any:
        """Store what was set on the user. What the use of a passkey changed is already stored."""
        if not isinstance(user, OwnedPasskey) and user.unsaved:
            parts = current(Database), current(AuditKeys), current(TwoPersons)
            user.take(update_account(*parts, user.id, user.unsaved, actor=actor_named(user.email)))
        return user

    def commit(self) -> None:
        """Does nothing: ``put`` has stored the user."""

    def find_webauthn(self, credential_id: bytes) -> OwnedPasskey | None:
        passkey = find_passkey(current(Database), credential_id)
        return None if passkey is None else OwnedPasskey(passkey)

    def find_user_from_webauthn(self, webauthn: Any) -> OperatorUser | None:
        account = find_account(current(Database), account_id=webauthn.operator_id)
        return None if account is None else OperatorUser(account)

    def create_webauthn(self, user: Any, *_args: Any, **values: Any) -> None:
        """Store a passkey that was just registered.

        :raises HTTPException: the page that says why it is not: its name was taken meanwhile, or the account
            has too many.
        """
        new = NewPasskey(
            name=values["name"],
            credential_id=values["credential_id"],
            public_key=values["public_key"],
            sign_count=values["sign_count"],
            transports=[transport.value for transport in values["transports"]],
            synced=values["device_type"] == CredentialDeviceType.MULTI_DEVICE,
        )
        try:
            add_passkey(current(Database), current(AuditKeys), user.id, new, actor=actor_named(user.email))
        except PasskeyRefused as refused:
            _leave(refused)

    def delete_webauthn(self, webauthn: Any) -> None:
        """Remove a passkey of the signed-in user.

        :raises HTTPException: the page that says why it is not: it is the only second factor, or was removed
            since its form was checked.
        """
        whose, name = webauthn.operator_id, webauthn.name
        try:
            remove_passkey(current(Database), current(AuditKeys), whose, name, actor=actor())
        except PasskeyRefused as refused:
            _leave(refused)


def _leave(refused: PasskeyRefused) -> NoReturn:
    flash(str(refused), "error")
    abort(redirect(url_for("account.index")))


class OneTimeCodes(Totp):
    """TOTP (RFC 6238) whose codes work once across all processes."""

    def __init__(self, keys: CodeKeys, secrets: dict[str, str], issuer: str) -> None:
        super().__init__(secrets, issuer)
        self._keys = keys

    def verify_totp(self, token: str, totp_secret: str, user: Any, window: int = 0) -> bool:
        """Whether the code belongs to the secret. Without a key's name each key is tried."""
        return any(
            super(OneTimeCodes, self).verify_totp(token, secret, user, window)
            for secret in self._keys.readings(totp_secret)
        )

    def generate_totp_secret(self) -> str:
        """A new secret. It stays the same until it is confirmed, as the phone has it already."""
        pending = session.get("tf_totp_secret") if sets_up_second_factor() else None
        return str(pending or self._keys.factory().new().to_json(encrypt=True))

    def get_last_counter(self, user: Any) -> int | None:
        last: int | None = user.account.totp_last_counter
        return last

    def set_last_counter(self, user: Any, tmatch: TotpMatch) -> None:
        """Use the code up.

        :raises UsedTokenError: another request has used it first.
        """
        if not use_code(current(Database), user.id, tmatch.counter):
            raise UsedTokenError


class RecoveryCodes(MfRecoveryCodesUtil):
    """Flask-Security's recovery codes with our storage: the library stores them readable, and lets two
    requests use one.
    """

    def check_recovery_code(self, user: Any, code: str) -> bool:
        """Use the code up. Returns whether it was one."""
        database = current(Database)
        audit_keys = current(AuditKeys)
        own = actor_named(user.email)
        if not user.is_active or not use_recovery_code(database, audit_keys, user.id, code, actor=own):
            return False
        left = recovery_codes_left(database, user.id)
        flash(
            f"You have {left} recovery codes left. If your second factor is lost, set up another factor.",
            "warning",
        )
        return True

    def delete_recovery_code(self, user: UserMixin, code: str) -> bool:
        """Do nothing: it is already used up."""
        return True
