"""A rolling upgrade under load: two gateways behind nginx, migrated and restarted one after the other.

``python -m bench.rolling`` checks the commit ``--from`` out, serves it twice on a database of its schema,
asks, migrates to this version's schema, replaces one gateway by this version and then the other, and counts
the requests that failed: 100,000 at 500 a second by default. Needs nginx and the commit's history.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Final

from bench.database import postgres_server
from bench.migrating.steady import OK, Answer, p99, steady_load
from bench.programs import found
from bench.serving import ROOT, free_port
from bench.shipped_nginx import ShippedNginx

OLDEST_CODE: Final = "19b18c9e28ebb952b260c3412c52c5d38c752c0e"
"""The first commit that runs on a range of schemas; that of the last release once there is one."""

REQUESTS: Final = 100_000
RATE: Final = 500
PATIENCE_SECONDS: Final = 120.0
SETTLE_SECONDS: Final = 1.0
"""From ready to the next replacement, as an orchestrator takes at least."""

KEYS: Final = {"SECRET_KEY": "bench" * 8, "AUDIT_KEY": "bench" * 8}

PATHS: Final = [
    "/v2/getLatest7DayTransferLatencyForQuery?src_chain_id=1&dst_chain_id=56",
    "/v2/estimateAmt?src_chain_id=1&dst_chain_id=56&token_symbol=USDT&amt=1000000&slippage_tolerance=3000",
    "/v2/transferHistory?addr=0x5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a0064&page_size=3",
]


@dataclass(frozen=True, slots=True)
class Rolled:
    """What became of the requests."""

    answers: list[Answer]
    seconds: float

    @property
    def failed(self) -> list[Answer]:
        """Those that were not answered with 200."""
        return [answer for answer in self.answers if answer.status != OK]


def main(arguments: list[str] | None = None) -> int:
    """Roll and print; 1 when a request failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--rate", type=int, default=RATE, help="requests a second")
    parser.add_argument("--from", dest="commit", default=OLDEST_CODE, help="the version that is replaced")
    options = parser.parse_args(arguments)
    rolled = roll(options.requests, options.rate, options.commit)
    print(
        f"{len(rolled.answers):,} requests at {options.rate} a second, {len(rolled.failed)} failed, p99"
        f" {p99(rolled.answers):.0f} ms; migrated and both gateways replaced in {rolled.seconds:.0f} s"
    )
    for answer in rolled.failed[:10]:
        print(f"status {answer.status} after {answer.ms:.0f} ms, due at {answer.due:.2f}")
    return 1 if rolled.failed else 0


def roll(requests: int, rate: int, commit: str = OLDEST_CODE) -> Rolled:
    """Upgrade while requests come in.

    :param requests: at least so many; more where the upgrade takes longer.
    :param rate: a second.
    :raises SystemExit: the commit or nginx is missing, or a gateway does not become ready.
    """
    with tempfile.TemporaryDirectory(prefix="gateway-rolling-") as name, postgres_server() as database:
        folder, keys = Path(name), {**KEYS, "DATABASE_URL": database.url}
        old = _checked_out(commit, folder / "old")
        _flask(old, keys, "db", "upgrade")
        _flask(old, keys, "sandbox", "load")
        one, other = free_port(), free_port()
        (folder / "nginx").mkdir()
        nginx = ShippedNginx(folder / "nginx", [one, other])
        gateways = [_Gateway(old, keys, one, folder), _Gateway(old, keys, other, folder)]
        try:
            for gateway in gateways:
                gateway.wait()
            with _running(nginx), steady_load(nginx.public, rate, PATHS, folder) as load:
                start = time.time()
                time.sleep(0.2 * requests / rate)
                began = time.time()
                _flask(ROOT, keys, "db", "upgrade")
                for number, gateway in enumerate(gateways):
                    gateway.end()
                    gateways[number] = _Gateway(ROOT, keys, gateway.port, folder)
                    gateways[number].wait()
                    time.sleep(SETTLE_SECONDS)
                took = time.time() - began
                # The load is a little behind its rate, and there shall be at least so many.
                time.sleep(max(2.0, 1.01 * requests / rate - (time.time() - start)))
                end = time.time()
                time.sleep(2)
                return Rolled(load.between(start, end), took)
        finally:
            for gateway in gateways:
                gateway.end()


class _Gateway:
    """One gunicorn of a version, on a port that stays."""

    def __init__(self, code: Path, keys: dict[str, str], port: int, folder: Path) -> None:
        self.port = port
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
        settings = {"PORT": str(port), "WEB_CONCURRENCY": "2", "LOG_LEVEL": "WARNING", "TRUSTED_PROXIES": "1"}
        with (folder / f"{port}.log").open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gunicorn", "-c", "gunicorn.conf.py", "wsgi:app"],
                cwd=code,
                env={**kept, **keys, **settings, "GUNICORN_CMD_ARGS": "--no-control-socket"},
                stdout=log,
                stderr=log,
            )

    def wait(self) -> None:
        """Until it says that it is ready."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end and self._process.poll() is None:
            with suppress(OSError, HTTPException):
                connection = HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/readyz")
                if connection.getresponse().status == OK:
                    return
            time.sleep(0.1)
        raise SystemExit(f"the gateway on port {self.port} does not become ready")

    def end(self) -> None:
        """Let it finish what it has begun."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(timeout=PATIENCE_SECONDS)


def _checked_out(commit: str, folder: Path) -> Path:
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        raise SystemExit(f"commit {commit[:8]} is not in this clone: git fetch --unshallow")
    folder.mkdir()
    subprocess.run(["tar", "x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def _flask(code: Path, keys: dict[str, str], *words: str) -> None:
    program = [sys.executable, "-m", "flask", "--app", "wsgi", *words]
    done = subprocess.run(
        program, cwd=code, env={**os.environ, **keys}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")


@contextmanager
def _running(nginx: ShippedNginx) -> Iterator[None]:
    program = found("nginx")
    if program is None:
        raise SystemExit("nginx is missing: apt-get install nginx-light")
    process = subprocess.Popen([program, "-c", str(nginx.file), "-p", str(nginx.file.parent)])
    try:
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            with suppress(OSError):
                HTTPConnection("127.0.0.1", nginx.public, timeout=5).connect()
                break
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
