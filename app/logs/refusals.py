"""Requests that gunicorn cannot read: it logs each of them, so anybody could fill the disk."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

EVERY_SECONDS: Final = 60.0
_BEGINS: Final = "Invalid request from ip="
_LONGEST: Final = 300


class FewRefusals(logging.Filter):
    """Lets one such line a minute of each process through, shortened, with how many were left out."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._next_at = 0.0
        self._left_out = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is logged."""
        text = record.getMessage()
        if not text.startswith(_BEGINS):
            return True
        now = self._monotonic()
        if now < self._next_at:
            self._left_out += 1
            return False
        more = f" (and {self._left_out} more since the last one logged)" if self._left_out else ""
        record.msg, record.args = f"{text[:_LONGEST]}{more}", ()
        self._next_at, self._left_out = now + EVERY_SECONDS, 0
        return True
