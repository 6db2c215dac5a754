"""The differences between two versions of one thing, and how much a number changed, in words for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any, Final

from msgspec import Struct

from app.values.amounts import grouped


class FieldDifference(Struct, frozen=True):
    """One field, named like ``rate.value`` or ``perc_fee_tiers[1].ppm``, before and after as text.

    ``None``: the field did not exist, or does not exist any more.
    """

    field: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.field}: {self.after}"
        return f"{self.field}: {self.before} → {self.after if self.after is not None else '(gone)'}"


def difference(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> tuple[FieldDifference, ...]:
    """The fields that differ, in the order of the newer version; all fields of what is created or removed."""
    old, new = dict(_leaves("", before)), dict(_leaves("", after))
    names = [*new, *(name for name in old if name not in new)]
    return tuple(
        FieldDifference(name, old.get(name), new.get(name))
        for name in names
        if old.get(name) != new.get(name)
    )


def _leaves(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every value without parts, with its path; an empty list or object is such a value."""
    if isinstance(value, Mapping) and (value or not path):
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}" if path else str(key), inner)
    elif isinstance(value, list | tuple) and value:
        for index, inner in enumerate(value):
            yield from _leaves(f"{path}[{index}]", inner)
    elif path:
        yield path, _shown(value)


def _shown(value: Any) -> str:
    """Text as it is; empty text and other values as JSON."""
    return value if isinstance(value, str) and value else json.dumps(value)


SIGNIFICANT_DIGITS: Final = 4


def number_text(number: Fraction) -> str:
    """A positive number as ``12``, ``0.25`` or, where it has no short decimal form, ``about 1.333``."""
    scaled = number * 10**SIGNIFICANT_DIGITS
    if scaled.denominator == 1:
        return _plain(Decimal(scaled.numerator).scaleb(-SIGNIFICANT_DIGITS))
    rounded = Context(prec=SIGNIFICANT_DIGITS).divide(Decimal(number.numerator), Decimal(number.denominator))
    return f"about {_plain(rounded)}"


def _plain(number: Decimal) -> str:
    text = grouped(number)
    return text.rstrip("0").rstrip(".") if "." in text else text


def times_text(old: int | Fraction, new: int | Fraction) -> str:
    """``12 times the old one``; other words where one of them is 0. Neither is negative."""
    if not old:
        return "was 0 before" if new else "unchanged"
    if not new:
        return "drops to 0"
    return f"{number_text(Fraction(new) / Fraction(old))} times the old one"


def leaps(old: int | Fraction, new: int | Fraction, factor: Fraction) -> bool:
    """Whether one of two numbers, neither negative, is the other times ``factor`` or more."""
    low, high = sorted((Fraction(old), Fraction(new)))
    return high > 0 and low * factor <= high
