"""Passkeys (WebAuthn) by Flask-Security: their owners, their forms, challenges that work once.

Three things are stricter than in the library. The site of a passkey is a setting, not the request's Host. The
device always requires its PIN, finger or face, so that one passkey counts as both factors. And a challenge is
for one purpose and one account, and is answered once.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from flask import abort, current_app, g, request, session
from flask_login import current_user
from flask_security import (
    UserMixin,
    WebAuthnMixin,
    WebAuthnRegisterForm,
    WebAuthnRegisterResponseForm,
    WebAuthnSigninResponseForm,
    WebauthnUtil,
)
from flask_security.webauthn import WebAuthnTfPlugin
from webauthn import generate_authentication_options, options_to_json
from webauthn.helpers.exceptions import WebAuthnException
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)
from wtforms import HiddenField, StringField
from wtforms.validators import DataRequired

from app.accounts.services.factors import MOST_PASSKEYS, use_passkey
from app.audit.keys import AuditKeys
from app.audit.services import record_separately
from app.console.shell.caller import actor_unknown
from app.db.database import Database
from app.http.application import current
from app.values.times import from_unix_microseconds, unix_microseconds

ANSWERED_WITHIN: Final = timedelta(minutes=5)
"""A challenge is not accepted later than this."""

_PURPOSES: Final = {"security.wan_register": "register", "security.wan_signin": "sign-in"}
STEP_UP: Final = "step-up"


def _public_origin() -> str:
    configured: str = current_app.extensions["console"].public_origin
    return configured


def _relying_party() -> str:
    """The host name that passkeys belong to: that of ``PUBLIC_ORIGIN``.

    Without the setting only ``localhost`` works, which is always this machine: browsers refuse addresses such
    as 127.0.0.1.
    """
    return urlsplit(_public_origin()).hostname or "localhost"


def passkeys_work_here() -> bool:
    """Whether the console is open under the name that passkeys belong to."""
    return request.host.split(":")[0].lower() == _relying_party()  # also False for an invalid host name


class PasskeyUtil(WebauthnUtil):
    """The parameters of the ceremonies."""

    def generate_challenge(self, nbytes: int | None = None) -> str:
        """A challenge: its purpose, its account (0 before the sign-in), the time when it was made, and 256
        random bits.
        """
        self.origin()
        purpose = _PURPOSES.get(request.endpoint or "", STEP_UP)
        micros = unix_microseconds(current(Database).clock())
        return f"{purpose}.{_signed_in_id()}.{micros}.{secrets.token_urlsafe(32)}"

    def origin(self) -> str:
        """The origin that the browser must name. Under another name there are no passkeys.

        The library takes both the origin and the relying party from the request.
        """
        if not passkeys_work_here():
            abort(400)
        return _public_origin() or request.host_url.rstrip("/")

    def authenticator_selection(self, user: UserMixin, usage: str) -> AuthenticatorSelectionCriteria:
        return AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.PREFERRED,
            user_verification=UserVerificationRequirement.REQUIRED,
        )

    def user_verification(self, user: UserMixin | None, usage: list[str]) -> UserVerificationRequirement:
        """Required at every use, for any purpose."""
        return UserVerificationRequirement.REQUIRED


def made_at(challenge: str, purpose: str) -> datetime | None:
    """When the challenge was made; None where this request may not answer it now, because its purpose or its
    account is another, or its time is over.

    :param challenge: of ``generate_challenge``; the library has sealed it.
    """
    its_purpose, account_id, micros, _ = challenge.split(".")
    made = from_unix_microseconds(int(micros))
    fits = (its_purpose, int(account_id)) == (purpose, _signed_in_id())
    return made if fits and timedelta() <= current(Database).clock() - made <= ANSWERED_WITHIN else None


class PasskeyFactor(WebAuthnTfPlugin):
    """Passkeys as second factor of an account without one-time codes. With codes, their page offers both."""

    def get_setup_methods(self, user: Any) -> list[tuple[str, str]]:
        """The method, where it is the account's only one: otherwise the library lets the user choose."""
        return [] if user.tf_totp_secret else super().get_setup_methods(user)


def step_up_options(passkeys: Sequence[WebAuthnMixin]) -> tuple[str, str]:
    """What a browser needs to request one of these passkeys again: the options as JSON, and their seal."""
    security = current_app.extensions["security"]
    challenge = security.webauthn_util.generate_challenge()
    options = generate_authentication_options(
        rp_id=_relying_party(),
        challenge=challenge.encode(),
        allow_credentials=[PublicKeyCredentialDescriptor(id=one.credential_id) for one in passkeys],
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json(options), security.wan_serializer.dumps({"challenge": challenge})


def _signed_in_id() -> int:
    return current_user.id if current_user.is_authenticated else 0


_OUT_OF_DATE = "That took too long, or was already used. Try again."
_NOT_ACCEPTED = "The passkey was not accepted. Try again, or use another way."


_LONGEST_ANSWER = 16_384
"""Characters. The answers of security keys, with their certificates, have two or three thousand."""

_UNREADABLE = (
    WebAuthnException, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError,
)  # fmt: skip
"""What the libraries raise for invalid JSON, CBOR or keys."""


class _Answer:
    """A browser's answer, whose reading never raises."""

    credential: HiddenField

    def validate(self, **kwargs: Any) -> bool:
        if len(self.credential.data or "") > _LONGEST_ANSWER:
            self.credential.errors = [_NOT_ACCEPTED]
            return False
        try:
            return bool(super().validate(**kwargs))  # type: ignore[misc]
        except _UNREADABLE:
            self.credential.errors = [_NOT_ACCEPTED]
            return False


class NewPasskeyForm(WebAuthnRegisterForm):
    """The name of a new passkey."""

    name = StringField(
        "Name of a new passkey",
        description="Such as the device that it is on.",
        validators=[DataRequired("Give the passkey a name.")],
        render_kw={"autocomplete": "off", "required": True, "maxlength": "64"},
    )
    usage = HiddenField(default="first")

    def validate(self, **kwargs: Any) -> bool:
        if len(current_user.webauthn) >= MOST_PASSKEYS:
            self.name.errors = [f"An account has at most {MOST_PASSKEYS} passkeys: remove one first."]
            return False
        return super().validate(**kwargs)


class RegisteredForm(_Answer, WebAuthnRegisterResponseForm):
    """The passkey that a browser has registered. The challenge must be this account's own."""

    def validate(self, **kwargs: Any) -> bool:
        if made_at(self.challenge, "register") is None:
            self.credential.errors = [_OUT_OF_DATE]
            return False
        g.leads_to_recovery_codes = super().validate(**kwargs)
        return bool(g.leads_to_recovery_codes)


class AnsweredForm(_Answer, WebAuthnSigninResponseForm):
    """A passkey's answer, at sign-in or when it is requested again."""

    def validate(self, **kwargs: Any) -> bool:
        challenge_at = made_at(self.challenge, STEP_UP if self.is_verify else "sign-in")
        if challenge_at is None:
            self.credential.errors = [_OUT_OF_DATE]
            return False
        self.user_verification = True
        if not super().validate(**kwargs) or not self._of_the_right_account():
            # The library explains it in terms of the protocol, and reveals which passkeys exist.
            self.credential.errors = [_NOT_ACCEPTED]
            self._note_refusal()
            return False
        passkey: Any = self.cred
        count = self.authentication_verification.new_sign_count
        if use_passkey(current(Database), passkey.id, challenge_at, count):
            return True
        self.credential.errors = [_OUT_OF_DATE]
        return False

    def _note_refusal(self) -> None:
        """Record in the audit log that a known passkey was refused, such as one that was copied.

        When it was requested again, the form around this one has recorded it.
        """
        user: Any = self.user
        if user is None or self.is_verify:
            return
        subject, detail = f"operator {user.email}", "passkey not accepted"
        record_separately(
            current(Database), current(AuditKeys), actor_unknown(), "sign_in.failed", subject, detail=detail
        )

    def _of_the_right_account(self) -> bool:
        user: Any = self.user
        if not user.is_active:
            return False
        if self.is_verify:
            return bool(user.id == current_user.id)
        return not self.is_secondary or bool(user.fs_uniquifier == session["tf_user_id"])
