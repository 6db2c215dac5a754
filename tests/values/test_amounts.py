"""Amounts and rates: reading, exact arithmetic, and texts for people."""

from __future__ import annotations

import re
import sys
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.values import amounts

UINT256 = 2**256 - 1


@pytest.mark.parametrize(
    ("text", "amount"),
    [("0", 0), ("007", 7), ("1000000", 10**6), (str(UINT256), UINT256), ("0" * 77 + "1", 1)],
)
def test_amounts_that_are_read(text: str, amount: int) -> None:
    assert amounts.parse_uint256(text) == amount


@pytest.mark.parametrize(
    "text",
    [
        "", " 1", "1 ", "+1", "-1", "1_000", "0x10", "1e18", "1.0", "٣", "²", "1\n", "\x00", "\ud800",
        str(UINT256 + 1), "0" * 79, "9" * 5000,
    ],
)  # fmt: skip
def test_amounts_that_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^must (be|have)"):
        amounts.parse_uint256(text)


@given(st.integers(0, UINT256))
def test_amount_reads_back(amount: int) -> None:
    assert amounts.parse_uint256(str(amount)) == amount


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("1", Fraction(1)),
        ("1.000001", Fraction(1000001, 10**6)),
        ("0.5", Fraction(1, 2)),
        ("01.50", Fraction(3, 2)),
    ],
)
def test_rates_that_are_read(text: str, rate: Fraction) -> None:
    assert amounts.parse_decimal(text) == rate


@pytest.mark.parametrize("text", ["", ".", "1.", ".5", "1.2.3", "-1", "1e3", "٣.1", "1,5", "nan", "1" * 79])
def test_rates_that_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^must (be|have)"):
        amounts.parse_decimal(text)


@given(st.integers(0, 2**300), st.integers(0, 2**300), st.integers(1, 2**300))
def test_division_rounds_down_or_up(a: int, b: int, divisor: int) -> None:
    exact = Fraction(a * b, divisor)
    assert 0 <= exact - amounts.mul_div_down(a, b, divisor) < 1
    assert 0 <= amounts.mul_div_up(a, b, divisor) - exact < 1


@given(st.integers(0, 2**300), st.integers(0, 10**6))
def test_ppm_rounds_up(amount: int, ppm: int) -> None:
    assert 0 <= amounts.ppm_up(amount, ppm) - Fraction(amount * ppm, 10**6) < 1


@given(st.integers(0, 2**256), st.integers(0, 36), st.integers(0, 36))
def test_scaling_between_decimals(amount: int, src: int, dst: int) -> None:
    exact = Fraction(amount) * Fraction(10) ** (dst - src)
    assert 0 <= exact - amounts.scale_down(amount, src, dst) < 1
    up, down = amounts.scale_factors(src, dst)
    assert Fraction(amount * up, down) == exact
    assert 1 in (up, down)


@pytest.mark.parametrize(
    ("amount", "decimals", "text"),
    [
        (1234500000, 6, "1234.5"),
        (1, 18, "0.000000000000000001"),
        (10**18, 18, "1"),
        (0, 6, "0"),
        (120, 0, "120"),
        (-1500000, 6, "-1.5"),
        (UINT256, 0, str(UINT256)),
    ],
)
def test_amounts_for_people(amount: int, decimals: int, text: str) -> None:
    assert amounts.format_units(amount, decimals) == text


@given(st.integers(-(2**256), 2**256), st.integers(0, 36))
def test_amounts_for_people_are_exact(amount: int, decimals: int) -> None:
    text = amounts.format_units(amount, decimals)
    assert Fraction(text) == Fraction(amount, 10**decimals)
    assert "." not in text or text[-1] not in "0."


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (-1_204, "-1 204"),
        (10**9, "1 000 000 000"),
        (Decimal("1204.50"), "1 204.50"),
        (Decimal("1E+3"), "1 000"),
    ],
)
def test_thousands_are_grouped_by_spaces(number: int | Decimal, text: str) -> None:
    assert amounts.grouped(number) == text


def test_tokens_text_shows_amount_and_symbol() -> None:
    texts = [
        amounts.tokens_text(amount, 6, "USDT") for amount in (1_234_500_000, -1_234_500_000, -500_000, 0)
    ]
    assert texts == ["1 234.5 USDT", "-1 234.5 USDT", "-0.5 USDT", "0 USDT"]


def test_nothing_else_groups_thousands() -> None:
    """The console and the commands write numbers in one way."""
    app = Path(amounts.__file__).parents[1]
    found = [path.name for path in app.rglob("*.py") if re.search(r":,[fd]?\}", path.read_text())]
    assert found == ["amounts.py"]


def test_rate_for_people() -> None:
    assert amounts.rate_as_number(Fraction(1000001, 10**6)) == 1.000001
    assert amounts.rate_as_number(Fraction(10**400)) == sys.float_info.max
