"""Forms that change more than one field of one row: base fees, pasted lists of blocks, stopping a chain."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from flask_wtf.file import FileField
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

LARGEST_LIST: Final = 16 * 1024 * 1024
"""Bytes of a form with a pasted list: a hundred thousand lines with a reason each."""

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


class BlockListForm(PreviewedForm):
    """A pasted list or a file of what shall be blocked, and what counts for lines that do not say it.

    :param columns: what a line may hold; the form has the fields after the first of them.
    :param example: a line.
    """

    file = FileField("Or a CSV file", render_kw={"accept": ".csv,.txt,text/csv,text/plain"})
    text = NoteField("List, one entry per line")
    reason = LineField("Reason", "For operators only. Users never see it.", needed=False)
    source = LineField("Source", "The list or case that it comes from.", needed=False)
    expires_at = EndField()

    def __init__(self, columns: tuple[str, ...], example: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.shared_keys = columns[1:]
        if "source" not in columns:
            del self.source
        self.text.description = (
            f"Columns: {', '.join(columns)}; only the first is required. Separate them by commas or tabs. "
            "Write times as 2027-01-31T00:00:00Z. Lines that begin with # are skipped."
        )
        self.text.render_kw = {"spellcheck": "false", "placeholder": example}

    def validate_file(self, field: FileField) -> None:
        """Put the lines of the file under those that were pasted."""
        if field.data is None:
            return
        try:
            lines = field.data.stream.read(LARGEST_LIST + 1).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ValidationError(
                "The file is not UTF-8 text. Save it as CSV (UTF-8) and choose it again."
            ) from None
        pasted = self.text.text.rstrip()
        self.text.text = f"{pasted}\n{lines}" if pasted else lines

    def validate_text(self, field: NoteField) -> None:
        if not (field.text.strip() or self.file.errors or self.back.data):
            raise ValidationError("Paste at least one line, or choose a file.")

    def shared(self) -> dict[str, Any]:
        """What counts for lines that do not say it, as the network document writes it."""
        return {key: self[key].data for key in self.shared_keys}


class StopChainForm(PreviewedForm):
    """Stopping a chain: why, and its name typed."""

    disabled_reason = ReasonField("Reason", "Other operators see it on every page. Users never see it.")
