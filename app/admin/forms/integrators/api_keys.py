"""The form of a new API key."""

from __future__ import annotations

from typing import Final

from wtforms import SelectMultipleField, StringField
from wtforms.fields.choices import SelectChoice
from wtforms.widgets import CheckboxInput

from app.admin.forms.proposals import MayWaitForm
from app.domain.api_keys import Scope
from app.domain.proposals.two_persons import API_KEYS

SCOPE_WORDS: Final = {
    Scope.READ: "ask the public operations, by the key's own limit",
    Scope.WEBHOOKS: "subscribe to accounts and transfers",
    Scope.ALL_WEBHOOKS: "subscribe to every transfer",
}


class NewKeyForm(MayWaitForm):
    """What a new key is called, what its bearer may do, and how often."""

    guarded_section = API_KEYS
    name = StringField(
        "Name",
        description="Whom it is for. 1 to 64 of a-z, 0-9, ., _ and -. It cannot be reused.",
        filters=[lambda text: (text or "").strip()],
        render_kw={"autocomplete": "off", "required": True, "maxlength": "64"},
    )
    # The service checks what is picked and typed, and words the errors.
    scopes = SelectMultipleField(
        choices=[SelectChoice(scope.value, words) for scope, words in SCOPE_WORDS.items()],
        default=[Scope.READ.value],
        validate_choice=False,
        option_widget=CheckboxInput(),
    )
    rate_limit = StringField(
        "Limit",
        description="Such as 20/second or 100/minute;1000/hour. Leave empty for no limit.",
        filters=[lambda text: (text or "").strip()],
        render_kw={"autocomplete": "off", "spellcheck": "false", "maxlength": "200"},
    )
