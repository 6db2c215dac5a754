"""``make demo`` takes an address, and ends all that it started, whoever ends it."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from app import create_app
from app.db.database import Database
from app.db.engine import writing
from app.db.models import db
from app.http.application import current
from app.network.document import import_within, read_rows
from demo import gateway
from demo.__main__ import wait_until_ready
from demo.actors import Gateway
from demo.anvil import Anvil
from demo.chains import LEFT, RIGHT, prepare
from demo.network import RPC_NAMES, document
from demo.wallet import wallet
from tests.applications import make_settings
from tests.clients.demonstrations import SETTINGS, held_port
from tests.clients.network import VALIDATORS
from tests.forked import path_of
from tests.programs import anvil
from tests.serving.server import ROOT
from tests.serving.terminals import Terminal, on_terminal
from tests.watcher.processes import COMMAND as WATCH

SECONDS_TO_END = 20


def _kill(terminal: Terminal) -> None:
    """SIGKILL, to the demonstration alone."""
    psutil.Process(terminal.process.pid).children()[0].kill()


ENDS: Mapping[str, Callable[[Terminal], None]] = {
    "Ctrl-C": Terminal.press_ctrl_c,
    "SIGTERM": Terminal.terminate,
    "closed": Terminal.close,
    "SIGKILL": _kill,
}


@pytest.fixture
def port() -> Iterator[int]:
    with held_port() as port:
        yield port


EARLY, LATE = "starting the gateway", "TRANSFER_SUBMITTING"
MANY = [(end, moment) for end in ENDS for moment in (EARLY, LATE)]
FEW = [("Ctrl-C", EARLY)]
"""And SIGKILL when all is there: the reader of ``test_tutorial`` kills its demonstration."""


@pytest.mark.system
@pytest.mark.parametrize(
    ("name", "moment"),
    [
        pytest.param(*each, id=" at ".join(each), marks=() if each in FEW else pytest.mark.slow)
        for each in MANY
    ],
)
def test_demo_ends_all_started_processes(port: int, name: str, moment: str) -> None:
    end = ENDS[name]
    with on_terminal(["make", "demo"], SETTINGS | {"PORT": str(port)}) as terminal:
        shown = terminal.shown_until(lambda shown: moment in shown)
        assert f"http://127.0.0.1:{port}/admin/" in shown or moment == EARLY
        assert len(terminal.processes()) > 3
        end(terminal)
        shown = terminal.ended()
        if end in (Terminal.press_ctrl_c, Terminal.terminate):
            assert shown == "stopped"
        until = time.monotonic() + (SECONDS_TO_END if end is _kill else 0)
        while (left := terminal.processes()) and time.monotonic() < until:
            time.sleep(0.1)
        assert left == []


def test_demo_refuses_taken_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "demo"]
        settings = SETTINGS | {"PORT": str(port)}
        done = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith(f"PORT: {port} on 127.0.0.1: Address already in use; ")
    assert done.stderr.endswith(" make demo\n")


def test_demo_reports_gateway_that_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where another process took its port after the check; without waiting for an answer."""
    monkeypatch.setattr(gateway, "FOLDER", tmp_path)
    (tmp_path / "server.log").write_text("Connection in use: ('127.0.0.1', 8000)\n")
    ended = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"], text=True)
    ended.wait()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    hub = Gateway(f"http://127.0.0.1:{port}", token="")
    with pytest.raises(gateway.Ended, match=r"the server has ended with exit code 3(?s:.)*Connection in use"):
        wait_until_ready(hub, gateway.Running({"server": ended}))


@pytest.mark.system
def test_watcher_accepts_node_of_wallets(tmp_path: Path, sqlite_template: Path) -> None:
    """As it accepts the one behind."""
    anvil()
    file = tmp_path / "gateway.db"
    file.write_bytes(sqlite_template.read_bytes())
    settings = SETTINGS | {"DATABASE_URL": f"sqlite:///{file}", "AUDIT_KEY": "a" * 40, "SECRET_KEY": "s" * 40}
    with create_app(make_settings(settings["DATABASE_URL"])).app_context():
        with writing(current(Database).engine) as connection:
            network = read_rows(document(VALIDATORS, watch_from_block=0, finality=4))
            import_within(connection, network, current(Database).clock())
        db.engine.dispose()
    with ExitStack() as stack:
        for chain in (LEFT, RIGHT):
            node = stack.enter_context(Anvil(chain, block_seconds=1))
            prepare(node, VALIDATORS)
            settings[RPC_NAMES[chain]] = stack.enter_context(wallet(node.url))
        done = subprocess.run(
            [path_of("flask"), *WATCH, "--check"],
            cwd=ROOT,
            env=settings,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("accepts batches") == 2
