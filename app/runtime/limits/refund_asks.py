"""How often one caller may ask for refunds (``REFUND_ASK_LIMIT``): each ask can cost a write."""

from __future__ import annotations

from app.domain.blocking import IPAddress
from app.domain.caller import counted_network
from app.domain.codes import Reason
from app.domain.errors import GatewayError
from app.runtime.limits.store import LimitStore
from app.runtime.limits.windows import Windows, limits_of


class AskLimit:
    """Counts the asks of each caller, over both doors together."""

    def __init__(self, limit: str, store: LimitStore) -> None:
        """
        :param limit: such as ``10/minute``; checked where settings are read.
        """
        self._limits = limits_of(limit)
        self._windows = Windows("refund-requests", store)

    def count(self, caller: IPAddress | None) -> None:
        """Count one ask of a caller; those whose address is not known count as one.

        :raises GatewayError: this caller asks too often.
        """
        who = counted_network(caller) if caller is not None else "unknown"
        standing = self._windows.count(self._limits, who)
        if standing.is_over:
            raise GatewayError(
                "too many refund requests: one for each transfer is enough",
                reason=Reason.RATE_LIMITED,
                retry_after=standing.reset_seconds,
            )
