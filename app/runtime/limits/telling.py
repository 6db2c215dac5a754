"""What the start says about limits."""

from __future__ import annotations

import logging

from app.runtime.limits.store import LimitStore

_log = logging.getLogger(__name__)


def where_limits_are_counted(store: LimitStore, processes: int) -> str:
    """A line for whoever starts so many processes; a store that cannot be asked is logged, no more."""
    place = store.place()
    if place is None:
        several = (
            f"{processes} processes, each of which lets as many pass" if processes > 1 else "one process"
        )
        return f"are counted in the memory of {several} (RATE_LIMIT_STORAGE_URL)"
    if complaint := store.complaint():
        _log.warning(
            "RATE_LIMIT_STORAGE_URL: %s: each process counts for itself, until it can be asked", complaint
        )
    return f"are counted together in the Redis at {place}"
