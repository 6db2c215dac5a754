"""What docs/webhooks.md says to try, done as it stands: from a key to a verified event."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import IO, Any

from tests.applications import application
from tests.curl import curl_of
from tests.serving.server import Server
from tests.site.conftest import LOOPBACK
from tests.site.snippets import ROOT, blocks_of

RUN = [
    block
    for block in blocks_of("docs/webhooks.md")
    if block.heading == "Try it" or block.heading[0].isdigit()
]
START, KEY, SUBSCRIBE, RECEIVER, RECEIVE, SEND, REQUEST_REFUND = (block.code for block in RUN)
PLACE = "127.0.0.1:9000"
WAIT_SECONDS = 20


def request(server: Server, command: str) -> Any:
    method, path, headers, body = curl_of(command[command.index("curl ") :])
    with closing(server.connect()) as connection:
        connection.request(method, path, body, headers)
        answer = json.loads(connection.getresponse().read())
    assert answer["err"] is None
    return answer


def wait_until_accepted(server: Server, key: str) -> None:
    """A process that has just read the keys reads them again after ``CONFIG_MAX_AGE_SECONDS``."""
    for _ in range(10 * WAIT_SECONDS):
        with closing(server.connect()) as connection:
            connection.request("GET", "/v2/webhooks", headers={"Authorization": f"Bearer {key}"})
            if connection.getresponse().status != HTTPStatus.UNAUTHORIZED:
                return
        time.sleep(0.1)
    raise AssertionError("the gateway does not accept its new key")


def flask(command: str, folder: Path) -> str:
    """What a flask of the page prints."""
    words = command.split(" --app wsgi ")[1].split()
    url = f"sqlite:///{folder / 'gateway.db'}"
    # Without a key of its own it has that of the machine, as the gateway: secrets are made by it.
    with application(url, webhook_allow_networks=(LOOPBACK,), audit_key="") as app:
        done = app.test_cli_runner().invoke(args=words)
    assert done.exit_code == 0, done.output
    return done.stdout


def secret_of(folder: Path) -> str:
    """What the page's command finds in the answer that was stored in the folder."""
    command = RECEIVE.partition("$(")[2].partition(")\n")[0].split(" -c ")[1].strip('"')
    found = subprocess.run(
        [sys.executable, "-c", command], cwd=folder, check=True, capture_output=True, text=True
    )
    return found.stdout.strip()


@contextmanager
def receiving(port: int, folder: Path, secret: str) -> Iterator[IO[str]]:
    """The page's receiver as a process; what it prints."""
    program = folder / "receiver.py"
    program.write_text(RECEIVER.replace("9000", str(port)))
    variables = {"WEBHOOK_SECRET": secret, "PYTHONPATH": str(ROOT / "clients" / "python")}
    command = [sys.executable, str(program)]
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) as process:
        try:
            for _ in range(10 * WAIT_SECONDS):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            assert process.stdout
            yield process.stdout
        finally:
            process.terminate()


def test_webhook_page_shares_settings_of_processes() -> None:
    assert START.split()[0] == SEND.split()[0] == f"WEBHOOK_ALLOW_NETWORKS={LOOPBACK}"
    assert "WEBHOOK_SECRET=" in RECEIVE
    assert "PYTHONPATH=clients/python" in RECEIVE


def test_page_leads_to_verified_event(server: Server, folder: Path, tmp_path: Path) -> None:
    """By the commands of the page alone."""
    name, make = KEY.strip().removesuffix(")").split("=$(")
    assert name == "export GATEWAY_KEY"
    key = flask(make, folder).removesuffix("\n")
    assert key.startswith("gwk_") and key.isascii() and "\n" not in key
    wait_until_accepted(server, key)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    subscribe = SUBSCRIBE.replace("$GATEWAY_KEY", key).replace(PLACE, f"127.0.0.1:{port}")
    command, _, file = subscribe.rpartition(" > ")
    answer = request(server, command.rstrip().removesuffix("\\"))

    (tmp_path / file.strip()).write_text(json.dumps(answer))
    with receiving(port, tmp_path, secret_of(tmp_path)) as lines:
        request(server, REQUEST_REFUND)
        printed = flask(f"{SEND.strip()} --once", folder)
        assert "attempts to send: 1" in printed
        line = lines.readline()
    assert line.startswith("verified: transfer.status {")
    for part in ("'status': 7", "'previous_status': 6"):
        assert part in line
