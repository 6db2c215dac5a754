"""Services that strangers write with the Python client: FastAPI and aiohttp, typed and run."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import httpx
import pytest

from app.sandbox.catalogue import sandbox_id
from app.values.codes import TransferHistoryStatus
from scripts import clients
from tests.clients import workshop
from tests.deploy.files import free_port
from tests.serving.reporting import TOKEN, new_transfer, release
from tests.serving.sandbox import serving_sandbox
from tests.serving.server import Server

PROGRAMS = clients.PYTHON / "tests" / "services"
COMMANDS = {
    "fastapi_service": ("-m", "uvicorn", "fastapi_service:app", "--log-level", "warning", "--port"),
    "aiohttp_service": ("-m", "aiohttp_service"),
}
PACKAGES = ("fastapi", "uvicorn", "aiohttp", "./clients/python")
DONE = TransferHistoryStatus.TRANSFER_COMPLETED
READY = TransferHistoryStatus.TRANSFER_REFUND_TO_BE_CONFIRMED
SENT = TransferHistoryStatus.TRANSFER_SUBMITTING
USER = "0x" + "5a" * 18 + "0017"
WAITING, SECONDS = 20, 60


@dataclass(frozen=True)
class Service:
    """One that runs, and an HTTP client for it."""

    http: httpx.Client

    def status_of(self, path: str) -> int:
        answer = self.http.get(path)
        assert answer.status_code == HTTPStatus.OK, answer.text
        found: int = answer.json()["status"]
        return found


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Server]:
    settings = {"DOORS": "api,ingest,wait", "INGEST_TOKENS": TOKEN, "WEB_CONCURRENCY": "1"}
    with serving_sandbox(tmp_path_factory.mktemp("gateway"), sqlite_template, **settings) as server:
        yield server


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> str:
    return workshop.project(tmp_path_factory.mktemp("project"), *PACKAGES)


@pytest.fixture(params=[*COMMANDS])
def service(
    request: pytest.FixtureRequest, gateway: Server, interpreter: str, tmp_path: Path
) -> Iterator[Service]:
    port = free_port()
    environment = {"GATEWAY": gateway.base, "PATH": os.environ["PATH"]}
    command = [interpreter, *COMMANDS[request.param], str(port)]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(command, cwd=PROGRAMS, env=environment, stdout=log, stderr=log) as process,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=SECONDS, trust_env=False) as http,
    ):
        try:
            until(lambda: process.poll() is None and answers(http))
            yield Service(http)
        finally:
            process.terminate()
    assert "Traceback" not in (tmp_path / "log").read_text()


@pytest.mark.parametrize("name", ["fastapi_service", pytest.param("aiohttp_service", marks=pytest.mark.slow)])
def test_service_has_types(interpreter: str, name: str) -> None:
    workshop.check_types(interpreter, PROGRAMS / f"{name}.py")


def test_service_streams_waits_and_quotes(service: Service, gateway: Server) -> None:
    """In this order: the first begins without any connection to the gateway."""
    left_stream_leaves_no_connection(service, gateway)
    waits_for_many(service, gateway)
    shows_quotes_and_transfers(service)


def left_stream_leaves_no_connection(service: Service, gateway: Server) -> None:
    """What a service's own client no longer reads, the service does not read from the gateway either."""
    assert gateway.connections() == 0
    transfer_id = new_transfer(gateway)
    with service.http.stream("GET", f"/transfers/{transfer_id}/events") as response:
        until(lambda: gateway.connections() == 1)
        release(gateway, transfer_id)
        lines = response.iter_lines()
        assert [json.loads(next(lines))["status"] for _ in range(2)] == [SENT, DONE]
    until(lambda: gateway.connections() == 0)


def waits_for_many(service: Service, gateway: Server) -> None:
    """All at a time, by one client of the gateway and on one loop; other requests are answered meanwhile."""
    transfer_id = new_transfer(gateway)
    with ThreadPoolExecutor(WAITING) as threads:
        ends = [threads.submit(service.status_of, f"/transfers/{transfer_id}/end") for _ in range(WAITING)]
        until(lambda: gateway.connections() >= WAITING)
        assert service.status_of(f"/transfers/{transfer_id}") == SENT
        assert not any(each.done() for each in ends)
        release(gateway, transfer_id)
        assert {each.result() for each in ends} == {DONE}


def shows_quotes_and_transfers(service: Service) -> None:
    quote = service.http.get("/quotes/USDT/25000000")
    assert quote.json()["contract"] == "0x5427FEFA711Eff984124bFBB1AB6fbf5E3DA1820"
    assert int(quote.json()["received"]) > 0
    refused = service.http.get("/quotes/USDT/1")
    assert refused.status_code == HTTPStatus.UNPROCESSABLE_ENTITY
    assert refused.json()["detail"] == "amount_too_small"
    assert service.http.get(f"/accounts/{USER}").json() == [READY]
    with ThreadPoolExecutor(WAITING) as threads:
        paths = [f"/transfers/{sandbox_id(DONE)}"] * WAITING
        assert set(threads.map(service.status_of, paths)) == {DONE}


def answers(http: httpx.Client) -> bool:
    """Without a request to the gateway."""
    try:
        return http.get("/nothing").status_code == HTTPStatus.NOT_FOUND
    except httpx.TransportError:
        return False


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
