"""Metrics and health of a real gunicorn: true whatever becomes of workers, and answered while they hang."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from serving.side.__main__ import TEXT_SECONDS
from serving.side.addresses import Address, addresses_of, listen, url_of
from tests.applications import make_settings
from tests.metrics.counted import total, value
from tests.serving.beside import Watched, watched
from tests.serving.server import COMMAND, ROOT, environment
from tests.volume import volume

SCRAPE_SECONDS = 0.020
ANOTHER_START = pytest.mark.full("a server of its own")
HEALTHY = {"door": "health", "operation": "up", "code": "200"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Watched]:
    """Two workers on an empty database."""
    log = tmp_path_factory.mktemp("side") / "log"
    with watched(log, DATABASE_URL=f"sqlite:///{sqlite_template}") as found:
        yield found


def ask_workers(running: Watched, number: int) -> None:
    for _ in range(number):
        assert running.server.ask("GET", "/healthz").status == 200


def healthy(running: Watched) -> float:
    return total(running.series(), "gateway_requests_total", **HEALTHY)


@pytest.mark.full("workers that end, one after the other")
def test_what_all_workers_counted_is_added_up_and_survives_them(running: Watched) -> None:
    before = healthy(running)
    ask_workers(running, 30)
    assert running.until(lambda s: total(s, "gateway_requests_total", **HEALTHY) == before + 30)
    files = {file.name for file in _directory(running).iterdir()}
    for _ in range(3):
        workers = running.workers
        assert len(workers) == 2
        workers[0].kill()
        workers[0].wait(10)
        running.until(lambda s: len(running.workers) == 2 and value(s, "gateway_workers") == 2)
        assert healthy(running) == before + 30
    assert running.server.ask("GET", "/no/such/path").status == 404
    found = running.until(lambda s: total(s, "gateway_requests_total", operation="unknown") > 0)
    assert value(found, "gateway_requests_total", door="unknown", operation="unknown", code="404") == 1
    assert len(list(_directory(running).iterdir())) <= len(files) + 4


def test_the_ports_answer_what_is_theirs_and_port_has_no_metrics(running: Watched) -> None:
    assert running.server.ask("GET", "/metrics").status == 404
    assert running.ask(running.health, "/metrics")[0] == 404
    assert running.ask(running.metrics, "/readyz")[0] == 404
    assert running.ask(running.metrics, "/metrics", method="POST")[0] == 501
    assert running.ask(running.metrics, "/metrics?name=x", method="HEAD") == (200, b"")
    assert json.loads(running.ask(running.health, "/healthz")[1]) == {"err": None}
    status, body = running.ask(running.health, "/readyz")
    assert (status, json.loads(body)) == (200, json.load(running.server.ask("GET", "/readyz")))
    found = running.until(lambda s: value(s, "gateway_config_age_seconds") is not None)
    assert value(found, "gateway_ready") == 1
    assert value(found, "gateway_build_info", version="0.1.0") == 1
    assert value(found, "gateway_transfers", status="5") == 0
    assert (value(found, "gateway_config_age_seconds") or 99) < 10


def test_both_answer_while_every_worker_hangs(running: Watched) -> None:
    workers = running.workers
    for worker in workers:
        worker.suspend()
    try:
        for path in ("/healthz", "/readyz"):
            assert running.ask(running.health, path, timeout=5)[0] == 200
        time.sleep(TEXT_SECONDS)  # until then it may be what somebody was told who asked before
        first = value(running.series(), "gateway_config_age_seconds") or 0
        time.sleep(1.2)
        assert (value(running.series(), "gateway_config_age_seconds") or 0) > first + 1
    finally:
        for worker in workers:
            worker.resume()


def test_slow_and_malformed_clients_do_no_harm(running: Watched) -> None:
    with ExitStack() as stack:
        for number in range(volume(300, everyday=150)):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", running.health), timeout=5))
            if number % 3:
                client.sendall((b"GET /healthz HTTP/1.1\r\nX-", b"\x16\x03\x01\x02\x00\x01")[number % 2])
        started = time.monotonic()
        assert running.ask(running.health, "/healthz")[0] == 200
        assert time.monotonic() - started < 4
    (side,) = running.side
    for garbage in (b"\x00" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"A" * 70_000 + b"\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", running.metrics), timeout=10) as client:
            client.sendall(garbage)
            client.shutdown(socket.SHUT_WR)
            answer = client.recv(4096)
            assert b"Traceback" not in answer
            assert b"AAAA" not in answer
    assert running.ask(running.metrics, "/metrics")[0] == 200
    assert running.side == [side]


def test_an_address_that_cannot_be_had_names_the_setting_to_change() -> None:
    with listen(Address("127.0.0.1", 0, "METRICS_HOST", "METRICS_PORT")) as taken:
        port = taken.getsockname()[1]
        assert url_of(taken) == f"http://127.0.0.1:{port}"
        for host, number, said in (
            ("127.0.0.1", port, f"METRICS_PORT: {port} on 127.0.0.1: Address already in use"),
            ("192.0.2.1", 0, "METRICS_HOST: 192.0.2.1 is not an address of this machine"),
            ("no such host", 0, "METRICS_HOST: no such host: "),
        ):
            with pytest.raises(SystemExit) as refused:
                listen(Address(host, number, "METRICS_HOST", "METRICS_PORT"))
            assert str(refused.value.code).startswith(said)


def test_health_is_told_where_the_gateway_is_and_metrics_on_this_machine_alone() -> None:
    settings = make_settings("sqlite://", host="0.0.0.0", metrics_port=9100, health_port=9101)
    found = addresses_of(settings)
    assert (found["metrics"].host, found["metrics"].port) == ("127.0.0.1", 9100)
    assert (found["health"].host, found["health"].port) == ("0.0.0.0", 9101)
    assert addresses_of(make_settings("sqlite://")) == {}


@ANOTHER_START
def test_a_port_that_is_taken_ends_the_start_with_one_line(tmp_path: Path, sqlite_template: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = {"DATABASE_URL": f"sqlite:///{sqlite_template}", "METRICS_PORT": str(port)}
        ended = subprocess.run(
            [*COMMAND, "wsgi:app"],
            cwd=ROOT,
            env=environment(**settings),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == f"METRICS_PORT: {port} on 127.0.0.1: Address already in use"
    assert "Traceback" not in ended.stderr


@pytest.mark.full("another interpreter's start")
def test_the_process_beside_the_workers_is_replaced_when_it_dies(running: Watched) -> None:
    before = healthy(running)
    (side,) = running.side
    side.kill()
    assert running.ask(running.health, "/healthz", timeout=60)[0] == 200
    assert running.side != [side]
    assert healthy(running) == before


@ANOTHER_START
@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_outlives_the_master(tmp_path: Path, sqlite_template: Path, sent: signal.Signals) -> None:
    with watched(tmp_path / "log", DATABASE_URL=f"sqlite:///{sqlite_template}") as found:
        ask_workers(found, 1)
        processes, directory = [*found.side, *found.workers], _directory(found)
        found.server.process.send_signal(sent)
        found.server.process.wait(40)
        _, alive = psutil.wait_procs(processes, timeout=15)
        assert alive == []
        for port in (found.metrics, found.health):
            with pytest.raises(OSError, match="refused"):
                socket.create_connection(("127.0.0.1", port), timeout=5)
        assert directory.exists() == (sent == signal.SIGKILL)
    with watched(tmp_path / "log", DATABASE_URL=f"sqlite:///{sqlite_template}"):
        assert not directory.exists()


@ANOTHER_START
def test_a_reload_and_an_upgrade_keep_the_ports(tmp_path: Path, sqlite_template: Path) -> None:
    pidfile = tmp_path / "pid"
    settings = {
        "DATABASE_URL": f"sqlite:///{sqlite_template}",
        "GUNICORN_CMD_ARGS": f"--no-control-socket --pid {pidfile}",
    }
    with watched(tmp_path / "log", **settings) as found:
        ask_workers(found, 10)
        (side,), workers = found.side, found.workers
        os.kill(found.server.process.pid, signal.SIGHUP)
        psutil.wait_procs(workers, timeout=40)
        ask_workers(found, 10)
        assert found.until(lambda s: total(s, "gateway_requests_total", **HEALTHY) == 20)
        assert found.side == [side]
        os.kill(found.server.process.pid, signal.SIGUSR2)
        second = Path(f"{pidfile}.2")
        end = time.monotonic() + 60
        while not second.exists() and time.monotonic() < end:
            time.sleep(0.1)
        new = psutil.Process(int(second.read_text()))
        try:
            while not [c for c in new.children() if "serving.side" in c.cmdline()] and time.monotonic() < end:
                time.sleep(0.1)
            os.kill(found.server.process.pid, signal.SIGTERM)
            found.server.process.wait(40)
            for port, path in ((found.health, "/healthz"), (found.metrics, "/metrics")):
                assert found.ask(port, path, timeout=60)[0] == 200
            assert healthy(found) == 0
        finally:
            new.terminate()
            new.wait(40)


@ANOTHER_START
def test_a_thousand_restarts_leave_a_short_scrape_and_true_sums(
    tmp_path: Path, sqlite_template: Path
) -> None:
    """Two in a hundred of the workers are killed with requests behind them, all others right away."""
    restarts, asked, highest = volume(1_000), 0, 0.0
    with watched(tmp_path / "log", DATABASE_URL=f"sqlite:///{sqlite_template}") as found:
        for number in range(restarts):
            if number % 50 == 0:
                ask_workers(found, 4)
                asked += 4
                counted = healthy(found)
                assert counted >= highest
                highest = counted
            worker = found.workers[0]
            worker.kill()
            while worker.is_running():
                time.sleep(0.005)
            while len(found.workers) < 2:
                time.sleep(0.005)
        last = found.until(lambda s: value(s, "gateway_workers") == 2)
        assert total(last, "gateway_requests_total", **HEALTHY) == asked
        files = list(_directory(found).glob("*.db"))
        assert len(files) <= 2 + 2 * 8
        (side,) = found.side
        times = []
        for _ in range(10):
            time.sleep(0.4)  # a scrape of its own, not the text of the last
            before = side.cpu_times()
            found.series()
            after = side.cpu_times()
            times.append(after.user + after.system - before.user - before.system)
        print(f"{restarts} restarts, {len(files)} files; CPU of a scrape in ms: {sorted(times)}")
        assert sorted(times)[len(times) // 2] <= SCRAPE_SECONDS


def _directory(running: Watched) -> Path:
    (side,) = running.side
    command = side.cmdline()
    return Path(command[command.index("--files") + 1])
