"""Fields for times, typed in the reader's zone, into which the page's script puts them; or in UTC."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from app.admin.forms.fields import TextValueField

_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MINUTE: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d", re.ASCII)
_OFFSET: Final = re.compile(r"([Zz]|[+-]\d\d:\d\d)$", re.ASCII)


class EndField(TextValueField):
    """When a block ends, as the network document writes times; empty is never.

    The page's script lets it be typed in the reader's zone, like every other time of the console.
    """

    attributes: Mapping[str, str] = {
        **TextValueField.attributes,
        "data-utc": "",
        "placeholder": "2027-01-31 18:00",
    }
    zoned = True

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("Ends", "Empty: never.", **kwargs)

    def parse(self, text: str) -> str | None:
        found = text.strip().removesuffix("UTC").strip()
        if not found:
            return None
        if _DAY.fullmatch(found):
            found += " 00:00:00Z"
        elif _MINUTE.fullmatch(found):
            found += ":00Z"
        return found if _OFFSET.search(found) else f"{found}Z"

    def format(self, value: str | None) -> str:
        return "" if value is None else value.replace("T", " ").removesuffix("Z")
