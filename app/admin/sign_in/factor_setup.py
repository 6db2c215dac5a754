"""Setting up one-time codes: the secret that was shown is kept until a code of it confirms it."""

from __future__ import annotations

from typing import Any

from flask import Response, current_app, g, render_template, request, session
from flask_login import current_user
from flask_security.utils import get_message

from app.admin.sign_in.sessions import sets_up_second_factor

_SECRET = "tf_totp_secret"  # noqa: S105  the library's name of it in the session


def pending_secret() -> str | None:
    """The encrypted secret that this session was shown and has not confirmed yet."""
    secret = session.get(_SECRET) if sets_up_second_factor() else None
    return secret if isinstance(secret, str) else None


def show_setup_again(response: Response) -> Response:
    """After a wrong code the page of the same secret, with what is wrong beside the field.

    The library leads back to the start of the setup, or on to a page without the secret.
    """
    form: Any = g.pop("refused_code", None)
    if form is None or form.user is None or not (form.is_setup or sets_up_second_factor()):
        return response
    said = get_message("TWO_FACTOR_INVALID_TOKEN")[0]
    session["_flashes"] = [pair for pair in session.get("_flashes", ()) if pair[1] != said]
    values = current_app.extensions["security"].totp_factory.fetch_setup_values(
        form.tf_totp_secret, form.user
    )
    page = render_template(
        "console/account/second_factor.html",
        two_factor_verify_code_form=form,
        chosen_method="authenticator",
        changing=current_user.is_authenticated,
        state_token=(request.view_args or {}).get("token"),
        authr_qrcode=values["image"],
        authr_key=values["key"],
    )
    return Response(page)
