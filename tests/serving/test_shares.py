"""How many connections each worker has."""

from __future__ import annotations

import pytest

from serving import shares


def test_least_busy_worker_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "_counts", shares._counts[:])
    assert shares.least() == 0
    shares.note(1, 7)
    shares.note(2, 5)
    assert shares.least() == 5
    shares.note(2)
    assert shares.least() == 7
