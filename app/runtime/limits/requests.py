"""How often the public may: send requests (``RATE_LIMIT``, or a key's own limit), and request refunds."""

from __future__ import annotations

from app.domain.api_keys import ApiKey
from app.domain.blocking import IPAddress
from app.domain.caller import counted_network
from app.domain.codes import Reason
from app.domain.errors import GatewayError
from app.runtime.limits.store import LimitStore
from app.runtime.limits.windows import Standing, Windows, limits_of


class RequestLimits:
    """Counts the requests of each caller and of each key, over all public operations and doors together."""

    def __init__(self, limit: str, store: LimitStore) -> None:
        """
        :param limit: of each caller without a key, such as ``100/minute;1000/hour``; empty is none.
        """
        self._limits = limits_of(limit)
        self._windows = Windows("requests", store)

    def count(self, key: ApiKey | None, caller: IPAddress | None) -> Standing | None:
        """Count a request; None where nothing limits it.

        A request with a key counts for its key only, wherever it comes from.
        """
        limits = self._limits if key is None else limits_of(key.rate_limit)
        if not limits:
            return None
        return self._windows.count(limits, _counted(caller) if key is None else f"key:{key.key_id}")


class AskLimit:
    """Counts the refund requests of each caller, over both doors together: each can cost a write."""

    def __init__(self, limit: str, store: LimitStore) -> None:
        """
        :param limit: such as ``10/minute``.
        """
        self._limits = limits_of(limit)
        self._windows = Windows("refund-requests", store)

    def count(self, caller: IPAddress | None) -> None:
        """Count one refund request of a caller.

        :raises GatewayError: this caller sends too many.
        """
        standing = self._windows.count(self._limits, _counted(caller))
        if standing.is_over:
            raise GatewayError(
                "too many refund requests: one for each transfer is enough",
                reason=Reason.RATE_LIMITED,
                retry_after=standing.reset_seconds,
            )


def _counted(caller: IPAddress | None) -> str:
    """Those whose address is not known count as one."""
    return counted_network(caller) if caller is not None else "unknown"
