"""What goes wrong behind the doors, and the words for it that give nothing away."""

from typing import Final

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

DATABASE_UNAVAILABLE: tuple[type[Exception], ...] = (OperationalError, InterfaceError, PoolTimeout)
"""Connection refused or lost, a lock waited for in vain, no free connection: worth asking again."""

OUT_OF_REACH: Final = "the gateway cannot reach its database; try again in a moment"
FAILED: Final = "the gateway failed; this is not the request's fault"
TOO_OFTEN: Final = "too many requests; slow down"

RETRY_SECONDS: Final = 1
"""When to ask again after a fault that passes by itself."""
