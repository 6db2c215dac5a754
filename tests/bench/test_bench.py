"""The benchmark runs from end to end; what it measures is no business of a test."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("granian", reason="`make bench` installs what it needs")
if shutil.which("wrk") is None:
    pytest.skip("needs wrk: apt-get install wrk", allow_module_level=True)

from bench import http, scale


def test_a_quick_run_measures_and_compares(capsys: pytest.CaptureFixture[str]) -> None:
    http.main(["--quick", "--only", "floor", "smallest", "PostgreSQL, gunicorn"])
    report = capsys.readouterr().out
    assert "| status / floor, requests a second | ≥ 0.85 |" in report
    assert "| estimate, PostgreSQL, gunicorn |" in report


def test_a_quick_run_tells_what_many_transfers_cost(capsys: pytest.CaptureFixture[str]) -> None:
    scale.main(["--quick"])
    report = capsys.readouterr().out
    assert "5,000 transfers against 500" in report
    assert "status p50: " in report
    assert "history p99, 10 of about " in report
