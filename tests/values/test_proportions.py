"""How much a number changed, in words."""

from __future__ import annotations

from fractions import Fraction

import pytest

from app.values.differences import leaps, number_text, times_text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Fraction(12), "12"),
        (Fraction(10), "10"),
        (Fraction(1, 4), "0.25"),
        (Fraction(3, 2), "1.5"),
        (Fraction(1, 10_000), "0.0001"),
        (Fraction(4, 3), "about 1.333"),
        (Fraction(1, 3_000_000), "about 0.0000003333"),
        (Fraction(2_000_002, 3), "about 666 700"),
        (Fraction(1_000_001, 100_000), "about 10"),
        (Fraction(10**20), "100 000 000 000 000 000 000"),
        (Fraction(123_456_789), "123 456 789"),
    ],
)
def test_numbers_in_words(number: Fraction, text: str) -> None:
    assert number_text(number) == text


def test_proportion_in_words() -> None:
    assert times_text(5, 60) == "12 times the old one"
    assert times_text(2**255, 2**256) == "2 times the old one"
    assert times_text(60, 5) == "about 0.08333 times the old one"
    assert times_text(0, 5) == "was 0 before"
    assert times_text(5, 0) == "drops to 0"
    assert times_text(0, 0) == "unchanged"


def test_large_changes_are_leaps() -> None:
    assert leaps(1, 5, Fraction(5))
    assert leaps(5, 1, Fraction(5))
    assert not leaps(10, 49, Fraction(5))
    assert leaps(0, 1, Fraction(5))
    assert leaps(1, 0, Fraction(5))
    assert not leaps(0, 0, Fraction(5))
    assert leaps(Fraction(10), Fraction(11), Fraction(11, 10))
