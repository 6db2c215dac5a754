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


def test_the_counts_of_workers_are_added_up_whether_they_live_or_have_ended(
    files: MetricFiles, exposition: Exposition, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_after_a_thousand_workers_there_are_few_files_and_a_scrape_is_short(
    files: MetricFiles, exposition: Exposition, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_who_reads_while_a_worker_ends_counts_nothing_twice_and_misses_nothing(
    files: MetricFiles, exposition: Exposition, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_a_process_that_counted_nothing_ends_without_a_word(files: MetricFiles) -> None:
    files.add_up_ended(())
    assert names_in(files.directory) == set()


def test_a_file_that_was_only_just_made_takes_no_other_along(
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


def test_the_master_does_not_wait_for_who_reads(
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


def test_a_file_that_breaks_off_takes_no_other_along(
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


def test_a_server_begins_with_nothing_and_removes_what_was_left_behind(tmp_path: Path) -> None:
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
def test_a_server_leaves_the_directory_of_another_that_runs(tmp_path: Path) -> None:
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


def test_no_place_for_the_files_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(SystemExit, match=r"METRICS_PORT: no directory for metrics .*missing: "):
        files_of_this_server()


def _user() -> int:
    return Path("/proc/self").stat().st_uid
