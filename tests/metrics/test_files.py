"""What workers counted remains when they end, in files whose number is bounded."""

from __future__ import annotations

import tempfile
import threading
import time
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from app.monitoring.metrics import Exposition, StateMetrics
from app.observability.metric_files import MetricFiles, begin, files_of_this_server
from tests.amounts import few_or_many
from tests.metrics.counted import as_process, names_in, series, total, value

SCRAPE_SECONDS = 0.020
OPERATIONS = 12
FORKING = get_context("fork")


@pytest.fixture
def files(tmp_path: Path) -> MetricFiles:
    return begin(tmp_path)


@pytest.fixture
def exposition(files: MetricFiles) -> Exposition:
    return Exposition(files, StateMetrics(parts=()), lambda: True, "1.2.3")


def count(patch: pytest.MonkeyPatch, files: MetricFiles, worker: int, number: int = 1) -> None:
    """One worker that counts so many requests of each operation."""
    with as_process(patch, files, worker):
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
    for worker in (1, 2, 3):
        count(monkeypatch, files, worker, number=100 + worker)
    before = series(exposition.text())
    for ended in (1, 3):
        files.forget_state(ended)
    after = series(exposition.text())
    assert value(before, "gateway_requests_total", operation="3") == 101 + 102 + 103
    assert value(before, "gateway_workers") == 3
    assert value(after, "gateway_workers") == 1
    del before["gateway_workers", frozenset()], after["gateway_workers", frozenset()]
    assert after == before
    assert value(after, "gateway_request_seconds_count", operation="3") == 3
    assert value(after, "gateway_request_seconds_sum", operation="3") == pytest.approx(0.004 * 306)


@pytest.mark.parametrize("ended", few_or_many(100, 1_000))
def test_ended_workers_leave_few_files(
    files: MetricFiles, exposition: Exposition, monkeypatch: pytest.MonkeyPatch, ended: int
) -> None:
    """A scrape stays short."""
    highest = 0.0
    for each in range(ended):
        count(monkeypatch, files, 1 + each % 2)
        files.forget_state(1 + each % 2)
        if each % 100 == 0:
            counted = total(series(exposition.text()), "gateway_requests_total")
            assert counted > highest
            highest = counted
    for worker in (1, 2):
        count(monkeypatch, files, worker)
    assert names_in(files.directory) == {
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
    workers = 60
    for worker in range(1, workers + 1):
        count(monkeypatch, files, worker)

    def end_all() -> None:
        for worker in range(1, workers + 1):
            files.forget_state(worker)

    ending = threading.Thread(target=end_all)
    ending.start()
    totals = set()
    while ending.is_alive():
        totals.add(total(series(exposition.text()), "gateway_requests_total"))
    ending.join()
    totals.add(total(series(exposition.text()), "gateway_requests_total"))
    assert totals == {workers * OPERATIONS}


def test_process_without_counts_ends_silently(files: MetricFiles) -> None:
    files.forget_state(1)
    assert names_in(files.directory) == set()


def test_new_file_breaks_no_other(
    files: MetricFiles, exposition: Exposition, monkeypatch: pytest.MonkeyPatch
) -> None:
    count(monkeypatch, files, 1)
    for kind in ("counter", "histogram", "gauge_livesum"):
        (files.directory / f"{kind}_2.db").touch()
    assert total(series(exposition.text()), "gateway_requests_total") == OPERATIONS


def count_for_ever(directory: Path, first: int, counts: Event) -> None:
    """What a worker does: more and more labels, so that its file grows."""
    files = MetricFiles(directory)
    files.count_here()
    files.number = 1
    counter = Counter("gateway_requests", "what", ("operation",), registry=CollectorRegistry())
    counter.labels(str(first)).inc()
    counts.set()
    for number in range(10**9):
        counter.labels(str(first + number % 200)).inc()


@pytest.mark.parametrize("kills", few_or_many(4, 64))
def test_killed_worker_breaks_no_other(files: MetricFiles, exposition: Exposition, kills: int) -> None:
    """Killed while it counts, and while its file grows; the next one goes on from what it counted."""
    highest = 0.0
    for first in range(0, kills * 100, 100):
        counts = FORKING.Event()
        worker = FORKING.Process(target=count_for_ever, args=(files.directory, first, counts))
        worker.start()
        assert counts.wait(20)
        time.sleep(0.001 * (first // 100 % 8))
        worker.kill()
        worker.join()
        counted = total(series(exposition.text()), "gateway_requests_total")
        assert counted > highest
        highest = counted
    assert names_in(files.directory) == {"counter_1.db"}


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


def test_running_server_directory_is_left(tmp_path: Path) -> None:
    ours, theirs = FORKING.Pipe()

    def serve() -> None:
        theirs.send(begin(tmp_path).directory)
        theirs.recv()

    other = FORKING.Process(target=serve)
    other.start()
    its = ours.recv()
    begin(tmp_path)
    assert its.exists()
    ours.send("end")
    other.join()
    begin(tmp_path)
    assert not its.exists()


def test_metrics_report_missing_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(SystemExit, match=r"METRICS_PORT: no directory for metrics .*missing: "):
        files_of_this_server()


def _user() -> int:
    return Path("/proc/self").stat().st_uid
