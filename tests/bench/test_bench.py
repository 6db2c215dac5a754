"""A benchmark runs from end to end; what it measures is no business of a test."""

from __future__ import annotations

import pytest

from bench import http
from tests.programs import program


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.postgresql
def test_quick_run_measures_and_compares(capsys: pytest.CaptureFixture[str]) -> None:
    program("wrk")
    assert http.main(["--quick", "--only", "floor", "status, PostgreSQL, gunicorn"]) == 0
    report = capsys.readouterr().out
    assert "| status / floor | ≥ 0.65 |" in report
    assert "too few rounds" in report
    assert "| status, PostgreSQL, gunicorn |" in report
