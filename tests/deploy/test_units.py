"""The installation of docs/operations.md#systemd: all units at once, by their own commands and settings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.deploy.files import DEPLOY, ROOT, free_port, units
from tests.deploy.stores import (
    OWNER_PASSWORD,
    PASSWORD,
    folder_of_somebody,
    pgbouncer,
    postgresql,
    redis_server,
)
from tests.faults_rig.programs import status_of

READY_SECONDS = 120
"""For eight processes that start at once, on a machine that does other things."""

PORTS = ("PORT", "HEALTH_PORT", "METRICS_PORT")
pytestmark = [pytest.mark.slow, pytest.mark.system]


@pytest.fixture(scope="module")
def credentials() -> Iterator[Path]:
    """The stores as they are shipped, and the folder of the secrets by which they are reached."""
    with ExitStack() as stack:
        folder = stack.enter_context(folder_of_somebody())
        server = stack.enter_context(postgresql(folder))
        pooler = stack.enter_context(pgbouncer(folder, server))
        redis = stack.enter_context(redis_server(folder))
        secrets = folder / "secrets"
        secrets.mkdir()
        quoted = {name: word.replace(" ", "%20") for name, word in WORDS.items()}
        urls = {
            "database_owner_url": f"postgresql://gateway_owner:{quoted['owner']}@127.0.0.1:{server}/gateway",
            "database_url": f"postgresql://gateway:{quoted['own']}@127.0.0.1:{pooler}/gateway",
            "rate_limit_storage_url": redis,
            "secret_key": "s" * 64,
            "audit_key": "a" * 64,
        }
        for name, text in urls.items():
            (secrets / name).write_text(f"{text}\n")
        yield secrets


WORDS = {"owner": OWNER_PASSWORD, "own": PASSWORD}


def environment_of(unit: Mapping[str, list[str]], instance: str, credentials: Path) -> dict[str, str]:
    """What systemd gives to a unit's process; the ports are free ones."""
    found = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    for file in unit.get("EnvironmentFile", ()):
        text = (DEPLOY / "systemd/env" / Path(file.replace("%i", instance)).name).read_text()
        found |= dict(line.split("=", 1) for line in text.splitlines() if line and line[0] != "#")
    for line in unit["Environment"]:
        found |= dict(word.split("=", 1) for word in line.split(" "))
    found |= {name: str(free_port()) for name in PORTS if name in found}
    return {name: value.replace("%d", str(credentials)) for name, value in found.items()}


def command_of(unit: Mapping[str, list[str]]) -> list[str]:
    (line,) = unit["ExecStart"]
    assert line.startswith("/opt/gateway/.venv/bin/")
    name, *words = line.removeprefix("/opt/gateway/.venv/bin/").split()
    return [str(Path(sys.executable).parent / name), *words]


@contextmanager
def started(command: list[str], environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=60)


def test_units_of_installation_get_ready(credentials: Path, tmp_path: Path) -> None:
    install = (DEPLOY / "install").read_text()
    (line,) = re.findall(r"^systemctl enable -q --now (gateway@.*)$", install, re.M)
    names = [*line.split(), "gateway-watcher"]
    known = units()
    migrate = known["gateway-migrate.service"]
    environment = environment_of(migrate, "", credentials)
    subprocess.run(command_of(migrate), cwd=ROOT, env=environment, check=True, capture_output=True)
    assert {file.stem for file in (DEPLOY / "systemd/env").glob("*.env")} - {"gateway", "chains"} == {
        name.partition("@")[2] for name in names if "@" in name
    }
    with ExitStack() as stack:
        processes, health = {}, {}
        for name in names:
            template, _, instance = name.partition("@")
            unit = known[f"{template}@.service" if instance else f"{name}.service"]
            environment = environment_of(unit, instance, credentials)
            log = tmp_path / name
            processes[name] = stack.enter_context(started(command_of(unit), environment, log))
            if instance:
                health[name] = int(environment["HEALTH_PORT"])
        until = time.monotonic() + READY_SECONDS
        waiting = dict(health)
        while waiting:
            waiting = {name: port for name, port in waiting.items() if status_of(port, "/readyz") != 200}
            logs = {name: (tmp_path / name).read_text()[-2_000:] for name in names}
            assert time.monotonic() < until, (waiting, logs)
            assert {name: each.poll() for name, each in processes.items()} == dict.fromkeys(names), logs
            time.sleep(0.2)
        assert {status_of(port, "/metrics") for port in health.values()} == {404}
    for name in names:
        log = (tmp_path / name).read_text()
        assert "Traceback" not in log, (name, log)
        assert "RATE_LIMIT_STORAGE_URL" not in log, "the guide takes this for a Redis that does not count"
