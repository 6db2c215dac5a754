"""How often the public may ask: by ``RATE_LIMIT``, and with a key by the key's own limit."""

from __future__ import annotations

from app.domain.api_keys import ApiKey
from app.domain.blocking import IPAddress
from app.domain.caller import counted_network
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

        A request with a key counts for its key alone, wherever it comes from.

        :param caller: those whose address is not known count as one.
        """
        limits = self._limits if key is None else limits_of(key.rate_limit)
        if not limits:
            return None
        if key is not None:
            return self._windows.count(limits, f"key:{key.key_id}")
        return self._windows.count(limits, counted_network(caller) if caller is not None else "unknown")
