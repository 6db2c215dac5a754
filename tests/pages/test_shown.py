"""What the pages show of logs, streams and answers is what the gateway writes, with other numbers."""

from __future__ import annotations

import json
import logging
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from app.observability.logs import EntryFormatter
from app.sandbox.catalogue import RECORDED_TRANSFER
from tests.deploy.files import free_port
from tests.grpcweb.node import node
from tests.serving.server import Server, serving
from tests.site.snippets import block_of

ALARMED = block_of("docs/alerts.md", "curl -fsS -H")
VERSION = block_of("docs/releases.md", '{"err"')
TEXT_LOG = block_of("docs/logs.md", "2026-11-22T")
JSON_LOG = block_of("docs/logs.md", '{"time"')
METRICS = block_of("docs/metrics.md", "METRICS_PORT")
EVENT_SOURCE = block_of("docs/waiting.md", "const events = new EventSource")
STREAM = block_of("docs/waiting.md", "retry: 2000")
WEBHOOK = block_of("docs/webhooks.md", '{"type": "transfer.status"')
RUN = [ALARMED, VERSION, TEXT_LOG, JSON_LOG, METRICS, EVENT_SOURCE, STREAM, WEBHOOK]

FOLLOW = f"/v2/transferEvents?transfer_id={RECORDED_TRANSFER}"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the gateway."""
    return tmp_path_factory.mktemp("logged") / "log"


@pytest.fixture(scope="module")
def ports() -> dict[str, str]:
    """Those of the page about metrics, and those of the gateway."""
    return {"9100": str(free_port()), "9101": str(free_port())}


@pytest.fixture(scope="module")
def server(sandbox: Path, log: Path, ports: dict[str, str]) -> Iterator[Server]:
    """A gateway whose callers may wait, with figures for operators, and a log for programs."""
    settings = {"LOG_FORMAT": "json", "ACCESS_LOG": "all", "DOORS": "api,wait", "WEB_CONCURRENCY": "1"}
    settings["DATABASE_URL"] = f"sqlite:///{shutil.copy(sandbox, log.with_name('gateway.db'))}"
    settings |= {name: ports[port] for name, port in re.findall(r"(\w+_PORT)=(\d+)", METRICS.code)}
    with serving("wsgi:app", log, **settings) as running:
        yield running


def keys(value: Any) -> Any:
    """The keys of a JSON value, at every depth."""
    return {name: keys(each) for name, each in value.items()} if isinstance(value, dict) else None


def events(text: str) -> Iterator[dict[str, str]]:
    """The fields of each server-sent event."""
    for event in text.split("\n\n"):
        yield dict(line.split(": ", 1) for line in event.splitlines() if not line.startswith(":"))


def test_version_and_log_entry(server: Server, log: Path) -> None:
    with closing(server.request("GET", "/version")) as answer:
        assert keys(json.loads(answer.read())) == keys(json.loads(VERSION.code))
    shown = json.loads(JSON_LOG.code)
    server.request("GET", "/v2/getTransfer?key=0x77").read()
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    (entry,) = (each for each in entries if each.get("operation") == "v2.get_transfer")
    assert keys(entry) == keys(shown)
    said = shown["message"].replace(shown["operation"], entry["operation"])
    assert numbered(entry["message"]) == numbered(said)


@pytest.mark.system
def test_addresses_for_metrics_and_health(server: Server, ports: dict[str, str]) -> None:
    start, *curls = METRICS.code.splitlines()
    assert start.endswith(" make run")
    for curl, words in zip(curls, ("# TYPE gateway_", '"err":null'), strict=True):
        here = re.sub("|".join(ports), lambda shown: ports[shown[0]], curl)
        done = subprocess.run(["sh", "-c", here], capture_output=True, text=True, check=True)
        assert words in done.stdout


def test_events_of_a_stream(server: Server) -> None:
    answer = server.request("GET", FOLLOW)
    text = b"".join(answer.readline() for _ in range(7)).decode()
    answer.close()
    begin, event = list(events(text))[:2]
    shown_begin, shown, _, *_ = events(STREAM.code)
    assert (begin.keys(), event.keys()) == (shown_begin.keys(), shown.keys())
    for also in (shown["data"], WEBHOOK.code):
        assert keys(json.loads(event["data"])) == keys(json.loads(also))


@pytest.mark.system
def test_page_follows_a_transfer(server: Server) -> None:
    code = EVENT_SOURCE.code.replace('"/v2/', f'"{server.base}/v2/').replace("0x77d7…", RECORDED_TRANSFER)
    page = f"const show = (status) => {{ if (status === 5) process.exit(); }};\n{code}"
    command = [node(), "--experimental-eventsource", "--no-warnings", "-e", page]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_failure_in_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(EntryFormatter("console"))
    first, trace = TEXT_LOG.code.splitlines()
    _, level, _, name, message = first.split(" ", 4)
    try:
        raise ValueError
    except ValueError:
        failed = sys.exc_info()
    logger = name.removesuffix(":")
    handler.emit(
        logging.LogRecord(logger, logging.getLevelNamesMapping()[level], "", 1, message, None, failed)
    )
    written = capsys.readouterr().out.splitlines()
    assert numbered(written[0]) == numbered(first)
    assert written[1] == trace


def numbered(line: str) -> str:
    """The line with other numbers."""
    return re.sub(r"\d+(\.\d+)?", "N", line)


@pytest.mark.system
def test_alarmed_operator_gets_answer_of_clients(server: Server) -> None:
    command = ALARMED.code.replace("https://gateway.example.org", server.base)
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert "transfer not found" in done.stdout
