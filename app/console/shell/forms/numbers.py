"""Reads numbers and times as people type them, or copy them from a page. All forms use it.

Pages group digits by spaces, so every form accepts them grouped.
"""

from __future__ import annotations

import re
from typing import Final

from wtforms import IntegerField, ValidationError
from wtforms.widgets import TextInput

from app.values.amounts import is_ascii_digits

_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_MINUTE: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d", re.ASCII)
_OFFSET: Final = re.compile(r"([Zz]|[+-]\d\d:\d\d)$", re.ASCII)


def written_time(text: str) -> str | None:
    """A typed day or time in UTC as the network document writes it; None where nothing is typed."""
    found = text.strip().removesuffix("UTC").strip()
    if not found:
        return None
    if _DAY.fullmatch(found):
        found += " 00:00:00Z"
    elif _MINUTE.fullmatch(found):
        found += ":00Z"
    return found if _OFFSET.search(found) else f"{found}Z"


LONGEST_NUMBER: Final = 120
"""Characters, without what groups them."""

_LONGEST_WHOLE: Final = 20


def without_spaces(text: str) -> str:
    """A typed or copied number without what groups its digits: spaces of any width, and underlines."""
    return "".join(text.split()).replace("_", "")


def whole_digits(text: str) -> str | None:
    """The digits of a whole number; None where the text is not one."""
    digits = without_spaces(text)
    return digits if is_ascii_digits(digits) else None


def number_text(text: str | None, example: str) -> str:
    """A decimal number as digits with at most one point, without the spaces between its thousands.

    :raises ValidationError: it is no number.
    """
    joined = without_spaces(text or "")
    if not joined:
        raise ValidationError(f"Enter a number, such as {example}.")
    if "," in joined:
        raise ValidationError(f"Enter the number without commas and with a decimal point, such as {example}.")
    whole, point, fraction = joined.partition(".")
    good = is_ascii_digits(whole) and (not point or is_ascii_digits(fraction))
    if not good or len(joined) > LONGEST_NUMBER:
        raise ValidationError(f"“{joined[:60]}” is not a number. Enter digits, such as {example}.")
    return joined


def exact(text: str, places: int, whose: str) -> int:
    """The decimal number times 10^places.

    :raises ValidationError: it has more places; it is never rounded.
    """
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    if len(fraction) > places:
        raise ValidationError(f"{whose} {places} decimals. Enter at most {places} digits after the point.")
    return int(whole + fraction.ljust(places, "0"))


class CountField(IntegerField):
    """A whole number in a form that is not about a row of the network."""

    widget = TextInput()  # an input of type number accepts no spaces

    def process_formdata(self, valuelist: list[str]) -> None:
        if not valuelist:
            return
        digits = whole_digits(valuelist[0])
        if digits is None or len(digits) > _LONGEST_WHOLE:
            self.data = None
            raise ValueError("Enter a whole number, digits only.")
        self.data = int(digits)
