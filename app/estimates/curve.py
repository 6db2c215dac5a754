"""The StableSwap curve for two pools, in integers (docs/interface.md#stableswap).

With ``n = 2`` pools holding ``x`` and ``y``, and ``Ann = A * n`` (``A`` as Curve publishes it):

    Ann * (x + y) + D = Ann * D + D^3 / (4 * x * y)

``D`` is the sum that the pools would hold if they were equal. A swap does not change ``D``. Balances
are in units of 18 decimals.

The cubes are divided once, not factor by factor as Curve's contracts must to stay within 256 bits.
There the first rounding error is magnified by ``D / (2 * y)``: one in a hundred of the curves out of balance
1,000 to 1 then never settles, and one in four at 1,000,000 to 1. Where both settle, their results are equal
or, rarely, one unit apart.
"""

from __future__ import annotations

from typing import Final

POOLS: Final = 2
MAX_STEPS: Final = 255
CURVE_DECIMALS: Final = 18


class CurveUnsettled(ArithmeticError):
    """Newton's iteration did not come to within 1 in ``MAX_STEPS`` steps, or has no next step."""


def invariant(x: int, y: int, amplification: int) -> int:
    """``D`` of two balances, both over 0, by Newton's iteration from their sum.

    The step: ``D' = (Ann * S + 2 * P) * D / ((Ann - 1) * D + 3 * P)`` with ``P = D^3 / (4 * x * y)``,
    both divisions rounded down. Raises ``CurveUnsettled``.
    """
    if x <= 0 or y <= 0 or amplification <= 0:
        raise CurveUnsettled("a curve needs two balances and an amplification over 0")
    ann = amplification * POOLS
    total = x + y
    product_divisor = POOLS * POOLS * x * y
    d = total
    for _ in range(MAX_STEPS):
        product = d * d * d // product_divisor
        divisor = (ann - 1) * d + (POOLS + 1) * product
        if divisor <= 0:
            raise CurveUnsettled("the invariant's iteration has no next step")
        previous = d
        d = (ann * total + POOLS * product) * d // divisor
        if -1 <= d - previous <= 1:
            return d
    raise CurveUnsettled(f"the invariant did not settle in {MAX_STEPS} steps")


def balance_for(x: int, d: int, amplification: int) -> int:
    """The balance that goes with ``x`` on the curve of invariant ``d``, by Newton's iteration from ``d``.

    It solves ``y^2 + (b - D) * y = c`` with ``b = x + D / Ann`` and ``c = D^3 / (4 * x * Ann)``,
    every division rounded down. Raises ``CurveUnsettled``.
    """
    if x <= 0 or d <= 0 or amplification <= 0:
        raise CurveUnsettled("a curve needs a balance, an invariant and an amplification over 0")
    ann = amplification * POOLS
    c = d * d * d // (POOLS * POOLS * x * ann)
    b = x + d // ann
    y = d
    for _ in range(MAX_STEPS):
        divisor = 2 * y + b - d
        if divisor <= 0:
            raise CurveUnsettled("the balance's iteration has no next step")
        previous = y
        y = (y * y + c) // divisor
        if -1 <= y - previous <= 1:
            return y
    raise CurveUnsettled(f"the balance did not settle in {MAX_STEPS} steps")


def swap_output(x: int, y: int, d: int, amplification: int, dx: int) -> int:
    """The amount that leaves pool ``y`` when ``dx`` enters pool ``x``: ``y - y' - 1``, at least 0.

    The 1 stays in the pool, so that no caller gains from the rounding of the iteration.
    """
    return max(0, y - balance_for(x + dx, d, amplification) - 1)
