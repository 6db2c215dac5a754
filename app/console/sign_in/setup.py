"""Sets Flask-Security up: which features are on, and which page follows a new factor or password."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any, Final

from flask import Flask, Response, g, url_for
from flask_login import current_user, user_logged_out
from flask_security import Security, user_authenticated
from flask_wtf.csrf import CSRFProtect

from app.accounts.rules.sessions import SESSION_LIFETIME
from app.accounts.services import passwords
from app.accounts.services.code_keys import CodeKeys, derived
from app.accounts.services.factors import recovery_codes_left
from app.console.sign_in import datastore, forms, passkey_pages
from app.console.sign_in.datastore import OneTimeCodes, OperatorDatastore
from app.console.sign_in.passkey_pages import ANSWERED_WITHIN, PasskeyUtil
from app.db.database import Database
from app.http.application import current

PREFIX: Final = "/admin"

_NAME_CHARACTERS: Final = "Enter a name of letters, digits, spaces, - and _."
_BROWSER_WAITS: Final = int(ANSWERED_WITHIN.total_seconds() * 1000)

_SETTINGS: Final[dict[str, Any]] = {
    "URL_PREFIX": PREFIX,
    "LOGIN_URL": "/sign-in",
    "LOGOUT_URL": "/sign-out",
    "CHANGE_URL": "/account/password",
    "TWO_FACTOR_SETUP_URL": "/account/second-factor",
    "TWO_FACTOR_TOKEN_VALIDATION_URL": "/sign-in/code",
    "TWO_FACTOR_ERROR_VIEW": "security.login",
    "TWO_FACTOR_POST_SETUP_VIEW": "account.index",
    "TWO_FACTOR_IMPLEMENTATIONS": {
        "code": "flask_security.twofactor.CodeTfPlugin",
        "webauthn": "app.console.sign_in.passkey_pages.PasskeyFactor",
    },
    "MULTI_FACTOR_RECOVERY_URL": "/sign-in/recovery",
    "WAN_SIGNIN_URL": "/sign-in/passkey",
    "WAN_REGISTER_URL": "/account/passkey",
    "WAN_DELETE_URL": "/account/remove-passkey",
    "WAN_POST_REGISTER_VIEW": "account.index",
    "POST_LOGIN_VIEW": "admin.index",
    "POST_LOGOUT_VIEW": "security.login",
    "POST_CHANGE_VIEW": "account.index",
    "LOGIN_USER_TEMPLATE": "console/account/sign_in.html",
    "TWO_FACTOR_VERIFY_CODE_TEMPLATE": "console/account/code.html",
    "TWO_FACTOR_SETUP_TEMPLATE": "console/account/second_factor.html",
    "CHANGE_PASSWORD_TEMPLATE": "console/account/password.html",
    "MULTI_FACTOR_RECOVERY_TEMPLATE": "console/account/recovery.html",
    "WAN_SIGNIN_TEMPLATE": "console/account/passkey.html",
    "WAN_REGISTER_TEMPLATE": "console/account/new_passkey.html",
    # Features that are on.
    "CHANGEABLE": True,
    "TWO_FACTOR": True,
    "TWO_FACTOR_ENABLED_METHODS": ["authenticator"],
    "TWO_FACTOR_AUTHENTICATOR_VALIDITY": 30,
    "TOTP_ISSUER": "Transfer gateway",
    "WEBAUTHN": True,
    "WAN_RP_NAME": "Transfer gateway",
    "WAN_ALLOW_USER_HINTS": False,  # they reveal which accounts exist
    "WAN_REGISTER_WITHIN": ANSWERED_WITHIN,
    "WAN_SIGNIN_WITHIN": ANSWERED_WITHIN,
    "WAN_REGISTER_TIMEOUT": _BROWSER_WAITS,
    "WAN_SIGNIN_TIMEOUT": _BROWSER_WAITS,
    "MULTI_FACTOR_RECOVERY_CODES": True,
    "FRESHNESS": timedelta(-1),  # never used: the guard does this by our clock, and carries what was typed
    "PASSWORD_SINGLE_HASH": ["argon2"],  # no HMAC under it, which commands would have to compute as well
    "USER_IDENTITY_ATTRIBUTES": [{"email": {"mapper": str.lower, "case_insensitive": True}}],
    "RETURN_GENERIC_RESPONSES": True,
    "CSRF_PROTECT_MECHANISMS": ["session"],
    "LOGOUT_CSRF": True,
    "MSG_GENERIC_AUTHN_FAILED": ("Wrong email or password.", "error"),
    "MSG_INVALID_PASSWORD": ("Wrong password.", "error"),
    "MSG_RETYPE_PASSWORD_MISMATCH": ("The new passwords do not match.", "error"),
    "MSG_TWO_FACTOR_INVALID_TOKEN": (
        "Wrong code, or it was already used. Wait for the next one.",
        "error",
    ),
    "MSG_TWO_FACTOR_LOGIN_SUCCESSFUL": ("You are signed in.", "success"),
    "MSG_TWO_FACTOR_CHANGE_METHOD_SUCCESSFUL": ("Your second factor is set up.", "success"),
    "MSG_TWO_FACTOR_DISABLED": ("Your second factor is turned off.", "success"),
    "MSG_TWO_FACTOR_PERMISSION_DENIED": ("Sign in with your password first.", "error"),
    "MSG_PASSWORD_CHANGE": ("Password changed. Your other sessions are signed out.", "success"),
    "MSG_INVALID_RECOVERY_CODE": ("Wrong recovery code, or it was already used.", "error"),
    "MSG_WEBAUTHN_NAME_DISALLOWED_CHARACTERS": (_NAME_CHARACTERS, "error"),
    "MSG_INVALID_INPUT": (_NAME_CHARACTERS, "error"),
    "MSG_WEBAUTHN_REGISTER_SUCCESSFUL": ("Passkey “%(name)s” added.", "success"),
    "MSG_WEBAUTHN_CREDENTIAL_DELETED": ("Passkey “%(name)s” removed.", "success"),
    "MSG_WEBAUTHN_NAME_INUSE": ("You already have a passkey “%(name)s”. Enter another name.", "error"),
    "MSG_WEBAUTHN_NAME_NOT_FOUND": ("You have no passkey “%(name)s”. Reload the page.", "error"),
    "MSG_WEBAUTHN_CREDENTIAL_ID_INUSE": ("That passkey is already registered.", "error"),
    "MSG_WEBAUTHN_NO_VERIFY": ("The passkey was not accepted: %(cause)s.", "error"),
    "MSG_WEBAUTHN_EXPIRED": ("That took too long. Try again.", "error"),
    # What is off: there is no mail server, and administrators create accounts. Registration and the like are
    # off by default; tests/console/roles.py lists every route.
    "SEND_PASSWORD_CHANGE_EMAIL": False,
    "API_ENABLED_METHODS": ["session"],
    # Its commands know neither the audit log nor two persons, and report changes that they did not make.
    "CLI_USERS_NAME": None,
    "CLI_ROLES_NAME": None,
}


def lead_on(response: Response) -> Response:
    """Redirect to the recovery codes after a second factor was set up, or the password changed, where the
    account has a factor and no codes. An account that has to change its password gets there afterwards.

    After a removal the library goes back to the page of a new passkey. The account's page is better: it shows
    the result and the list.
    """
    changed = g.pop("leads_to_recovery_codes", False) and response.status_code == 302
    if response.status_code == 302 and response.location == url_for("security.wan_register"):
        response.location = url_for("account.index")
    has_factor = changed and (current_user.tf_totp_secret or current_user.webauthn)
    if has_factor and not recovery_codes_left(current(Database), current_user.id):
        response.location = url_for("account.recovery_codes")
    return response


def secure(app: Flask, secret_key: str, secret_keys_old: tuple[str, ...] = ()) -> CSRFProtect:
    """Set up sign-in, sessions and CSRF tokens. Returns the CSRF protection, which the guard calls.

    :param secret_keys_old: what they signed and encrypted is still accepted. Nothing new is made with them.
    """
    codes = CodeKeys(secret_key, secret_keys_old)
    _configure(app, codes, secret_key, secret_keys_old)
    csrf = CSRFProtect(app)
    security = _security(app, codes)
    _sign_with_the_present_key(security, secret_key, secret_keys_old)
    # It would answer with JSON on request, and with tokens that are worth as much as a session.
    security.want_json(lambda _request: False)
    security.pwd_context = passwords.HASHES
    _connect(app)
    return csrf


def _configure(app: Flask, codes: CodeKeys, secret_key: str, secret_keys_old: tuple[str, ...]) -> None:
    every_key = (secret_key, *secret_keys_old)
    app.config.update({f"SECURITY_{name}": value for name, value in _SETTINGS.items()})
    app.config.update(
        SECURITY_TOTP_SECRETS=dict(codes.by_name),
        CONSOLE_DEVICE_KEYS=[derived(key, "known browsers") for key in every_key],
        # Flask signs sessions with SECRET_KEY and accepts SECRET_KEY_FALLBACKS. Forms of a page from before a
        # change of keys must be accepted, too: itsdangerous signs with the last key of a list.
        WTF_CSRF_SECRET_KEY=[*secret_keys_old, secret_key],
        PERMANENT_SESSION_LIFETIME=SESSION_LIFETIME,
        SESSION_COOKIE_NAME="console",
        SESSION_COOKIE_PATH=PREFIX,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        WTF_CSRF_TIME_LIMIT=None,  # a token is valid as long as its session
        WTF_CSRF_CHECK_DEFAULT=False,  # the guard checks, for every change of the console
    )


def _security(app: Flask, codes: CodeKeys) -> Security:
    return Security(
        app,
        OperatorDatastore(),
        totp_cls=partial(OneTimeCodes, codes),  # type: ignore[arg-type]  # it is only called
        login_form=forms.SignInForm,
        two_factor_verify_code_form=forms.CodeForm,
        change_password_form=forms.NewPasswordForm,
        mf_recovery_form=forms.RecoveryForm,
        mf_recovery_codes_util_cls=datastore.RecoveryCodes,
        webauthn_util_cls=PasskeyUtil,
        wan_register_form=passkey_pages.NewPasskeyForm,
        wan_register_response_form=passkey_pages.RegisteredForm,
        wan_signin_response_form=passkey_pages.AnsweredForm,
    )


def _connect(app: Flask) -> None:
    user_authenticated.connect(datastore.renew_session, app)
    user_authenticated.connect(forms.remember_device, app)
    user_authenticated.connect(forms.forget_after_sign_in, app)
    user_logged_out.connect(datastore.close_session, app)
    app.after_request_funcs.setdefault("security", []).append(lead_on)


def _sign_with_the_present_key(security: Security, secret_key: str, old: tuple[str, ...]) -> None:
    """Sign with the present key what Flask-Security signs between two steps (a passkey, a setup).

    It puts the present key first, but itsdangerous signs with the last.
    """
    for signer in vars(security).values():
        if hasattr(signer, "secret_keys"):
            signer.secret_keys = [key.encode() for key in (*old, secret_key)]
