"""The form of a new ingest token."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from wtforms import IntegerField, SelectMultipleField, StringField
from wtforms.fields.choices import SelectChoice
from wtforms.validators import NumberRange, Optional
from wtforms.widgets import CheckboxInput

from app.admin.forms.base import ConsoleForm
from app.services.feed.tokens import TYPES, TokenRefused, TokenTerms

MAX_DAYS: Final = 3650
"""The longest that a token made in the console is valid: ten years."""


class NewTokenForm(ConsoleForm):
    """What a new token is called, and what its bearer may report.

    :param chains: the names of the chains that are offered, by id.
    """

    name = StringField(
        "Name",
        description="It stands on every event of its bearer and is never given again: a-z, 0-9, ., _ and -.",
        filters=[lambda text: (text or "").strip()],
        render_kw={"autocomplete": "off", "required": True, "maxlength": "64"},
    )
    # The service checks what is picked, and words the errors.
    types = SelectMultipleField(
        choices=[SelectChoice(name) for name in TYPES], validate_choice=False, option_widget=CheckboxInput()
    )
    chains = SelectMultipleField(validate_choice=False, option_widget=CheckboxInput())

    days = IntegerField(
        "Valid for days",
        description="Empty: until it is revoked.",
        validators=[Optional(), NumberRange(1, MAX_DAYS)],
        render_kw={"inputmode": "numeric"},
    )
    quota_events = IntegerField(
        "New events at most",
        description="Empty: as many as come. Both tokens of a reporter count together.",
        validators=[Optional()],
        render_kw={"inputmode": "numeric"},
    )
    quota_seconds = IntegerField(
        "in so many seconds",
        description="3600: each full hour.",
        validators=[Optional()],
        render_kw={"inputmode": "numeric"},
    )

    def __init__(self, chains: Mapping[int, str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.chains.choices = [SelectChoice(str(chain_id), name) for chain_id, name in chains.items()]

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
        if not all(chain.isascii() and chain.isdecimal() for chain in picked):
            raise TokenRefused("A chain is named by its id: load the page again.")
        return [int(chain) for chain in picked]
