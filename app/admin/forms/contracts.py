"""A field of several contracts, a line each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wtforms.widgets import TextArea

from app.admin.forms.fields import TextValueField


class ContractsField(TextValueField):
    """Accounts or contracts, a line each."""

    widget = TextArea()
    attributes: Mapping[str, str] = {**TextValueField.attributes, "rows": "2"}

    def __init__(self, label: str, description: str = "", **kwargs: Any) -> None:
        super().__init__(label, description, default=[], **kwargs)

    def parse(self, text: str) -> list[str]:
        return [line.strip() for line in text.splitlines() if line.strip()]

    def format(self, value: list[str] | None) -> str:
        return "\n".join(value or ())
