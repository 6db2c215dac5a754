"""What workers counted is kept when they end, in files whose number is bounded."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from app.monitoring.metrics import Exposition, StateMetrics
from app.observability.metric_files import MetricFiles, begin, files_of_this_server
from tests.everyday import volume
from tests.metrics.counted import as_process, names_in, series, total, value

SCRAPE_SECONDS = 0.020
OPERATIONS = 12


@pytest.fixture
def files(tmp_path: Path) -> MetricFiles:
    return begin(tmp_path)


@pytest.fixture
def exposition(files: MetricFiles) -> Exposition:
    return Exposition(
        files,
        StateMetrics(parts=()),
        lambda: True,
        "1.2.3",
    )  # type: ignore[arg-type]


def count(patch: pytest.MonkeyPatch, files: MetricFiles, pid: int, number: int = 1) -> None:
    """One worker that counts so many requests of each operation."""
    with as_process(patch, files, pid):
        registry = CollectorRegistry()
        requests = Counter("gateway_requests", "what", ("operation",), registry=registry)
        seconds = Histogram("gateway_request_seconds", "what", ("operation",), registry=registry)
        Gauge("gateway_workers", "what", registry=registry, multiprocess_mode="livesum").set(1)
        for operation in range(OPERATIONS):
            requests.labels(str(operation)).inc(number)
            seconds.labels(str(operation)).observe(0.004 * number)


def test_worker_counts_are_summed(
    files: MetricFiles, exposition: Exposition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the workers live or have ended."""
    for pid in (101, 102, 103):
        count(monkeypatch, files, pid, number=pid)
    before = series(exposition.text())
    files.add_up_ended({102})
    after = series(exposition.text())
    assert value(before, "gateway_requests_total", operation="3") == 101 + 102 + 103
    assert value(before, "gateway_workers") == 3
    assert value(after, "gateway_workers") == 1
    del before["gateway_workers", frozenset()], after["gateway_workers", frozenset()]
    assert after == before
    assert value(after, "gateway_request_seconds_count", operation="3") == 3
    assert value(after, "gateway_request_seconds_sum", operation="3") == pytest.approx(0.004 * 306)


def test_thousand_workers_leave_few_files(
    files: MetricFiles, exposition: Exposition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scrape stays short."""
    ended = volume(1_000, everyday=100)
    highest = 0.0
    for pid in range(1_000, 1_000 + ended):
        count(monkeypatch, files, pid)
        files.add_up_ended({1, 2})
        if pid % 100 == 0:
            counted = total(series(exposition.text()), "gateway_requests_total")
            assert counted > highest
            highest = counted
    for pid in (1, 2):
        count(monkeypatch, files, pid)
    assert names_in(files.directory) == {
        "counter_ended.db", "histogram_ended.db",
        "counter_1.db", "histogram_1.db", "gauge_livesum_1.db",
        "counter_2.db", "histogram_2.db", "gauge_livesum_2.db",
    }  # fmt: skip
    times = []
    for _ in range(9):
        started = time.thread_time()  # of this thread: others use the processor, too
        text = exposition.text()
        times.append(time.thread_time() - started)
    assert total(series(text), "gateway_requests_total") == OPERATIONS * (ended + 2)
    assert total(series(text), "gateway_request_seconds_count") == OPERATIONS * (ended + 2)
    assert min(times) < SCRAPE_SECONDS


def test_reading_while_worker_ends_is_exact(
    files: MetricFiles, exposition: Exposition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is counted twice or missed."""
    workers = volume(60, everyday=30)
    for pid in range(1, workers + 1):
        count(monkeypatch, files, pid)

    def end_all() -> None:
        for pid in range(1, workers + 1):
            files.add_up_ended(range(pid + 1, workers + 1))

    ending = threading.Thread(target=end_all)
    ending.start()
    told = set()
    while ending.is_alive():
        told.add(total(series(exposition.text()), "gateway_requests_total"))
    ending.join()
    told.add(total(series(exposition.text()), "gateway_requests_total"))
    assert told == {workers * OPERATIONS}


def test_process_without_counts_ends_silently(files: MetricFiles) -> None:
    files.add_up_ended(())
    assert names_in(files.directory) == set()


def test_new_file_breaks_no_other(
    files: MetricFiles, exposition: Exposition, monkeypatch: pytest.MonkeyPatch
) -> None:
    count(monkeypatch, files, 1)
    for kind in ("counter", "histogram", "gauge_livesum"):
        (files.directory / f"{kind}_2.db").touch()
    assert total(series(exposition.text()), "gateway_requests_total") == OPERATIONS


def test_who_reads_does_not_wait_for_ever(
    files: MetricFiles, exposition: Exposition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A master that was stopped while it added up has the lock."""
    monkeypatch.setattr("app.observability.metric_files.LOCK_SECONDS", 0.05)
    count(monkeypatch, files, 1)
    with (files.directory / "lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(TimeoutError):
            exposition.text()
    assert total(series(exposition.text()), "gateway_requests_total") == OPERATIONS


def test_master_does_not_wait_for_readers(
    files: MetricFiles, exposition: Exposition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that was stopped while it read; the counts of one that ended are told all the same."""
    for pid in (1, 2):
        count(monkeypatch, files, pid)
    with (files.directory / "lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        files.add_up_ended({2})
        now = series(exposition.text())
    assert "counter_1.db" in names_in(files.directory)
    assert total(now, "gateway_requests_total") == 2 * OPERATIONS
    assert value(now, "gateway_workers") == 1
    files.add_up_ended({2})
    assert "counter_1.db" not in names_in(files.directory)
    assert series(exposition.text()) == now


def test_truncated_file_breaks_no_other(
    files: MetricFiles,
    exposition: Exposition,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    count(monkeypatch, files, 1)
    count(monkeypatch, files, 2)
    broken = files.directory / "counter_1.db"
    broken.write_bytes(broken.read_bytes()[:300])
    files.add_up_ended(())
    assert "counter_1.db" in caplog.text
    assert total(series(exposition.text()), "gateway_request_seconds_count") == 2 * OPERATIONS
    assert OPERATIONS <= total(series(exposition.text()), "gateway_requests_total") < 2 * OPERATIONS


def test_server_starts_empty_and_cleans_up(tmp_path: Path) -> None:
    left_by_a_killed_one = tmp_path / f"gateway-metrics-{_user()}-99-abc"
    left_by_a_killed_one.mkdir()
    (left_by_a_killed_one / "counter_1.db").write_bytes(b"x")
    of_somebody_else = tmp_path / "gateway-metrics-4294967294-99-abc"
    of_somebody_else.mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "used").touch()
    link = tmp_path / f"gateway-metrics-{_user()}-98-link"
    link.symlink_to(elsewhere)
    files = begin(tmp_path)
    assert names_in(files.directory) == set()
    assert not left_by_a_killed_one.exists()
    assert of_somebody_else.exists()
    assert (elsewhere / "used").exists()
    assert files.directory.stat().st_mode & 0o777 == 0o700


@pytest.mark.soak("a server of its own")
def test_running_server_directory_is_left(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from app.observability.metric_files import begin;"
        "print(begin(pathlib.Path(sys.argv[1])).directory, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout
        its = Path(other.stdout.readline().strip())
        begin(tmp_path)
        assert its.exists()
        other.communicate()
    begin(tmp_path)
    assert not its.exists()


def test_missing_directory_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(SystemExit, match=r"METRICS_PORT: no directory for metrics .*missing: "):
        files_of_this_server()


def _user() -> int:
    return Path("/proc/self").stat().st_uid
