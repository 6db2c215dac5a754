"""The forms of passkeys: what a browser answers, and that each challenge is answered once."""

from __future__ import annotations

from typing import Any

from flask import session
from flask_login import current_user
from flask_security import (
    WebAuthnDeleteForm,
    WebAuthnRegisterForm,
    WebAuthnRegisterResponseForm,
    WebAuthnSigninResponseForm,
)
from webauthn.helpers.exceptions import WebAuthnException
from wtforms import HiddenField, StringField

from app.admin.requests import actor_unknown
from app.admin.sign_in.passkeys import STEP_UP, read_challenge
from app.runtime.gateway import current_gateway
from app.services.audit.record import record_alone
from app.services.operators.passkeys import MOST_PASSKEYS, use_passkey, why_passkey_stays

_OUT_OF_DATE = "That took too long, or was already used. Try again."
_NOT_ACCEPTED = "The passkey was not accepted. Try again, or use another way."


_LONGEST_ANSWER = 16_384
"""Characters. The answers of security keys, with their certificates, have two or three thousand."""

_UNREADABLE = (
    WebAuthnException, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError,
)  # fmt: skip
"""What the libraries raise over JSON, CBOR or keys that are not what they should be."""


class _Answer:
    """What a browser answers, read without a fault whatever it is."""

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
    """What a new passkey is called."""

    name = StringField(
        "Name of a new passkey",
        description="What you will know it by, such as the device that it is on.",
        render_kw={"autocomplete": "off", "required": True, "maxlength": "64"},
    )
    usage = HiddenField(default="first")

    def validate(self, **kwargs: Any) -> bool:
        self.name.data = (self.name.data or "").strip()
        if not self.name.data:
            self.name.errors = ["Give the passkey a name."]
            return False
        if len(current_user.webauthn) >= MOST_PASSKEYS:
            self.name.errors = [f"An account has at most {MOST_PASSKEYS} passkeys: remove one first."]
            return False
        return super().validate(**kwargs)


class RegisteredForm(_Answer, WebAuthnRegisterResponseForm):
    """What a browser has registered. The challenge must be this account's own."""

    def validate(self, **kwargs: Any) -> bool:
        if not read_challenge(self.challenge).is_open("register"):
            self.credential.errors = [_OUT_OF_DATE]
            return False
        return super().validate(**kwargs)


class AnsweredForm(_Answer, WebAuthnSigninResponseForm):
    """A passkey's answer, at sign-in or when it is asked for again."""

    def validate(self, **kwargs: Any) -> bool:
        challenge = read_challenge(self.challenge)
        if not challenge.is_open(STEP_UP if self.is_verify else "sign-in"):
            self.credential.errors = [_OUT_OF_DATE]
            return False
        self.user_verification = True
        if not super().validate(**kwargs) or not self._of_the_right_account():
            # The library tells what is wrong in the words of the protocol, and which passkeys there are.
            self.credential.errors = [_NOT_ACCEPTED]
            self._note_refusal()
            return False
        passkey = self.cred.passkey  # type: ignore[union-attr]
        count = self.authentication_verification.new_sign_count
        if use_passkey(current_gateway(), passkey.id, challenge.made_at, count):
            return True
        self.credential.errors = [_OUT_OF_DATE]
        return False

    def _note_refusal(self) -> None:
        """Tell the audit log of a passkey that is known and refused, such as one that was copied.

        When it was asked for again, the form around this one has noted it.
        """
        user: Any = self.user
        if user is None or self.is_verify:
            return
        subject, detail = f"operator {user.email}", "passkey not accepted"
        record_alone(current_gateway(), actor_unknown(), "sign_in.failed", subject, detail=detail)

    def _of_the_right_account(self) -> bool:
        user: Any = self.user
        if not user.is_active:
            return False
        if self.is_verify:
            return bool(user.id == current_user.id)
        return not self.is_secondary or bool(user.fs_uniquifier == session["tf_user_id"])


class RemovePasskeyForm(WebAuthnDeleteForm):
    """Which passkey is removed."""

    def validate(self, **kwargs: Any) -> bool:
        if not super().validate(**kwargs):
            return False
        if refusal := why_passkey_stays(current_gateway(), current_user.id):
            self.name.errors = [refusal]
            return False
        return True
