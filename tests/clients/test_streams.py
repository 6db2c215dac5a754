"""Both clients follow streams: over breaks and errors, a reorganisation, and a server that is stopped."""

from __future__ import annotations

import secrets
import shutil
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.api.world import ADDRESS, event, released, sent
from tests.clients import workshop
from tests.clients.conftest import ThroughNginx
from tests.clients.scripted import EVENTS, Say, Script, serving
from tests.deploy.files import free_port
from tests.serving.reporting import TOKEN, report_events
from tests.serving.server import serving as serving_gateway

ID = "0x" + "ab" * 32
CLIENTS = [
    "python",
    "python, awaited",
    pytest.param("typescript", marks=pytest.mark.system),
]


def changed(position: str, status: int, more: str = "") -> str:
    """An event of a stream."""
    data = f'"transfer_id":"{ID}","status":{status},"previous_status":1,"refund_reason":0,"seq":7{more}'
    return f'id: {position}\nevent: transfer.status\ndata: {{"timestamp":"2026","data":{{{data}}}}}\n\n'


def heard(position: str, status: int, taken_back: bool = False) -> list[object]:
    return [ID, 1, status, 0, taken_back, position]


RESET = "id: 20\nevent: reset\ndata: {}\n\n"
SCRIPTS: dict[str, tuple[list[Say], dict[str, Any]]] = {
    "it breaks, within an event too": (
        [
            Say(stream="retry: 10\nid: 5\n\n" + changed("6", 1) + changed("7", 3)[:40]),
            Say(http=503, reason="wait_busy", headers={"Retry-After": "1"}),
            Say(http=502, broken=True),
            Say(http=502, foreign={"err": "upstream down"}),
            Say(stream="retry: 10\nid: 6\n\n" + changed("7", 3) + ": nothing new\nid: 9\n\n"),
            Say(stream="retry: 10\r\nid: 9\r\n\r\n" + RESET + changed("21", 5, ',"taken_back":true')),
        ],
        {"value": [heard("6", 1), heard("7", 3), ["reset", "20"], heard("21", 5, taken_back=True)]},
    ),
    "it names no pause": (
        [
            Say(http=503, reason="wait_busy", headers={"Retry-After": "0"}),
            Say(stream="retry: 0\nid: 5\n\n"),
            Say(stream=changed("6", 1) + changed("7", 3) + changed("8", 4) + changed("9", 5)),
        ],
        {"value": [heard(position, status) for position, status in (("6", 1), ("7", 3), ("8", 4), ("9", 5))]},
    ),
    "it is not offered": (
        [Say(http=404, reason="path_not_found")],
        {"error": "GatewayError", "says": "path_not_found"},
    ),
    "another server responds": ([Say(broken=True)], {"error": "GatewayError", "says": "200"}),
}


@pytest.mark.parametrize("client", CLIENTS)
def test_stream_follows_script(client: str, tmp_path: Path) -> None:
    scripts = {str(place): Script({EVENTS: says}) for place, (says, _) in enumerate(SCRIPTS.values())}
    with serving(scripts) as base:
        cases = [
            {
                "name": name, "do": "events", "base": f"{base}/{place}", "transfer_id": ID, "many": 4,
                "ids": True, "last_id": "4", "expect": expected,
            }
            for place, (name, (_, expected)) in enumerate(SCRIPTS.items())
        ]  # fmt: skip
        check(client, cases, tmp_path)
    broken, at_once, missing, other = scripts.values()
    assert [request["last"] for _, _, request in broken.requests] == ["4", "6", "6", "6", "6", "9"]
    assert {request["transfer_id"][0] for _, _, request in broken.requests} == {ID}
    assert broken.pauses[1] >= 1, "as long as the gateway's header names"
    assert len(at_once.requests) == 3
    assert all(pause >= 2 for pause in at_once.pauses), "its own pause"
    assert len(missing.requests) == len(other.requests) == 1


def check(client: str, cases: list[dict[str, Any]], folder: Path) -> None:
    if client.startswith("python"):
        workshop.check_python(cases, {}, program=workshop.AWAITED if client != "python" else "")
    else:
        workshop.check_typescript(cases, {}, folder)


@pytest.mark.parametrize(
    ("client", "way"),
    [
        ("python", "direct"),
        pytest.param("python, awaited", "direct", marks=pytest.mark.slow),
        pytest.param("typescript", "nginx", marks=pytest.mark.system),
    ],
)
def test_stream_survives_reorganisation_and_stop(
    client: str, way: str, sqlite_template: Path, tmp_path: Path, through_nginx: ThroughNginx
) -> None:
    """Nothing is lost and nothing comes twice, of a transfer and of an account: directly, and through the
    shipped nginx.
    """
    if client == "typescript":
        workshop.typescript()  # compiled before the time runs
    shutil.copy(sqlite_template, tmp_path / "gateway.db")
    settings = {
        "DATABASE_URL": f"sqlite:///{tmp_path / 'gateway.db'}", "DOORS": "api,ingest,wait",
        "INGEST_TOKENS": TOKEN, "WEB_CONCURRENCY": "1", "PORT": str(free_port()),
    }  # fmt: skip
    transfer_id = f"0x{secrets.token_hex(32)}"
    steps = [(0, 1, False), (1, 0, True), (0, 1, False), (1, 5, False)]
    expected = {"value": [[transfer_id, before, after, 0, back] for before, after, back in steps]}
    port = int(settings["PORT"])
    base = f"http://127.0.0.1:{port}" if way == "direct" else through_nginx(port)
    subjects = ({"transfer_id": transfer_id}, {"account": ADDRESS.upper().replace("0X", "0x")})
    cases = [
        {"name": str(each), "do": "events", "base": base, "many": 4, "expect": expected, **each}
        for each in subjects
    ]
    failed: list[BaseException] = []

    def follow() -> None:
        try:
            check(client, cases, tmp_path)
        except BaseException as error:
            failed.append(error)

    following = threading.Thread(target=follow)
    with serving_gateway("wsgi:app", tmp_path / "log", **settings) as server:
        following.start()
        until(lambda: server.connections() == len(cases), following)
        report_events(server, in_block(sent(transfer_id), 100, "aa"))
        time.sleep(1)
        report_events(server, event("chain.reorged", timedelta(seconds=30), chain_id=1, from_block=100))
    with serving_gateway("wsgi:app", tmp_path / "log", **settings) as server:
        report_events(server, in_block(sent(transfer_id), 101, "bb"))
        report_events(server, released(transfer_id, timedelta(seconds=5)))
        following.join(timeout=90)
        assert not following.is_alive()
    assert not failed, failed


def in_block(fact: dict[str, Any], number: int, digits: str) -> dict[str, Any]:
    return fact | {"id": f"{fact['id']}:{number}", "block": number, "block_hash": "0x" + digits * 32}


def until(holds: Callable[[], bool], while_alive: threading.Thread) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        assert while_alive.is_alive()
        time.sleep(0.1)
    time.sleep(1)  # the request follows the connection
