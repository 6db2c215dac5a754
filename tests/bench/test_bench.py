"""The benchmark runs from end to end; what it measures is no business of a test."""

from __future__ import annotations

import os
import shutil

import pytest

pytest.importorskip("granian", reason="`make bench` installs what it needs")
if shutil.which("wrk") is None:
    pytest.skip("needs wrk: apt-get install wrk", allow_module_level=True)

from bench import console, http, scale, watch

pytestmark = pytest.mark.full("minutes; `make check` alone leaves the benchmarks out, too")


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


def test_a_quick_run_visits_the_console(capsys: pytest.CaptureFixture[str]) -> None:
    console.main(["--quick"])
    report = capsys.readouterr().out
    assert "sqlite, 2,000 transfers, 100 audit records" in report
    assert "postgresql, 2,000 transfers" in report
    assert "over 300 ms at the 99th percentile" in report


def test_a_quick_run_reads_a_chain(capsys: pytest.CaptureFixture[str]) -> None:
    watch.main(["--quick", "--without", "ponder"])
    report = capsys.readouterr().out
    assert "decoding, µs a log: " in report
    assert "times the speed of the feed, same facts" in report
    assert "times the speed of web3 loop" in report
    assert "20 idle chains: " in report
    assert "from block to answer p50 " in report


@pytest.mark.skipif(
    not os.environ.get("CI"), reason="installs Ponder's 200 packages: continuous integration does"
)
def test_a_quick_run_reads_a_chain_with_ponder(capsys: pytest.CaptureFixture[str]) -> None:
    watch.main(["--quick", "--only", "read", "--without", "web3"])
    assert "times the speed of Ponder, its limit of calls lifted" in capsys.readouterr().out
