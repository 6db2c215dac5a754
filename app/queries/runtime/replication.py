"""How far has the write-ahead log come, on the primary and on its replica?"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Connection, text

# The flush position, not the insert position: a commit is flushed, and only flushed bytes reach replicas.
_FLUSHED: Final = text("SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn")
# A promoted replica keeps its last position here, but is no longer in recovery.
_REPLAYED: Final = text("SELECT pg_last_wal_replay_lsn() - '0/0'::pg_lsn WHERE pg_is_in_recovery()")


def flushed_position(connection: Connection) -> int:
    """The byte of the log up to which the primary has flushed its commits."""
    return int(connection.scalar(_FLUSHED) or 0)


def replayed_position(connection: Connection) -> int | None:
    """The byte of the log up to which the replica has replayed it; None where it is no replica."""
    position = connection.scalar(_REPLAYED)
    return None if position is None else int(position)
