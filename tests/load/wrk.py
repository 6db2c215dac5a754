"""wrk: a fixed number of connections, each of which sends the next request as soon as it is answered."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

LUA = Path(__file__).with_name("wrk.lua")
MISSING = "wrk, the load generator, is missing: apt-get install wrk (or brew install wrk)"


@dataclass(frozen=True, slots=True)
class Load:
    """What one run of wrk measured. ``p50_us`` and ``p99_us`` are of whole answers, in microseconds."""

    requests: int
    seconds: float
    bytes: int
    p50_us: int
    p99_us: int
    failures: int

    @property
    def per_second(self) -> float:
        """Answers a second."""
        return self.requests / self.seconds


def require_wrk() -> None:
    """End with one line where there is no wrk."""
    if shutil.which("wrk") is None:
        raise SystemExit(MISSING)


def press(port: int, file: Path, *, connections: int, seconds: float, pause_ms: int = 0) -> Load:
    """Send a server on loopback the requests of a file at random, for so long.

    :param pause_ms: how long a connection waits before it sends the next request, in milliseconds.
    """
    command = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "-s", str(LUA)]
    done = subprocess.run(
        [*command, f"http://127.0.0.1:{port}", "--", str(file), str(pause_ms)],
        capture_output=True,
        text=True,
        check=True,
    )
    for line in done.stdout.splitlines():
        if line.startswith("figures "):
            requests, duration, size, p50, p99, failures = map(int, line.split()[1:])
            return Load(requests, duration / 1e6, size, p50, p99, failures)
    raise SystemExit(f"wrk printed nothing of use:\n{done.stdout}{done.stderr}")
