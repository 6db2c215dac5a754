"""The form of a new ingest token."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from wtforms import BooleanField, SelectMultipleField, StringField
from wtforms.fields.choices import SelectChoice
from wtforms.validators import NumberRange, Optional
from wtforms.widgets import CheckboxInput

from app.admin.forms.numbers import CountField
from app.admin.forms.proposals import MayWaitForm
from app.domain.proposals.two_persons import INGEST_TOKENS
from app.services.reporters.new_tokens import TokenTerms
from app.services.reporters.tokens import TYPES, TokenRefused

MAX_DAYS: Final = 3650
"""The longest that a token made in the console is valid: ten years."""

_LONGEST: Final = 20
"""Digits of a chain id at most."""


class NewTokenForm(MayWaitForm):
    """What a new token is called, and what its bearer may report.

    :param chains: the names of the chains that are offered, by id.
    """

    guarded_section = INGEST_TOKENS
    name = StringField(
        "Name",
        description="Shown on every event. 1 to 64 of a-z, 0-9, ., _ and -. It cannot be reused.",
        filters=[lambda text: (text or "").strip()],
        render_kw={"autocomplete": "off", "required": True, "maxlength": "64"},
    )
    every_type = BooleanField("All event types, including types added later")
    every_chain = BooleanField("All chains, including chains added later")
    # The service checks what is picked, and words the errors.
    types = SelectMultipleField(
        choices=[SelectChoice(name) for name in TYPES], validate_choice=False, option_widget=CheckboxInput()
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
        """What a token allows is always chosen: nothing ticked may be a mistake, and would allow all."""
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

    def terms(self, now: datetime) -> TokenTerms:
        """Until when the token is valid, and how much may be reported with it."""
        days = self.days.data
        return TokenTerms(
            expires_at=None if days is None else now + timedelta(days=days),
            quota_events=self.quota_events.data,
            quota_seconds=self.quota_seconds.data,
        )

    def chain_ids(self) -> list[int]:
        """The chains that are picked.

        :raises TokenRefused: one is not named by its id.
        """
        picked = self.chains.data
        if not all(chain.isascii() and chain.isdecimal() and len(chain) <= _LONGEST for chain in picked):
            raise TokenRefused("Choose chains from the list: reload the page and try again.")
        return [int(chain) for chain in picked]
