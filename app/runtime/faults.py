"""Which exceptions mean that the database cannot be reached."""

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

DATABASE_UNAVAILABLE: tuple[type[Exception], ...] = (OperationalError, InterfaceError, PoolTimeout)
"""Connection refused or lost, a lock not granted in time, no free connection: trying again may succeed."""
