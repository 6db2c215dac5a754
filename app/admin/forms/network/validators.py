"""The opening validators of a chain, a line each."""

from __future__ import annotations

from typing import Any, Final

from app.admin.forms.base import PreviewedForm
from app.admin.forms.fields import NoteField
from app.admin.forms.numbers import whole_digits
from app.domain.amounts import grouped

_MOST: Final = 1000


class ValidatorsField(NoteField):
    """Signers with their powers."""

    def __init__(self, label: str, description: str = "", **kwargs: Any) -> None:
        help_text = (
            "One validator per line: the signer's address, a space, and its power. They sign the refunds on "
            f"the chain. {description}"
        )
        super().__init__(label, help_text, **kwargs)

    def members(self, chain_id: int) -> list[dict[str, Any]]:
        """The members as the document writes them. What is wrong stands beside the input afterwards."""
        rows, errors = [], []
        for number, words in enumerate((line.split() for line in self.text.splitlines()), 1):
            if not words:
                continue
            power = whole_digits(" ".join(words[1:]))
            if power is None:
                errors.append(f"Line {number}: enter an address, a space, and a whole number.")
            else:
                rows.append({"chain_id": chain_id, "signer": words[0], "power": power})
        if len(rows) > _MOST:
            errors.append(f"Enter at most {grouped(_MOST)} lines.")
        own: Any = self
        own.errors = [*own.errors, *errors]
        return rows


class OpeningForm(PreviewedForm):
    """The opening set of a chain."""

    validators = ValidatorsField("Opening validators", "Leave empty if none is known.")
