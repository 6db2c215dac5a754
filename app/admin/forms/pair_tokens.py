"""What a pegged pair says of one of its tokens: a compound field of the pair's form."""

from __future__ import annotations

from typing import Any

from wtforms import Form, FormField
from wtforms.utils import unset_value

from app.admin.forms.fields import FieldIds, FlagField, LineField, WholeField


class _PairTokenForm(Form):
    """The inputs of a pair's token; an empty one is as the chain's token has it."""

    Meta = FieldIds
    partial = True
    name = LineField("Name", "Leave empty to use the chain's token.", needed=False)
    address = LineField(
        "Contract",
        "Only where the pair uses another contract than the chain's token. Refunds are paid in this one.",
        needed=False,
    )
    decimal = WholeField(
        "Decimals", "Required with the contract where the chain does not have the token.", needed=False
    )
    icon = LineField("Icon", "https URL of an image.", needed=False)
    xfer_disabled = FlagField("Pair stopped", "No estimates are given for this pair, in either direction.")


class PairTokenField(FormField):
    """The keys that a pair has of its own for a token.

    :param whose: such as ``Original token``, which begins the label of each input.
    """

    def __init__(self, whose: str, **kwargs: Any) -> None:
        self.whose = whose
        self._given: dict[str, Any] = {}
        super().__init__(_PairTokenForm, separator="_", default=dict, **kwargs)

    def process(self, formdata: Any, data: Any = unset_value, extra_filters: Any = None) -> None:
        super().process(formdata, data, extra_filters)
        self._given = {} if data is unset_value else dict(data)
        for field in self.form:
            field.label.text = f"{self.whose}: {field.label.text.lower()}"

    @property
    def data(self) -> dict[str, Any]:
        """What was typed, with what the row has that no input is for. An icon may be empty on purpose."""
        typed = {field.short_name: field.data for field in self.form}
        said = {key: value for key, value in typed.items() if not (value is None or value is False)}
        kept = {key: value for key, value in self._given.items() if key not in typed}
        return kept | {key: value for key, value in said.items() if value != "" or self._given.get(key) == ""}
