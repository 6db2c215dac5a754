"""A rolling upgrade under load: two gateways behind nginx, migrated and restarted one after the other."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from tests.deploy.files import ROOT, free_port
from tests.deploy.nginx import PUBLIC, install_busy, running
from tests.load.questions import Question, write_questions
from tests.load.served import GATEWAY, serving
from tests.load.steady import Seen, steady_load
from tests.migrating.older import OLDEST_CODE, checked_out
from tests.postgres import postgres_server

SETTLE_SECONDS: Final = 1.0
"""From ready to the next replacement, as an orchestrator takes at least."""

SETTINGS: Final = {
    "SECRET_KEY": "rolling" * 5,
    "AUDIT_KEY": "rolling" * 5,
    "WEB_CONCURRENCY": "2",
    "LOG_LEVEL": "WARNING",
    "TRUSTED_PROXIES": "1",
    "GUNICORN_CMD_ARGS": "--no-control-socket",
}

REQUESTS: Final = [
    Question("/v2/getLatest7DayTransferLatencyForQuery?src_chain_id=1&dst_chain_id=56"),
    Question(
        "/v2/estimateAmt?src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1000000&slippage_tolerance=3000"
    ),
    Question("/v2/transferHistory?addr=0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a0064&page_size=3"),
]


def roll(requests: int, rate: int, commit: str = OLDEST_CODE) -> list[Seen]:
    """Upgrade from the commit to this code while requests come in; what became of these.

    :param requests: at least so many; more where the upgrade takes longer.
    :param rate: requests a second.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gateway-rolling-")))
        settings = {**SETTINGS, "DATABASE_URL": stack.enter_context(postgres_server()).url}
        old = checked_out(folder / "old", commit)
        _flask(old, settings, "db", "upgrade")
        _flask(old, settings, "sandbox", "load")
        _flask(old, settings, "backfill")

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
        file = write_questions(REQUESTS, folder / "requests")
        with steady_load(nginx.ports[PUBLIC], rate, file, folder) as seen:
            end = time.monotonic() + requests / rate
            time.sleep(0.2 * requests / rate)
            _flask(ROOT, settings, "db", "upgrade")
            for gateway, port in zip(gateways, ports, strict=True):
                gateway.close()
                start(ROOT, port)
                time.sleep(SETTLE_SECONDS)
            time.sleep(max(2.0, end - time.monotonic()))
        return seen


def _flask(code: Path, settings: dict[str, str], *words: str) -> None:
    program = [sys.executable, "-m", "flask", "--app", "wsgi", *words]
    done = subprocess.run(
        program, cwd=code, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}"
