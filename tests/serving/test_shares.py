"""How many connections each worker has."""

from __future__ import annotations

from serving.shares import Shares


def test_the_least_of_all_workers() -> None:
    shares = Shares()
    assert shares.least() == 0
    shares.note(1, 7)
    shares.note(2, 5)
    assert shares.least() == 5
    shares.note(2)
    assert shares.least() == 7
