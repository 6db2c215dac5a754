"""The tests that ``make test`` runs on PostgreSQL as well: what no other database can stand in for.

CI runs all tests on both databases.
"""

from __future__ import annotations

from typing import Final

SMOKE: Final = (
    # The driver: types, times and amounts as PostgreSQL stores them.
    "tests/db/test_types.py",
    # Bulk writes: many rows in one statement, on conflict, sums.
    "tests/db/test_many_rows.py",
    # The lock of one writer, and the limits of each kind of work.
    "tests/db/test_engine.py",
    "tests/db/test_timeouts.py",
    # Events in, answers out, and a replay that changes nothing.
    "tests/feed/services/test_posts.py",
    "tests/feed/services/test_histories.py::test_a_replay_changes_nothing",
    # A replica's reads.
    "tests/replicas/test_reads.py::test_public_answers_are_read_from_the_replica",
)
"""Files and tests, as pytest names them."""
