"""What runs everyday: no file and no database is left out, and a test only where its mark says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.databases import BACKENDS
from tests.everyday import CASES, database_of_file, part, spread

ONLY_IN_FULL = {
    "bench/test_bench.py",
    "bench/test_granian.py",
    "browser/test_console_faults.py",
    "browser/test_incidents.py",
    "clients/test_claims.py",
    "clients/test_evidence.py",
    "clients/test_operations.py",
    "clients/test_real_wait.py",
    "deploy/test_gateway_behind_nginx.py",
    "deploy/test_stores.py",
    "faults/test_prune_killed.py",
    "fuzz/test_fuzz.py",
    "limits/test_exact.py",
    "migrating/test_rolling.py",
    "migrating/test_versions.py",
    "openapi/test_other_origins.py",
    "openapi/test_schemathesis.py",
    "pooler/test_restart.py",
    "replicas/test_killed.py",
    "restores/test_rehearsal.py",
    "sender/test_kills.py",
    "serving/test_api_keys.py",
    "serving/test_clock.py",
    "serving/test_estimate_counts.py",
    "serving/test_forged_lines.py",
    "serving/test_logs.py",
    "serving/test_stopping.py",
    "serving/test_traces.py",
    "serving/test_two_gateways.py",
    "watcher/on_anvil/test_faults.py",
    "watcher/on_anvil/test_reorganisations.py",
    "watcher/test_process.py",
}
"""Files that have nothing to run everyday: whole servers, real EVMs, compilers, receivers that hang."""


def function_of(test: pytest.Item) -> str:
    return test.nodeid.partition("[")[0]


def file_of(test: pytest.Item) -> str:
    return test.path.relative_to(Path(__file__).parent).as_posix()


def test_every_file_and_every_function_runs_everyday(request: pytest.FixtureRequest) -> None:
    """Of all tests with ``FULL_TESTS=1``; everyday, of those that were chosen."""
    tests = request.session.items
    kept = part(tests)
    assert {file_of(test) for test in tests} - {file_of(test) for test in kept} <= ONLY_IN_FULL
    marked = {function_of(test) for test in tests if test.get_closest_marker("soak")}
    assert {function_of(test) for test in tests} - {function_of(test) for test in kept} <= marked


def test_who_leaves_a_test_out_says_why(request: pytest.FixtureRequest) -> None:
    for test in request.session.items:
        assert all(mark.args for mark in test.iter_markers("soak")), test.nodeid


def test_a_part_of_the_cases_has_the_first_and_the_last() -> None:
    assert spread(range(CASES)) == list(range(CASES))
    assert spread(range(10)) == [0, 9]
    assert spread(range(10), 3) == [0, 4, 9]


def test_each_database_has_about_half_of_the_files() -> None:
    files = sorted(path.as_posix() for path in Path("tests/services").rglob("test_*.py"))
    chosen = [database_of_file(file) for file in files]
    assert all(chosen.count(backend) > len(files) / 3 for backend in BACKENDS)
