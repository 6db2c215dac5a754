"""The form of a new ingest token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wtforms import SelectMultipleField, StringField
from wtforms.fields.choices import SelectChoice
from wtforms.widgets import CheckboxInput

from app.admin.forms.proposals import MayWaitForm
from app.domain.proposals.two_persons import INGEST_TOKENS
from app.services.feed.tokens import TYPES, TokenRefused


class NewTokenForm(MayWaitForm):
    """What a new token is called, and what its bearer may report.

    :param chains: the names of the chains that are offered, by id.
    """

    guarded_section = INGEST_TOKENS
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

    def __init__(self, chains: Mapping[int, str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.chains.choices = [SelectChoice(str(chain_id), name) for chain_id, name in chains.items()]

    def chain_ids(self) -> list[int]:
        """The chains that are picked.

        :raises TokenRefused: one is not named by its id.
        """
        picked = self.chains.data
        if not all(chain.isascii() and chain.isdecimal() for chain in picked):
            raise TokenRefused("A chain is named by its id: load the page again.")
        return [int(chain) for chain in picked]
