"""A clock for tests."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass
class MovableClock:
    """A clock that only the test moves."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now

    def forward(self, by: timedelta = timedelta(0), **units: float) -> None:
        """Move it by this time; back where that is negative."""
        self.now += by + timedelta(**units)
