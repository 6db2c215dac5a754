"""Forms that change more than one field of one row: base fees, blocks, stopping a chain."""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from typing import Any, Final

from wtforms import ValidationError

from app.admin.forms.amounts import AmountField, UnitOf
from app.admin.forms.base import PreviewedForm
from app.admin.forms.ends import EndField
from app.admin.forms.fields import (
    ChainField,
    ChoiceField,
    LineField,
    NoteField,
    ReasonField,
    SymbolField,
    TextValueField,
)
from app.admin.forms.numbers import number_text
from app.domain.amounts import grouped
from app.services.network.edits.fees import FeeEdit

LARGEST_LIST: Final = 8 * 1024 * 1024
"""Bytes of a form with a hundred thousand addresses or networks."""

_LARGEST_FACTOR: Final = 1_000_000
_CHANGES: Final = [
    ("factor", "Multiply each fee by a factor"),
    ("amount", "Set the same fee on all routes of the token"),
]


class _FactorField(TextValueField):
    """A factor of fees."""

    def parse(self, text: str) -> Fraction:
        factor = Fraction(number_text(text, "1.5"))
        if not 0 < factor <= _LARGEST_FACTOR:
            raise ValueError(f"Enter a factor above 0 and at most {grouped(_LARGEST_FACTOR)}.")
        return factor


class _DestinationField(ChainField):
    """The chain of the fees."""

    complaint = "Choose the destination chain."
    longest = 18


class _ChangeField(ChoiceField):
    """What to do with the fees."""

    choices = staticmethod(lambda: _CHANGES)
    complaint = "Choose how to change the fees."


class BaseFeesForm(PreviewedForm):
    """New base fees for the routes to one chain."""

    dst_chain_id = _DestinationField("Destination chain", empty="Choose …")
    symbol = SymbolField(
        "Token",
        "To set a fee, choose one token: each token has its own unit. Fees of all tokens can be multiplied.",
        needed=False,
        empty="All tokens",
    )
    how = _ChangeField("Change", empty="Choose …")
    factor = _FactorField(
        "Factor",
        "Such as 1.5 or 0.8. New fees are rounded up to a whole smallest unit.",
        only_for=("how", "factor"),
    )
    amount = AmountField(
        "New base fee",
        "In the destination token.",
        unit_of=UnitOf("dst_chain_id"),
        only_for=("how", "amount"),
    )

    def validate_symbol(self, field: SymbolField) -> None:
        if self.how.text == "amount" and not field.data:
            raise ValidationError("Choose a token: each token has its own unit.")

    def edit(self) -> FeeEdit:
        """What is asked for. Only after ``validate`` was true."""
        by_amount = self.how.data == "amount"
        return FeeEdit(
            self.dst_chain_id.data,
            self.symbol.data or None,
            int(self.amount.data) if by_amount else None,
            None if by_amount else self.factor.data,
        )


class BlocksForm(PreviewedForm):
    """Addresses or networks to block, one per line, and what counts for all of them.

    :param names: how the lines are called.
    :param keys: the other keys of the row, as the network document has them.
    """

    text = NoteField()
    reason = NoteField("Reason", "For operators only. Users never see it.")
    source = LineField("Source", "The list or case that it comes from.", needed=False)
    expires_at = EndField()

    def __init__(self, names: str, description: str, keys: Collection[str], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if "source" not in keys:
            del self.source
        self.text.label.text = names
        self.text.description = description
        self.text.render_kw = {"spellcheck": "false", "rows": "8"}

    def validate_text(self, field: NoteField) -> None:
        if not (field.text.strip() or self.back.data):
            raise ValidationError("Enter at least one.")

    def shared_fields(self) -> list[TextValueField]:
        """The fields of what counts for all lines."""
        return [field for field in self.value_lines() if field.name != self.text.name]

    def shared(self) -> dict[str, Any]:
        """What counts for all lines, as the network document writes it."""
        return {field.name: field.data for field in self.shared_fields()}


class StopChainForm(PreviewedForm):
    """Stopping a chain: why, and its name typed."""

    disabled_reason = ReasonField("Reason", "Other operators see it on every page. Users never see it.")
