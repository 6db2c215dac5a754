"""The settings of Flask-Security: which of its features are on, and which are off."""

from __future__ import annotations

import hashlib
import hmac
from datetime import timedelta
from typing import Any, Final

from flask import Flask
from flask_login import user_logged_out
from flask_security import Security
from flask_security.signals import user_authenticated
from flask_wtf.csrf import CSRFProtect

from app.admin.forms import sign_in as forms
from app.admin.sign_in import sessions
from app.admin.sign_in.datastore import OneTimeCodes, OperatorDatastore
from app.admin.sign_in.hashing import NativeHashes
from app.domain.operators import MIN_PASSWORD_LENGTH, SESSION_LIFETIME

PREFIX: Final = "/admin"

_SETTINGS: Final[dict[str, Any]] = {
    "URL_PREFIX": PREFIX,
    "LOGIN_URL": "/sign-in",
    "LOGOUT_URL": "/sign-out",
    "LOGOUT_METHODS": ["POST"],
    "CHANGE_URL": "/account/password",
    "VERIFY_URL": "/account/confirm",
    "TWO_FACTOR_SETUP_URL": "/account/second-factor",
    "TWO_FACTOR_TOKEN_VALIDATION_URL": "/sign-in/code",
    "TWO_FACTOR_RESCUE_URL": "/sign-in/rescue",
    "TWO_FACTOR_SELECT_URL": "/sign-in/select",
    "TWO_FACTOR_ERROR_VIEW": f"{PREFIX}/sign-in",
    "TWO_FACTOR_POST_SETUP_VIEW": f"{PREFIX}/account/",
    "POST_LOGIN_VIEW": f"{PREFIX}/",
    "POST_LOGOUT_VIEW": f"{PREFIX}/sign-in",
    "POST_CHANGE_VIEW": f"{PREFIX}/account/",
    "LOGIN_USER_TEMPLATE": "console/account/sign_in.html",
    "TWO_FACTOR_VERIFY_CODE_TEMPLATE": "console/account/code.html",
    "TWO_FACTOR_SETUP_TEMPLATE": "console/account/second_factor.html",
    "CHANGE_PASSWORD_TEMPLATE": "console/account/password.html",
    "VERIFY_TEMPLATE": "console/account/confirm.html",
    # Features that are on.
    "CHANGEABLE": True,
    "TWO_FACTOR": True,
    "TWO_FACTOR_ENABLED_METHODS": ["authenticator"],
    "TWO_FACTOR_ALWAYS_VALIDATE": True,
    "TWO_FACTOR_AUTHENTICATOR_VALIDITY": 30,
    "TOTP_ISSUER": "Transfer gateway",
    "FRESHNESS": timedelta(minutes=10),
    "FRESHNESS_GRACE_PERIOD": timedelta(0),
    "PASSWORD_HASH": "argon2",
    "PASSWORD_SCHEMES": ["argon2"],
    "PASSWORD_SINGLE_HASH": ["argon2"],  # as services/operators/passwords.py makes them
    "PASSWORD_LENGTH_MIN": MIN_PASSWORD_LENGTH,
    "USER_IDENTITY_ATTRIBUTES": [{"email": {"mapper": str.lower, "case_insensitive": True}}],
    "RETURN_GENERIC_RESPONSES": True,
    "CSRF_PROTECT_MECHANISMS": ["session"],
    "LOGOUT_CSRF": True,
    "MSG_GENERIC_AUTHN_FAILED": ("That email and password do not belong together.", "error"),
    "MSG_INVALID_PASSWORD": ("That is not your password.", "error"),
    "MSG_RETYPE_PASSWORD_MISMATCH": ("The two new passwords differ.", "error"),
    "MSG_TWO_FACTOR_INVALID_TOKEN": (
        "That code is wrong, or was used before. Wait for the next one.",
        "error",
    ),
    "MSG_TWO_FACTOR_LOGIN_SUCCESSFUL": ("You are signed in.", "success"),
    "MSG_TWO_FACTOR_CHANGE_METHOD_SUCCESSFUL": ("Your second factor is set up.", "success"),
    "MSG_TWO_FACTOR_DISABLED": ("Your second factor is switched off.", "success"),
    "MSG_TWO_FACTOR_PERMISSION_DENIED": ("Sign in with your password first.", "error"),
    "MSG_PASSWORD_CHANGE": ("Your password is changed. Other sessions have ended.", "success"),
    "MSG_REAUTHENTICATION_SUCCESSFUL": ("Thank you. Go on.", "success"),
    "MSG_REAUTHENTICATION_REQUIRED": ("Type your password once more to go on.", "info"),
    # Features that are off: there is no mail server, and accounts are made by administrators.
    "REGISTERABLE": False,
    "RECOVERABLE": False,
    "CONFIRMABLE": False,
    "UNIFIED_SIGNIN": False,
    "WEBAUTHN": False,
    "MULTI_FACTOR_RECOVERY_CODES": False,
    "SEND_REGISTER_EMAIL": False,
    "SEND_PASSWORD_CHANGE_EMAIL": False,
    "SEND_PASSWORD_RESET_EMAIL": False,
    "API_ENABLED_METHODS": ["session"],
    "REDIRECT_ALLOW_SUBDOMAINS": False,
}


def secure(app: Flask, secret_key: str) -> CSRFProtect:
    """Set up sign-in, sessions and CSRF tokens. Returns the CSRF protection, which the guard calls."""
    app.config.update({f"SECURITY_{name}": value for name, value in _SETTINGS.items()})
    app.config.update(
        # The salt is unused with single hashing, but required. The other key encrypts the codes' secrets.
        SECURITY_PASSWORD_SALT=_derived(secret_key, "password salt"),
        SECURITY_TOTP_SECRETS={1: _derived(secret_key, "one-time codes")},
        PERMANENT_SESSION_LIFETIME=SESSION_LIFETIME,
        SESSION_COOKIE_NAME="console",
        SESSION_COOKIE_PATH=PREFIX,
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        WTF_CSRF_TIME_LIMIT=None,  # a token is valid as long as its session
        WTF_CSRF_CHECK_DEFAULT=False,  # the guard checks, for every change of the console
    )
    csrf = CSRFProtect(app)
    security = Security(
        app,
        OperatorDatastore(),
        totp_cls=OneTimeCodes,
        login_form=forms.SignInForm,
        two_factor_verify_code_form=forms.CodeForm,
        verify_form=forms.ConfirmForm,
        change_password_form=forms.NewPasswordForm,
    )
    security.pwd_context = NativeHashes(**security.pwd_context.to_dict())
    user_authenticated.connect(sessions.renew_session, app)
    user_authenticated.connect(forms.forget_after_sign_in, app)
    user_logged_out.connect(sessions.close_session, app)
    return csrf


def _derived(secret_key: str, purpose: str) -> str:
    """A separate key for each purpose."""
    return hmac.new(secret_key.encode(), purpose.encode(), hashlib.sha256).hexdigest()
