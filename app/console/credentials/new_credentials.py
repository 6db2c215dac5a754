"""The forms of new keys and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from wtforms import BooleanField, SelectMultipleField, StringField
from wtforms.fields.choices import SelectChoice
from wtforms.validators import NumberRange, Optional
from wtforms.widgets import CheckboxInput

from app.accounts.rules.proposal import API_KEYS, INGEST_TOKENS
from app.console.proposals import MayWaitForm
from app.console.shell.forms.numbers import CountField
from app.credentials.rules.api_key import Scope
from app.credentials.services.issued import CredentialRefused
from app.credentials.services.issuing import TokenTerms, Wanted, new_key, new_token
from app.transfers.rules.events.events import REPORTED

SCOPE_WORDS: Final = {
    Scope.READ: "ask the public operations, by the key's own limit",
    Scope.WEBHOOKS: "subscribe to accounts and transfers",
    Scope.ALL_WEBHOOKS: "subscribe to every transfer",
}

MAX_DAYS: Final = 3650
"""The longest that a token made in the console is valid: ten years."""

_LONGEST: Final = 20
"""Digits of a chain id at most."""


def _name(description: str) -> StringField:
    return StringField(
        "Name",
        description=f"{description} 1 to 64 of a-z, 0-9, ., _ and -. It cannot be reused.",
        filters=[lambda text: (text or "").strip()],
        render_kw={"autocomplete": "off", "required": True, "maxlength": "64"},
    )


class NewKeyForm(MayWaitForm):
    """The name of a new key, what its bearer may do, and its limit."""

    guarded_section = API_KEYS
    name = _name("Whom it is for.")
    # The service checks what is chosen and typed, and words the errors.
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

    def wanted(self, _now: datetime) -> Wanted:
        """The key in the filled form.

        :raises CredentialRefused: such a key is not possible.
        """
        return new_key(self.name.data, self.scopes.data, self.rate_limit.data)


class NewTokenForm(MayWaitForm):
    """The name of a new token, and what its bearer may report.

    :param chains: the names of the chains that are offered, by id.
    """

    guarded_section = INGEST_TOKENS
    name = _name("Shown on every event.")
    every_type = BooleanField("All event types, including types added later")
    every_chain = BooleanField("All chains, including chains added later")
    # The service checks what is chosen, and words the errors.
    types = SelectMultipleField(
        choices=[SelectChoice(name) for name in REPORTED],
        validate_choice=False,
        option_widget=CheckboxInput(),
    )
    chains = SelectMultipleField(validate_choice=False, option_widget=CheckboxInput())

    days = CountField(
        "Valid for (days)",
        description="Leave empty for no expiry.",
        validators=[Optional(), NumberRange(1, MAX_DAYS)],
        render_kw={"inputmode": "numeric"},
    )
    quota_events = CountField(
        "Maximum new events",
        description="Leave empty for no limit. All tokens of a reporter count together.",
        validators=[Optional()],
        render_kw={"inputmode": "numeric"},
    )
    quota_seconds = CountField(
        "Quota period (seconds)",
        description="For example 3600: the maximum counts for each full hour.",
        validators=[Optional()],
        render_kw={"inputmode": "numeric"},
    )

    def __init__(self, chains: Mapping[int, str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.chains.choices = [SelectChoice(str(chain_id), name) for chain_id, name in chains.items()]

    def validate(self, extra_validators: Any = None) -> bool:
        """Require a choice of what the token allows: nothing ticked may be a mistake, and would allow all."""
        whole = super().validate(extra_validators)
        pairs = ((self.types, self.every_type, "event types"), (self.chains, self.every_chain, "chains"))
        for picked, every, things in pairs:
            if bool(picked.data) is bool(every.data):
                picked.errors = [
                    f"Choose either all {things} or single ones, not both."
                    if every.data
                    else f"Select the {things} that the token allows, or all of them."
                ]
                whole = False
        return whole

    def wanted(self, now: datetime) -> Wanted:
        """The token in the filled form.

        :raises CredentialRefused: such a token is not possible.
        """
        days, picked = self.days.data, self.chains.data
        if not all(chain.isascii() and chain.isdecimal() and len(chain) <= _LONGEST for chain in picked):
            raise CredentialRefused("Choose chains from the list: reload the page and try again.")
        terms = TokenTerms(
            expires_at=None if days is None else now + timedelta(days=days),
            quota_events=self.quota_events.data,
            quota_seconds=self.quota_seconds.data,
        )
        return new_token(self.name.data, self.types.data, map(int, picked), terms)
