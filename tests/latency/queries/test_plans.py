"""What PostgreSQL reads for a median, by the plan that connections of the answering path store."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, text

from app.db.database import Database
from app.db.engine import writing
from app.feed.projection.latencies import recount
from app.latency import queries as orders
from app.latency.rules.median import FINE, window
from tests.latency.queries.records import NOW, record

IN_EACH, PAIRS = 20, ((1, 56), (56, 1), (1, 137))
STATEMENTS = {
    "a pair": (orders._MEDIAN, 1),
    "all pairs": (orders._ALL_MEDIANS, len(PAIRS)),
}


@pytest.mark.postgresql_alone
@pytest.mark.parametrize("which", STATEMENTS)
@pytest.mark.parametrize(("buckets", "with_a_median"), [(200, 2), (201, 1)])
def test_only_median_buckets_are_read(
    which: str, buckets: int, with_a_median: int, database: Database
) -> None:
    """Planned without the parameters' values, as for the hot path; each bucket once."""
    for src, dst in PAIRS:
        record(
            database, [bucket << FINE for bucket in range(buckets) for _ in range(IN_EACH)], src=src, dst=dst
        )
    statement, pairs = STATEMENTS[which]
    with writing(database.engine) as connection:
        recount(connection, NOW)
        connection.execute(text("ANALYZE"))
        plan = _general_plan(connection, str(statement.compile(dialect=connection.dialect)))
    read = sum(
        each["Actual Loops"] * (each["Actual Rows"] + each.get("Rows Removed by Filter", 0))
        for each in _nodes(plan)
        if each.get("Relation Name") == "latency_records"
    )
    assert read == pairs * IN_EACH * with_a_median


def _general_plan(connection: Connection, statement: str) -> dict[str, Any]:
    after, until = window(NOW)
    values = {"after": after, "until": until, "src": 1, "dst": 56}
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", statement)))
    numbered = re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", statement)
    given = ", ".join(f"'{values[name]}'" for name in names)
    cursor = connection.connection.cursor()
    cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    cursor.execute(f"PREPARE median_rank AS {numbered}")
    cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE median_rank({given})")
    row = cursor.fetchone()
    assert row is not None
    found = row[0]
    cursor.execute("DEALLOCATE median_rank")
    plan = (json.loads(found) if isinstance(found, str) else found)[0]["Plan"]
    assert isinstance(plan, dict)
    return plan


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for each in plan.get("Plans", ()):
        yield from _nodes(each)
