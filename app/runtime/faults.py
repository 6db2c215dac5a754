"""Which exceptions mean that the gateway cannot do its work just now, and that trying again may succeed."""

from __future__ import annotations

import errno
from typing import Final

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from app.models.connections.writes import is_refusal

DATABASE_UNAVAILABLE: Final = (OperationalError, InterfaceError, PoolTimeout)
"""Connection refused or lost, a lock or an answer not given in time, no free connection."""

_IDLE_IN_TRANSACTION: Final = "25P03"
_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE})


def is_unavailable(error: BaseException) -> bool:
    """Whether an exception is no fault of the code: the database, or the machine, cannot do it now."""
    if isinstance(error, DATABASE_UNAVAILABLE) or is_refusal(error):
        return True
    if isinstance(error, DBAPIError):
        return getattr(error.orig, "sqlstate", None) == _IDLE_IN_TRANSACTION
    return isinstance(error, OSError) and error.errno in _DISK
