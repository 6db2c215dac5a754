"""How often one caller may ask for refunds (``REFUND_ASK_LIMIT``): each ask can cost a write."""

from __future__ import annotations

import logging
from math import ceil
from time import time
from typing import Final

from limits import RateLimitItem, parse_many
from limits.errors import StorageError
from limits.storage import MemoryStorage, storage_from_string
from limits.strategies import FixedWindowRateLimiter

from app.domain.blocking import IPAddress
from app.domain.caller import counted_network
from app.domain.codes import Reason
from app.domain.errors import GatewayError
from app.outages import FAILURES

_SCOPE: Final = "refund-ask"

_log = logging.getLogger(__name__)


class AskLimit:
    """Counts the asks of each caller, over both doors together.

    In memory each process counts for itself, in a shared store all count together; while that cannot be
    reached, each counts for itself.
    """

    def __init__(self, limit: str, storage_url: str) -> None:
        """
        :param limit: such as ``10/minute``; checked where settings are read.
        :param storage_url: as of ``RATE_LIMIT_STORAGE_URL``.
        """
        self._limits = parse_many(limit)
        self._shared = FixedWindowRateLimiter(storage_from_string(storage_url, wrap_exceptions=True))
        self._own = FixedWindowRateLimiter(MemoryStorage())

    def count(self, caller: IPAddress | None) -> None:
        """Count one ask of a caller; those whose address is not known count as one.

        :raises GatewayError: this caller asks too often.
        """
        who = counted_network(caller) if caller is not None else "unknown"
        try:
            over = _over(self._shared, self._limits, who)
        except StorageError as error:
            FAILURES.report(
                _log, logging.WARNING, "refund requests are counted in this process only", error=error
            )
            over = _over(self._own, self._limits, who)
        if over is not None:
            raise GatewayError(
                "too many refund requests: one for each transfer is enough",
                reason=Reason.RATE_LIMITED,
                retry_after=over,
            )


def _over(limiter: FixedWindowRateLimiter, items: list[RateLimitItem], who: str) -> int | None:
    """Count by each limit; seconds until the first one that is reached allows more, None where none is."""
    for item in items:
        if not limiter.hit(item, _SCOPE, who):
            return max(1, ceil(limiter.get_window_stats(item, _SCOPE, who).reset_time - time()))
    return None
