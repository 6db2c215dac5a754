"""Amounts: integers in a token's smallest units, scaled and divided without a float.

The name of every division says whether it rounds up or down. Rates are ``Fraction`` and become a float only
for people (``rate_as_number``).
"""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction
from typing import Final

MAX_UINT256: Final = 2**256 - 1
MAX_UINT256_DIGITS: Final = 78
PPM: Final = 1_000_000
MAX_RATE_DIGITS: Final = 78


def parse_uint256(text: str) -> int:
    """Read an amount from text: only ASCII digits, at most 78 of them, at most 2^256-1.

    :raises ValueError: with a sentence for people.
    """
    if not is_ascii_digits(text):
        raise ValueError("must be a whole number in the digits 0 to 9")
    if len(text) > MAX_UINT256_DIGITS:
        raise ValueError(f"must have at most {MAX_UINT256_DIGITS} digits")
    amount = int(text)
    if amount > MAX_UINT256:
        raise ValueError("must be at most 2^256-1")
    return amount


def parse_decimal(text: str) -> Fraction:
    """Read a configured rate such as ``1.000001``: digits with at most one point inside.

    :raises ValueError: with a sentence for people.
    """
    whole, point, decimals = text.partition(".")
    if not is_ascii_digits(whole) or (point and not is_ascii_digits(decimals)):
        raise ValueError("must be a decimal number such as 1.000001")
    if len(whole) + len(decimals) > MAX_RATE_DIGITS:
        raise ValueError(f"must have at most {MAX_RATE_DIGITS} digits")
    return Fraction(int(whole + decimals), 10 ** len(decimals))


def is_uint256(value: int) -> bool:
    return 0 <= value <= MAX_UINT256


def is_ascii_digits(text: str) -> bool:
    """Whether ``text`` is one or more of 0 to 9: ``str.isdigit`` also accepts ``²`` and ``٣``."""
    return text.isascii() and text.isdigit()


def mul_div_down(a: int, b: int, divisor: int) -> int:
    return a * b // divisor


def mul_div_up(a: int, b: int, divisor: int) -> int:
    return -(-a * b // divisor)


def ppm_up(amount: int, ppm: int) -> int:
    """``ppm`` parts per million of ``amount``, rounded up."""
    return -(-amount * ppm // PPM)


def scale_factors(src_decimals: int, dst_decimals: int) -> tuple[int, int]:
    """``(up, down)``: an amount in source units is ``amount * up / down`` in destination units.

    One of the two is 1, so a multiplication by ``up`` is exact.
    """
    if dst_decimals >= src_decimals:
        return 10 ** (dst_decimals - src_decimals), 1
    return 1, 10 ** (src_decimals - dst_decimals)


def scale_down(amount: int, src_decimals: int, dst_decimals: int) -> int:
    """``amount`` in the units of a token with ``dst_decimals``, rounded down."""
    up, down = scale_factors(src_decimals, dst_decimals)
    return amount * up // down


def format_units(amount: int, decimals: int) -> str:
    """Write smallest units as a decimal: ``1234500000`` with 6 decimals is ``1234.5``."""
    sign = "-" if amount < 0 else ""
    digits = str(abs(amount)).rjust(decimals + 1, "0")
    split = len(digits) - decimals
    fraction = digits[split:].rstrip("0")
    return f"{sign}{digits[:split]}.{fraction}" if fraction else f"{sign}{digits[:split]}"


def tokens_text(smallest: int, decimals: int, symbol: str) -> str:
    """An amount for a sentence, exact and with its token: ``1 234.5 USDT``."""
    whole, point, fraction = format_units(smallest, decimals).partition(".")
    return f"{whole if whole == '-0' else grouped(int(whole))}{point}{fraction} {symbol}"


def grouped(number: int | Decimal) -> str:
    """A number for people, with spaces between its thousands: ``1 234``.

    No commas: the console's forms accept spaces, and refuse a comma, which may be meant as a point.
    """
    text = f"{number:,f}" if isinstance(number, Decimal) else f"{number:,}"
    return text.replace(",", " ")


def rate_as_number(rate: Fraction) -> float:
    """A ``bridge_rate`` as a JSON number for people; never an input to the arithmetic.

    A rate beyond a float's range becomes the largest float: JSON has no infinity.
    """
    try:
        return float(rate)
    except OverflowError:
        return sys.float_info.max
