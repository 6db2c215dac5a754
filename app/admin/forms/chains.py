"""A chain that may not be configured yet: picked from the list, or given by its id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from wtforms.utils import unset_value

from app.admin.forms.fields import ChainField, TextValueField, bound_beside
from app.admin.network_names import Choices, chain_choices
from app.domain.amounts import is_ascii_digits

OTHER: Final = "other"


class _OtherId(TextValueField):
    """The id of a chain that is not in the list."""

    attributes = {**TextValueField.attributes, "inputmode": "numeric"}


class AnyChainField(ChainField):
    """One of the configured chains, or any other by its id."""

    def __init__(self, label: str, description: str = "", **kwargs: Any) -> None:
        self.other = _OtherId(f"{label}: chain ID", default="", **bound_beside(kwargs, OTHER))
        super().__init__(label, description, **kwargs)

    @property
    def companions(self) -> Iterable[TextValueField]:
        return (self.other,)

    def choices(self) -> Choices:
        """The chains, and the way to another one."""
        return [*chain_choices(), (OTHER, "another chain, by its ID …")]

    def process(self, formdata: Any, data: Any = unset_value, extra_filters: Any = None) -> None:
        self.other.process(formdata if formdata is not None and self.other.name in formdata else None)
        super().process(formdata, data, extra_filters)

    def parse(self, text: str) -> int:
        return super().parse(self.other.text.strip() if text == OTHER else text)

    @property
    def called(self) -> str:
        return f"chain {self.other.text}" if self.text == OTHER else super().called

    def settle(self) -> None:
        """Show an id that is not in the list beside it."""
        if is_ascii_digits(self.text) and self.text not in dict(chain_choices()):
            self.text, self.other.text = OTHER, self.text
