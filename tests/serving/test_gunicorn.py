"""A real gunicorn with two workers, on both databases."""

from __future__ import annotations

import json
import re
import resource
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from config import INSTANCE
from tests.api.shapes import ZEROES
from tests.databases import BACKENDS
from tests.serving.migrated import migrated
from tests.serving.server import Server, ended_server, serving

PROBE = "tests.serving.probe:app"


@pytest.fixture(scope="module", params=BACKENDS)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Two workers on an empty, migrated database of each kind."""
    folder = tmp_path_factory.mktemp("serving")
    with (
        migrated(request, request.param, folder) as url,
        serving(PROBE, folder / "log", DATABASE_URL=url) as running,
    ):
        yield running


def test_workers_share_no_database_connection(server: Server) -> None:
    backends: dict[int, set[int]] = defaultdict(set)
    with ThreadPoolExecutor(8) as pool:
        for _ in range(25):
            for response in pool.map(lambda _: server.request("GET", "/probe"), range(8)):
                assert response.status == 200
                answer = json.load(response)
                backends[answer["pid"]].update(answer["backends"])
            if len(backends) == 2:
                break
    first, second = backends.values()
    assert server.process.pid not in backends
    assert not first & second


def test_writers_in_two_processes_take_turns(server: Server) -> None:
    pids: set[int] = set()
    seen: list[int] = []
    with ThreadPoolExecutor(8) as pool:
        for _ in range(25):
            # /count of tests/serving/probe.py reads, then writes
            for response in pool.map(lambda _: server.request("POST", "/count"), range(48)):
                assert response.status == 200
                answer = json.load(response)
                pids.add(answer["pid"])
                seen.append(int(answer["seen"]))
            if len(pids) == 2:
                break
    assert len(pids) == 2
    assert sorted(seen) == list(range(len(seen)))


def test_empty_answer_is_not_held_back(server: Server) -> None:
    connection = server.connect(seconds=5)
    for method in ("HEAD", "OPTIONS", "GET", "HEAD"):
        connection.request(method, "/probe")
        response = connection.getresponse()
        assert response.status == 200
        assert bool(response.read()) == (method == "GET")
    connection.close()


def test_long_query_reaches_the_application(server: Server) -> None:
    response = server.request("GET", "/probe?amt=" + "9" * 8000)
    assert response.status == 200
    assert json.load(response)["query"] == 8004


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/probe?amt=" + "9" * 9000, {}, 414),
        ("/probe", {"X-Long": "9" * 9000}, 431),
        ("/probe", {f"X-{number}": "9" for number in range(120)}, 431),
        ("/probe", {"Bad header": "9"}, 400),
        ("/probe", {"Expect": "nothing"}, 417),
    ],
)
def test_gunicorn_refuses_with_the_envelope(
    server: Server, path: str, headers: dict[str, str], status: int
) -> None:
    response = server.request("GET", path, headers)
    assert response.status == status
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["X-Gateway-Reason"] == "bad_request"
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    assert "X-Gateway-Reason" in response.headers["Access-Control-Expose-Headers"]
    assert response.headers["Cache-Control"] == "no-store"
    body = json.load(response)
    assert body.pop("err")["code"] == 500
    for zeroes in ZEROES.values():
        assert body.items() >= zeroes.items()


def test_head_is_bounded_as_a_whole(server: Server) -> None:
    """Each header may be long and there may be many: together they would be 819 kB."""
    connection = server.connect()
    for count in (8, 8, 9):  # on one connection: each request has its own head
        connection.putrequest("GET", "/probe")
        for number in range(count):
            connection.putheader(f"X-{number}", "a" * 8_000)
        with suppress(OSError):
            connection.endheaders()
        response = connection.getresponse()
        content = json.load(response)
        if count == 8:
            assert response.status == 200
    assert response.status == 431
    assert content["err"]["msg"] == (
        "Error parsing headers: 'the request line and the headers have more than 65536 bytes'; "
        "send fewer or shorter headers"
    )
    assert content.keys() > {"status", "eq_value_token_amt", "chains"}


def test_caller_cannot_claim_another_scheme(server: Server) -> None:
    response = server.request("GET", "/probe", {"X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1"})
    assert json.load(response)["scheme"] == "http"


def test_instances_have_separate_control_sockets(tmp_path: Path, sqlite_template: Path) -> None:
    settings = {
        "DATABASE_URL": f"sqlite:///{sqlite_template}",
        "GUNICORN_CMD_ARGS": "",
        "WEB_CONCURRENCY": "1",
    }
    with (
        serving("wsgi:app", tmp_path / "one", **settings) as one,
        serving("wsgi:app", tmp_path / "two", **settings, SCRIPT_NAME="/bridge") as two,
    ):
        assert (one.below, two.below) == ("", "/bridge")
        sockets = [INSTANCE / f"gunicorn-127.0.0.1-{running.process.pid}.ctl" for running in (one, two)]
        assert all(wait_for(socket) for socket in sockets), (tmp_path / "one").read_text()
        assert two.stop() == 0
        assert [socket.exists() for socket in sockets] == [True, False]
        assert one.request("GET", "/healthz").status == 200
    assert not sockets[0].exists()


def wait_for(path: Path) -> bool:
    """Whether the file appears within ten seconds."""
    deadline = time.monotonic() + 10
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return path.exists()


def test_gunicorn_reports_bad_setting_in_one_line() -> None:
    ended = ended_server(DOORS="api,cellar")
    assert ended.returncode == 1
    assert ended.stderr.startswith("DOORS: ")
    assert ended.stderr.count("\n") == 1
    assert ended.stdout == ""


@pytest.mark.parametrize(
    ("limit", "wanted"),
    [
        pytest.param("14000", 18_000, id="more-than-usual-files"),
        pytest.param("100000", 104_000, id="more-than-the-system-allows"),
    ],
)
def test_worker_connections_follow_wait_limit(sqlite_template: Path, limit: str, wanted: int) -> None:
    """As far as the system lets this process have open files."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    settings = {"DATABASE_URL": f"sqlite:///{sqlite_template}", "WAIT_LIMIT": limit}
    printed = ended_server("--print-config", **settings).stdout
    (found,) = re.findall(r"^worker_connections\s*= (\d+)$", printed, re.MULTILINE)
    allowed = most - 256 if most != resource.RLIM_INFINITY else wanted
    assert int(found) == min(wanted, allowed)
