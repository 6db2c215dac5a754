"""Forms that change more than one field of one row: base fees, pasted lists of blocks, stopping a chain."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from flask_wtf.file import FileField
from wtforms import ValidationError

from app.admin.forms.base import PreviewedForm
from app.admin.forms.fields import (
    ChainField,
    ChoiceField,
    LineField,
    NoteField,
    ReasonField,
    SymbolField,
    TextValueField,
)
from app.admin.forms.times import EndField
from app.domain.amounts import is_ascii_digits, parse_decimal
from app.services.network.edits.fees import FeeEdit

LARGEST_LIST: Final = 16 * 1024 * 1024
"""Bytes of a form with a pasted list: a hundred thousand lines with a reason each."""

_LARGEST_FACTOR: Final = 1_000_000
_CHANGES: Final = [
    ("factor", "Multiply each fee by a factor"),
    ("amount", "Set one fee for all routes of the token"),
]


class _FactorField(TextValueField):
    """A factor of fees."""

    def parse(self, text: str) -> Fraction:
        try:
            factor = parse_decimal(text.strip())
        except ValueError:
            raise ValueError("must be a decimal number such as 1.5, with a point") from None
        if not 0 < factor <= _LARGEST_FACTOR:
            raise ValueError(f"must be more than 0, and at most {_LARGEST_FACTOR}")
        return factor


class _FeeField(TextValueField):
    """A base fee in smallest units."""

    attributes = {"autocomplete": "off", "inputmode": "numeric"}

    def parse(self, text: str) -> int:
        digits = "".join(text.split())
        if not is_ascii_digits(digits) or len(digits) > 78:
            raise ValueError("must be a whole number of the destination token's smallest units")
        return int(digits)


class _DestinationField(ChainField):
    """The chain of the fees."""

    complaint = "choose the chain that the transfers go to"
    longest = 18


class _ChangeField(ChoiceField):
    """What to do with the fees."""

    choices = staticmethod(lambda: _CHANGES)
    complaint = "choose what to do with the fees"


class BaseFeesForm(PreviewedForm):
    """New base fees for the routes to one chain."""

    dst_chain_id = _DestinationField("Destination chain", empty="choose …")
    symbol = SymbolField(
        "Token",
        "With all tokens the fees can be multiplied, not set: each token has units of its own.",
        needed=False,
        empty="all tokens",
    )
    how = _ChangeField("What to do", empty="choose …")
    factor = _FactorField(
        "Factor",
        "Such as 1.5 or 0.8. Fees are rounded up to whole smallest units.",
        only_for=("how", "factor"),
    )
    amount = _FeeField(
        "New base fee",
        "In the destination token's smallest units.",
        unit_of="dst_chain_id",
        only_for=("how", "amount"),
    )

    def validate_symbol(self, field: SymbolField) -> None:
        if self.how.text == "amount" and not field.data:
            raise ValidationError("choose a token: each has a fee in units of its own")

    def edit(self) -> FeeEdit:
        """What is asked for. Only after ``validate`` was true."""
        by_amount = self.how.data == "amount"
        return FeeEdit(
            self.dst_chain_id.data,
            self.symbol.data or None,
            self.amount.data if by_amount else None,
            None if by_amount else self.factor.data,
        )


class BlockListForm(PreviewedForm):
    """A pasted list or a file of what shall be blocked, and what counts for lines that do not say it.

    :param columns: what a line may hold; the form has the fields after the first of them.
    :param example: a line.
    """

    file = FileField("Or a CSV file", render_kw={"accept": ".csv,.txt,text/csv,text/plain"})
    text = NoteField("One a line")
    reason = LineField("Reason", "For operators. Users are never told.", needed=False)
    source = LineField("Source", "Which list or case it comes from.", needed=False)
    expires_at = EndField()

    def __init__(self, columns: tuple[str, ...], example: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.shared_keys = columns[1:]
        if "source" not in columns:
            del self.source
        self.text.description = (
            f"A line is {', '.join(columns)}; only the first is needed. Commas or tabs part the cells. "
            "Times look like 2027-01-31T00:00:00Z. Lines that begin with # are skipped."
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
                "The file is no text in UTF-8: save it as CSV (UTF-8) and send it again."
            ) from None
        pasted = self.text.text.rstrip()
        self.text.text = f"{pasted}\n{lines}" if pasted else lines

    def validate_text(self, field: NoteField) -> None:
        if not (field.text.strip() or self.file.errors or self.back.data):
            raise ValidationError("paste at least one line, or choose a file")

    def shared(self) -> dict[str, Any]:
        """What counts for lines that do not say it, as the network document writes it."""
        return {key: self[key].data for key in self.shared_keys}


class StopChainForm(PreviewedForm):
    """Stopping a chain: why, and its name typed."""

    disabled_reason = ReasonField("Reason", "Other operators will ask. Users are never told.")
