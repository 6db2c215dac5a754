"""The header ``grpc-timeout``: how long the caller waits for the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from app.domain.errors import BadRequest

_TIMEOUT: Final = re.compile(r"([0-9]{1,8})([HMSmun])")
_SECONDS: Final = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}


class DeadlineExceeded(Exception):
    """The caller has stopped waiting."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """When the caller stops waiting, in seconds of a monotonic clock; None where it waits for ever."""

    at: float | None

    @classmethod
    def read(cls, timeout: str | None, now: float) -> Deadline:
        """The deadline of a request that came in ``now`` with this ``grpc-timeout``, None for no header.

        :raises BadRequest: it is not one to eight digits and a unit (H, M, S, m, u, n).
        """
        if timeout is None:
            return cls(None)
        match = _TIMEOUT.fullmatch(timeout)
        if match is None:
            raise BadRequest("grpc-timeout: must be one to eight digits and a unit (H, M, S, m, u or n)")
        return cls(now + int(match[1]) * _SECONDS[match[2]])

    def check(self, now: float) -> None:
        """Check that the caller still waits.

        :raises DeadlineExceeded: it does not.
        """
        if self.at is not None and now >= self.at:
            raise DeadlineExceeded
