"""How much a number changed, in words for people; exact where it can be said in few digits."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import Final

from app.domain.amounts import grouped

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
