"""Which exceptions mean that the database is out of reach, so that the doors need not know SQLAlchemy."""

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

DATABASE_UNAVAILABLE: tuple[type[Exception], ...] = (OperationalError, InterfaceError, PoolTimeout)
"""Connection refused or lost, a lock waited for in vain, no free connection: worth asking again."""
