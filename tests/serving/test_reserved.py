"""Metrics and health of a real gunicorn: right whatever happens to workers, and apart from their callers."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from statistics import median

import psutil
import pytest

from app.monitoring.figures import EVERY_SECONDS
from app.release import VERSION
from serving.address import Address
from serving.reserved import further_addresses
from tests.amounts import few_or_many
from tests.applications import make_settings
from tests.metrics.counted import total, value
from tests.serving.server import ended_server
from tests.serving.watched import Watched, watched

SCRAPE_SECONDS = 0.020
"""Of a processor. It takes a tenth of this; with files of a thousand workers it would take seconds."""
HEALTHY = {"door": "health", "operation": "up", "code": "200"}


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Watched]:
    """Two workers on an empty database."""
    log = tmp_path_factory.mktemp("reserved") / "log"
    with watched(log, DATABASE_URL=f"sqlite:///{sqlite_template}") as found:
        yield found


def request_health(running: Watched, number: int) -> None:
    for _ in range(number):
        assert running.server.request("GET", "/healthz").status == 200


def healthy(running: Watched) -> float:
    return total(running.series(), "gateway_requests_total", **HEALTHY)


def test_reserved_ports_serve_only_own_paths(running: Watched) -> None:
    assert running.server.request("GET", "/metrics").status == 404
    assert running.request(running.health, "/metrics")[0] == 404
    assert running.request(running.metrics, "/readyz")[0] == 404
    assert running.request(running.metrics, "/metrics", method="POST")[0] == 405
    for path in ("/", "/v2/getTransferConfigs", "/version", "/docs", "/openapi.json", "//metrics"):
        assert running.request(running.health, path)[0] == running.request(running.metrics, path)[0] == 404, (
            path
        )
    assert running.request(running.metrics, "/metrics?name=x", method="HEAD") == (200, b"")
    assert json.loads(running.request(running.health, "/healthz")[1]) == {"err": None}
    status, body = running.request(running.health, "/readyz")
    assert (status, json.loads(body)) == (200, json.load(running.server.request("GET", "/readyz")))
    found = running.until(lambda s: value(s, "gateway_config_age_seconds") is not None)
    assert value(found, "gateway_ready") == 1
    assert value(found, "gateway_build_info", version=VERSION) == 1
    assert value(found, "gateway_transfers", status="5") == 0
    assert (value(found, "gateway_config_age_seconds") or 99) < 10


def test_health_address_follows_the_workers(running: Watched) -> None:
    """An address that answers while nobody serves keeps a dead gateway in service."""
    workers = running.workers
    assert len(workers) == 2
    time.sleep(3 * EVERY_SECONDS)  # each has reported since when it has its configuration
    for worker in workers:
        worker.suspend()
    try:
        for path in ("/healthz", "/readyz"):
            with pytest.raises(TimeoutError):
                running.request(running.health, path, timeout=3)
        workers[0].resume()
        assert running.request(running.health, "/readyz", timeout=20)[0] == 200
        first = value(running.series(), "gateway_config_age_seconds") or 0
        time.sleep(1.2)
        later = value(running.series(), "gateway_config_age_seconds") or 0
        assert later > first + 1, "the age of what the other worker has goes on"
    finally:
        for worker in workers:
            worker.resume()
    assert running.request(running.health, "/readyz")[0] == 200


def test_callers_cannot_fill_the_other_addresses(tmp_path: Path, sqlite_template: Path) -> None:
    """All places of all workers are taken by callers that request much and read nothing."""
    settings = {
        "DATABASE_URL": f"sqlite:///{sqlite_template}",
        "TRUSTED_PROXIES": "1",  # one address may take all of them
        "GUNICORN_CMD_ARGS": "--no-control-socket --worker-connections 20",
    }
    with watched(tmp_path / "log", **settings) as found, ExitStack() as stack:
        address = ("127.0.0.1", found.server.port)
        for _ in range(4 * 20):
            client = stack.enter_context(socket.create_connection(address, timeout=5))
            client.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 400)
        end = time.monotonic() + 20
        while _is_answered(found):
            assert time.monotonic() < end, "there is still a place for callers"
        for _ in range(5):
            for path in ("/healthz", "/readyz"):
                started = time.monotonic()
                assert found.request(found.health, path)[0] == 200
                assert time.monotonic() - started < 4
        assert value(found.series(), "gateway_ready") == 1


def _is_answered(found: Watched) -> bool:
    """Whether a caller has a place within a second."""
    connection = found.server.connect(seconds=1)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status == 200
    except TimeoutError:
        return False
    finally:
        connection.close()


def test_slow_and_malformed_clients_do_no_harm(running: Watched) -> None:
    with ExitStack() as stack:
        for number in range(300):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", running.health), timeout=5))
            if number % 3:
                client.sendall((b"GET /healthz HTTP/1.1\r\nX-", b"\x16\x03\x01\x02\x00\x01")[number % 2])
        started = time.monotonic()
        assert running.request(running.health, "/healthz")[0] == 200
        assert time.monotonic() - started < 4
    workers = running.workers
    for garbage in (b"\x00" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"A" * 70_000 + b"\r\n\r\n"):
        address = ("127.0.0.1", running.metrics)
        with socket.create_connection(address, timeout=10) as client, suppress(OSError):
            client.sendall(garbage)
            client.shutdown(socket.SHUT_WR)
            answer = client.recv(4096)
            assert b"Traceback" not in answer
            assert b"AAAA" not in answer
    assert running.request(running.metrics, "/metrics")[0] == 200
    assert running.workers == workers


def test_unusable_address_error_names_setting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for host, number, said in (
            ("127.0.0.1", port, f"METRICS_PORT: {port} on 127.0.0.1: Address already in use"),
            ("192.0.2.1", 0, "HOST: 192.0.2.1 is not an address of this machine"),
            ("no such host", 0, "HOST: no such host: "),
        ):
            with pytest.raises(SystemExit) as refused:
                Address(host, number, "metrics").refuse_if_taken()
            assert str(refused.value).startswith(said)
    Address("127.0.0.1", port, "metrics").refuse_if_taken()


def test_health_is_public_metrics_on_loopback() -> None:
    """Health is where the gateway is."""
    settings = make_settings("sqlite://", host="0.0.0.0", metrics_port=9100, health_port=9101)
    assert [each.bind for each in further_addresses(settings)] == ["127.0.0.1:9100", "0.0.0.0:9101"]
    settings = make_settings("sqlite://", host="::1", health_port=9101)
    assert [each.bind for each in further_addresses(settings)] == ["[::1]:9101"]
    assert further_addresses(make_settings("sqlite://")) == []


@pytest.mark.parametrize(
    ("options", "name", "said"),
    [
        # It would replace all addresses, and the last of them would be taken for the one of health.
        pytest.param(
            ("--bind", "127.0.0.1:0"), "HEALTH_PORT", "the server does not listen at {port}", id="bind option"
        ),
        pytest.param(
            (), "METRICS_PORT", "{port} on 127.0.0.1: Address already in use; choose another", id="metrics"
        ),
        pytest.param((), "PORT", "{port} on 127.0.0.1: Address already in use; choose another", id="public"),
    ],
)
def test_server_refuses_unusable_port(
    sqlite_template: Path, options: tuple[str, ...], name: str, said: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = {"DATABASE_URL": f"sqlite:///{sqlite_template}", name: str(port)}
        ended = ended_server(*options, **settings)
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr
    assert f"{name}: {said.format(port=port)}" in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_the_master(tmp_path: Path, sqlite_template: Path, sent: signal.Signals) -> None:
    with watched(tmp_path / "log", DATABASE_URL=f"sqlite:///{sqlite_template}") as found:
        request_health(found, 1)
        processes, directory = found.workers, _directory(found)
        found.server.process.send_signal(sent)
        found.server.process.wait(40)
        _, alive = psutil.wait_procs(processes, timeout=15)
        assert alive == []
        for port in (found.metrics, found.health):
            with pytest.raises(OSError, match="refused"):
                socket.create_connection(("127.0.0.1", port), timeout=5)
        # What SIGKILL leaves is removed by the next gateway that starts here, perhaps by one of another test.
        assert sent == signal.SIGKILL or not directory.exists()


def test_reload_and_upgrade_keep_ports(tmp_path: Path, sqlite_template: Path) -> None:
    pidfile = tmp_path / "pid"
    settings = {
        "DATABASE_URL": f"sqlite:///{sqlite_template}",
        "GUNICORN_CMD_ARGS": f"--no-control-socket --pid {pidfile}",
    }
    with watched(tmp_path / "log", **settings) as found:
        request_health(found, 10)
        workers = found.workers
        os.kill(found.server.process.pid, signal.SIGHUP)
        psutil.wait_procs(workers, timeout=40)
        request_health(found, 10)
        assert found.until(lambda s: total(s, "gateway_requests_total", **HEALTHY) == 20)
        os.kill(found.server.process.pid, signal.SIGUSR2)
        second = Path(f"{pidfile}.2")
        end = time.monotonic() + 60
        while not second.exists() and time.monotonic() < end:
            time.sleep(0.1)
        new = psutil.Process(int(second.read_text()))
        try:
            while len(new.children()) < 2 and time.monotonic() < end:
                time.sleep(0.1)
            os.kill(found.server.process.pid, signal.SIGTERM)
            found.server.process.wait(40)
            for port, path in ((found.health, "/healthz"), (found.metrics, "/metrics")):
                assert found.request(port, path, timeout=60)[0] == 200
            assert healthy(found) == 1, "the new master counts from nothing"
        finally:
            new.terminate()
            new.wait(40)


@pytest.mark.parametrize("kills", few_or_many(5, 1_000))
def test_counts_survive_killed_workers(running: Watched, kills: int) -> None:
    """Every fifth of the workers is killed after some requests, all others at once. Files stay few."""
    counted = healthy(running)
    for number in range(kills):
        if number % 5 == 0:
            request_health(running, 30)
            counted += 30
            assert running.until(lambda s: total(s, "gateway_requests_total", **HEALTHY) == counted)  # noqa: B023
        worker = running.workers[0]
        worker.kill()
        worker.wait(10)
        while len(running.workers) < 2:
            time.sleep(0.005)
    last = running.until(lambda s: value(s, "gateway_workers") == 2)
    assert total(last, "gateway_requests_total", **HEALTHY) == counted
    files = list(_directory(running).glob("*.db"))
    assert len(files) <= 2 + 2 * 8
    times = []
    for _ in range(10):
        time.sleep(0.4)  # a scrape of its own, not the text of the last
        before = _processor_seconds(running)
        running.series()
        times.append(_processor_seconds(running) - before)
    print(f"{kills} kills, {len(files)} files; CPU of a scrape in ms: {sorted(times)}")
    assert median(times) <= SCRAPE_SECONDS


def _processor_seconds(running: Watched) -> float:
    times = [worker.cpu_times() for worker in running.workers]
    return sum(each.user + each.system for each in times)


def _directory(running: Watched) -> Path:
    """Where its workers count."""
    held = {Path(file.path).parent for worker in running.workers for file in worker.open_files()}
    (directory,) = (path for path in held if path.name.startswith("gateway-metrics-"))
    return directory
