"""The forms about accounts of the console."""

from __future__ import annotations

from wtforms import BooleanField, EmailField, PasswordField, SelectField
from wtforms.fields.choices import SelectChoice

from app.admin.forms.proposals import MayWaitForm
from app.domain.operators import MIN_PASSWORD_LENGTH, Role
from app.domain.proposals.two_persons import OPERATORS

_ROLES = [
    SelectChoice(Role.VIEWER.value, "Viewer: reads everything, changes nothing"),
    SelectChoice(Role.OPERATOR.value, "Operator: also edits the network and blocks"),
    SelectChoice(Role.ADMIN.value, "Admin: also manages accounts, ingest tokens and API keys"),
]


class NewOperatorForm(MayWaitForm):
    """A new account."""

    guarded_section = OPERATORS

    email = EmailField("Email", render_kw={"autocomplete": "off", "required": True})
    password = PasswordField(
        "First password",
        description=f"At least {MIN_PASSWORD_LENGTH} characters. The owner changes it at the first sign-in.",
        render_kw={"autocomplete": "new-password", "required": True},
    )
    role = SelectField("Role", choices=_ROLES)
    second_factor_required = BooleanField(
        "Needs a second factor", description="It is set up at the first sign-in, with an authenticator app."
    )


class OperatorForm(MayWaitForm):
    """What an administrator decides about an account."""

    guarded_section = OPERATORS

    role = SelectField("Role", choices=_ROLES)
    active = BooleanField(
        "May sign in", description="When turned off, every session of the account ends at once."
    )
    second_factor_required = BooleanField(
        "Needs a second factor", description="It is set up at the next sign-in, with an authenticator app."
    )
