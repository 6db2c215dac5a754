"""No request fails while two gateways behind nginx are upgraded one after the other."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.amounts import few_or_many
from tests.databases import new_postgres_database
from tests.deploy.files import ROOT, free_port
from tests.deploy.nginx import PUBLIC, install_busy, running
from tests.load.requests import Request, write_requests
from tests.load.served import GATEWAY, serving
from tests.load.steady import GOOD, Seen, steady_load
from tests.migrating.older import checked_out
from tests.programs import program

RATE = 15
"""Requests a second."""
SETTLE_SECONDS = 0.5
"""From ready to the next replacement, as an orchestrator takes at least."""

SETTINGS = {
    "SECRET_KEY": "rolling" * 5,
    "AUDIT_KEY": "rolling" * 5,
    "WEB_CONCURRENCY": "1",
    "LOG_LEVEL": "WARNING",
    "TRUSTED_PROXIES": "1",
    "GUNICORN_CMD_ARGS": "--no-control-socket",
}
REQUESTS = [
    Request("/v2/getLatest7DayTransferLatencyForQuery?src_chain_id=1&dst_chain_id=56"),
    Request(
        "/v2/estimateAmt?src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1000000&slippage_tolerance=3000"
    ),
    Request("/v2/transferHistory?addr=0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a0064&page_size=3"),
]


@pytest.mark.system
@pytest.mark.postgresql
@pytest.mark.parametrize("seconds", few_or_many(4, 60))
def test_rolling_upgrade_fails_no_request(tmp_path: Path, postgres_server: str, seconds: int) -> None:
    program("nginx")
    seen = upgrade_under_load(tmp_path, new_postgres_database(postgres_server), seconds)
    assert [one for one in seen if one.outcome != GOOD] == []
    assert len(seen) >= 0.9 * RATE * seconds


def upgrade_under_load(folder: Path, url: str, seconds: int) -> list[Seen]:
    """Upgrade from the oldest code while requests come in; their outcomes.

    :param url: of an empty database.
    :param seconds: of load, at least; more where the upgrade takes longer.
    """
    with ExitStack() as stack:
        settings = {**SETTINGS, "DATABASE_URL": url}
        old = checked_out(folder / "old")
        flask(old, settings, "db upgrade", "sandbox load", "backfill")

        def start(code: Path, port: int) -> ExitStack:
            gateway = stack.enter_context(ExitStack())
            log = folder / f"{port}-{code.name}.log"
            gateway.enter_context(serving(GATEWAY, settings, log, code=code, port=port, ready="/readyz"))
            return gateway

        ports = free_port(), free_port()
        gateways = [start(old, port) for port in ports]
        (folder / "nginx").mkdir()
        nginx = install_busy(folder / "nginx", ports)
        stack.enter_context(running(nginx))
        file = write_requests(REQUESTS, folder / "requests")
        with steady_load(nginx.ports[PUBLIC], RATE, file, folder) as seen:
            end = time.monotonic() + seconds
            time.sleep(0.2 * seconds)
            flask(ROOT, settings, "db upgrade")
            for gateway, port in zip(gateways, ports, strict=True):
                gateway.close()
                start(ROOT, port)
                time.sleep(SETTLE_SECONDS)
            time.sleep(max(2.0, end - time.monotonic()))
        return seen


COMMANDS = """
import sys
from wsgi import app

for words in sys.argv[1:]:
    result = app.test_cli_runner().invoke(args=words, catch_exceptions=False)
    assert result.exit_code == 0, f"{words}: {result.output}"
"""


def flask(code: Path, settings: dict[str, str], *commands: str) -> None:
    """Run commands of the code, in one process: each would import everything."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS, *commands],
        cwd=code,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{commands} failed:\n{done.stdout}{done.stderr}"
