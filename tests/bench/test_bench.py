"""The benchmark runs from end to end; what it measures is no business of a test."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytest.importorskip("granian", reason="`make bench` installs what it needs")
if shutil.which("wrk") is None:
    pytest.skip("needs wrk: apt-get install wrk", allow_module_level=True)

from app.sender import post
from bench import console, http, limits, profile, scale, sight, wait, watch, webhooks
from bench.server import __main__ as server

PY_SPY = Path(sys.executable).with_name("py-spy")

pytestmark = pytest.mark.soak("minutes; `make check` alone leaves the benchmarks out, too")


def test_a_quick_run_measures_and_compares(capsys: pytest.CaptureFixture[str]) -> None:
    http.main(["--quick", "--only", "floor", "bare", "smallest", "PostgreSQL, gunicorn"])
    report = capsys.readouterr().out
    assert "| status / floor | ≥ 0.95 |" in report
    assert "too few rounds" in report
    assert "| estimate, PostgreSQL, gunicorn |" in report


def test_a_quick_run_tells_what_many_transfers_cost(capsys: pytest.CaptureFixture[str]) -> None:
    scale.main(["--quick"])
    report = capsys.readouterr().out
    assert "5,000 transfers against 500" in report
    assert "| status p50 | ≤ 1.1 |" in report
    assert "| latency p99 | ≤ 1.2 |" in report
    assert "| history of 10 p99 / status p99 | ≤ 1.5 |" in report
    assert "PostgreSQL, 5,000 transfers, 100 audit records" in report


def test_a_quick_run_tells_what_limits_cost(capsys: pytest.CaptureFixture[str]) -> None:
    assert limits.main(["--quick"]) == 0
    report = capsys.readouterr().out
    assert "| no key, by RATE_LIMIT, µs CPU | ≤ 30 |" in report
    assert "| a key with a limit |" in report


def test_a_quick_run_tells_what_waiting_costs(capsys: pytest.CaptureFixture[str]) -> None:
    wait.main(["--quick"])
    report = capsys.readouterr().out
    assert "| 100 who wait, KiB each | ≤ 20 |" in report
    assert "| 100 who wait for one transfer: woken, p99, s | ≤ 0.5 |" in report
    assert "| statuses on the other process beside 100 who wait / alone, p99 | ≤ 1.2 |" in report


@pytest.fixture
def kept() -> Iterator[str]:
    """A folder beside pytest's own, which pytest closes to the user that PostgreSQL runs as."""
    with TemporaryDirectory(prefix="gateway-bench-kept-") as folder:
        yield folder


def test_filled_databases_are_kept_for_a_second_run(
    kept: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = ["--quick", "--without-console", "--keep", kept]
    scale.main(quick)
    assert "grew 5,000 in " in capsys.readouterr().err
    scale.main(quick)
    assert "grew" not in capsys.readouterr().err
    monkeypatch.setattr(scale, "KEPT_FOR", timedelta(0))
    with pytest.raises(SystemExit, match="kept: 500 transfers of "):
        scale.main(quick)


def test_a_quick_run_tells_what_the_server_bears(capsys: pytest.CaptureFixture[str]) -> None:
    server.main(["--quick", "--connections", "16", "32"])
    report = capsys.readouterr().out
    assert "| status, SQLite, 20 silent and 20 slow clients, slowest probe, s | ≤ 1 |" in report
    assert "| status, PostgreSQL, 8 callers, p99 beside an upload (" in report
    assert "| status, PostgreSQL, 32 |" in report
    assert "status, SQLite: 100 idle connections (" in report


@pytest.mark.skipif(not PY_SPY.exists(), reason="`make profile` installs what it needs")
def test_a_flame_graph_names_our_functions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "build" / "profile.svg"
    words = ["status", "SQLite", "gunicorn"]
    try:
        profile.main([*words, "--record", "2", "--transfers", "50", "--output", str(picture)])
    except SystemExit as refused:
        if profile.RIGHTS in str(refused):
            pytest.skip("may not look into other processes")
        raise
    assert "get_transfer_status" in picture.read_text()
    assert "status, SQLite, gunicorn: " in capsys.readouterr().out


def test_a_contestant_is_found_by_words() -> None:
    assert profile.chosen(["estimate,", "sqlite,", "granian"]).name == "estimate, SQLite, granian"
    with pytest.raises(SystemExit, match="nobody is called so; there are:\nbare WSGI, gunicorn"):
        profile.chosen(["nobody"])


def test_a_quick_run_tells_what_being_watched_costs(capsys: pytest.CaptureFixture[str]) -> None:
    sight.main(["--quick"])
    told = capsys.readouterr().out
    for each in sight.SIGHTS:
        assert f"status, PostgreSQL: {each.name} on / off" in told
        assert f"status, PostgreSQL: {each.name}, µs CPU a request" in told
        assert f"estimate on SQLite in one process: {each.name}, µs CPU | ≤ 15 |" in told


def test_a_quick_run_tells_how_soon_webhooks_arrive(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(post, "ANSWER_SECONDS", 3.0)  # what hangs is waited for
    webhooks.main(["--quick"])
    told = capsys.readouterr().out
    for name in ("SQLite", "PostgreSQL"):
        assert f"webhooks, {name}: first attempts, p99 in seconds | ≤ 1 |" in told
        assert f"webhooks, {name}: the same while half hang / answer | ≤ 2 |" in told


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
