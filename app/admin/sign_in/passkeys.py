"""Passkeys (WebAuthn) by Flask-Security: whom they belong to, what they may do, challenges that work once.

Three things are stricter than the library. The site that a passkey belongs to is a setting, not whatever
a request's Host says. The device always asks for its PIN, finger or face, so that one passkey may stand
for both factors. And a challenge is for one purpose and one account, and is answered once.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from urllib.parse import urlsplit

from flask import abort, current_app, redirect, request, session, url_for
from flask_login import current_user
from flask_security import UserMixin, WebauthnUtil
from flask_security.tf_plugin import TfPluginBase
from webauthn import generate_authentication_options, options_to_json
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from app.runtime.gateway import current_gateway
from app.services.operators.passkeys import Passkey

ANSWERED_WITHIN: Final = timedelta(minutes=5)
"""A challenge that nobody has answered by then is not answered any more."""

_PURPOSES: Final = {"security.wan_register": "register", "security.wan_signin": "sign-in"}
STEP_UP: Final = "step-up"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def relying_party() -> tuple[str, str] | None:
    """The host name and the origin that passkeys belong to; None where they do not work.

    They are those of ``PUBLIC_ORIGIN``, and the console must be open under it. Without the setting only
    ``localhost`` will do, which is nobody else's: browsers refuse addresses such as 127.0.0.1.
    """
    configured: str = current_app.extensions["console"].public_origin
    name = urlsplit(configured).hostname or "localhost"
    if request.host.split(":")[0].lower() != name:  # also what no host name is
        return None
    return name, configured or request.host_url.rstrip("/")


def passkeys_work_here() -> bool:
    """Whether the page's address is one that passkeys belong to."""
    return relying_party() is not None


class PasskeyUtil(WebauthnUtil):
    """The parameters of the ceremonies."""

    def generate_challenge(self, nbytes: int | None = None) -> str:
        """A random challenge that tells what it is for, whom, and when it was made."""
        if not passkeys_work_here():
            abort(400)
        purpose = _PURPOSES.get(request.endpoint or "", STEP_UP)
        return Challenge(purpose, _signed_in_id(), current_gateway().clock()).text()

    def origin(self) -> str:
        """What the browser must name as the page's origin."""
        party = relying_party()
        if party is None:
            abort(400)
        return party[1]

    def authenticator_selection(self, user: UserMixin, usage: str) -> AuthenticatorSelectionCriteria:
        """Any device that knows its owner."""
        return AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.PREFERRED,
            user_verification=UserVerificationRequirement.REQUIRED,
        )

    def user_verification(self, user: UserMixin | None, usage: list[str]) -> UserVerificationRequirement:
        """At every use, whatever for."""
        return UserVerificationRequirement.REQUIRED


@dataclass(frozen=True, slots=True)
class Challenge:
    """What a challenge is for: ``account_id`` is 0 while nobody is signed in."""

    purpose: str
    account_id: int
    made_at: datetime

    def text(self) -> str:
        """The challenge: its facts and 256 random bits."""
        micros = (self.made_at - _EPOCH) // timedelta(microseconds=1)
        return f"{self.purpose}.{self.account_id}.{micros}.{secrets.token_urlsafe(32)}"

    def is_open(self, purpose: str) -> bool:
        """Whether it may be answered by this request: for this purpose, by whoever is signed in, now."""
        age = current_gateway().clock() - self.made_at
        fits = (self.purpose, self.account_id) == (purpose, _signed_in_id())
        return fits and timedelta() <= age <= ANSWERED_WITHIN


def read_challenge(text: str) -> Challenge:
    """The facts of a challenge, whose text the library has sealed."""
    purpose, account_id, micros, _ = text.split(".")
    return Challenge(purpose, int(account_id), _EPOCH + timedelta(microseconds=int(micros)))


class PasskeyFactor(TfPluginBase):
    """Passkeys as second factor of an account without one-time codes. With codes, their page offers both."""

    def create_blueprint(self, app: Any, bp: Any, state: Any) -> None:
        """Nothing: Flask-Security registers the routes."""

    def get_setup_methods(self, user: Any) -> list[tuple[str, str]]:
        """The one method, where it is the account's only one: the library would ask which otherwise."""
        return [("webauthn", "Passkey")] if user.webauthn and not user.tf_totp_secret else []

    def tf_login(self, user: Any, json_payload: dict[str, Any], next_loc: str | None) -> Any:
        """Go on to the passkey's page after the password."""
        session["tf_state"] = "ready"
        return redirect(url_for("security.wan_signin", next=next_loc))


def step_up_options(passkeys: Sequence[Passkey]) -> tuple[str, str]:
    """What a browser needs to ask for one of these passkeys again: the options as JSON, and their seal."""
    party = relying_party()
    if party is None:
        abort(400)
    security = current_app.extensions["security"]
    challenge = security.webauthn_util.generate_challenge()
    options = generate_authentication_options(
        rp_id=party[0],
        challenge=challenge.encode(),
        allow_credentials=[PublicKeyCredentialDescriptor(id=one.credential_id) for one in passkeys],
        user_verification=UserVerificationRequirement.REQUIRED,
    )
    return options_to_json(options), security.wan_serializer.dumps({"challenge": challenge})


def _signed_in_id() -> int:
    return current_user.id if current_user.is_authenticated else 0
