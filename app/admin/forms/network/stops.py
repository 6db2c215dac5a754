"""The form that stops several chains, or resumes them."""

from __future__ import annotations

from typing import Any, Final

from werkzeug.datastructures import MultiDict
from wtforms import HiddenField

from app.admin.forms.base import PreviewedForm
from app.admin.forms.fields import ReasonField
from app.admin.network_names import chain_names
from app.domain.amounts import is_ascii_digits
from app.services.network.edits.stops import Switch

PICKED: Final = "chain"
"""The name of the inputs that hold the chains."""


class SwitchChainsForm(PreviewedForm):
    """Which chains, why, and what has to be typed."""

    disabled_reason = ReasonField("Reason", "Other operators see it on every page. Users never see it.")
    chain = HiddenField()

    def __init__(self, *, stop: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stop = stop

    def picked(self, given: MultiDict[str, str]) -> Switch:
        """The chains that the request names; with ``all`` every chain."""
        if given.get("all"):
            return Switch(frozenset(chain_names()), self.stop)
        texts = (text for text in given.getlist(PICKED) if is_ascii_digits(text) and len(text) < 20)
        return Switch(frozenset(map(int, texts)), self.stop)
