"""Where the time of an answer goes, as a flame graph: ``make profile`` (py-spy).

``ARGS="estimate SQLite gunicorn"`` looks at another contestant of ``bench.http``: the first whose name has
all the words. The picture is ``build/profile.svg``, to be opened in a browser.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import psutil

from bench.contenders import CONTENDERS, Contender
from bench.duels.bars import STATUS
from bench.http import arena
from bench.load import require_wrk
from bench.serving import ROOT

RATE: Final = 200
"""Samples a second of each process: a worker that is sampled more often is slowed down by it."""

RIGHTS: Final = (
    "py-spy may not look into another process. As root it may: `sudo make profile`. On a machine of your own "
    "`sudo sysctl kernel.yama.ptrace_scope=0` allows it to everybody until the next start; a container needs "
    "`--cap-add SYS_PTRACE`. On macOS it is always root."
)


def main(arguments: list[str] | None = None) -> int:
    """Profile one contestant under load and write the picture."""
    options = _options(arguments)
    require_wrk()
    contender = chosen(options.words)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with arena([contender], options) as served:
        turn = served.turn_of(contender)
        turn()  # warms up
        recording = _record(served.served[contender.server].process, options.record, options.output)
        until = time.monotonic() + options.record
        while time.monotonic() < until and recording.poll() is None:
            measured = turn()
    _, told = recording.communicate()
    if recording.returncode:
        hint = f"\n{RIGHTS}" if "ermission" in told or "root" in told else ""
        raise SystemExit(f"py-spy failed:\n{told}{hint}")
    print(
        f"{contender.name}: {measured.server_us:.0f} µs CPU a request while it was watched; {options.output}"
    )
    return 0


def chosen(words: list[str]) -> Contender:
    """The first contestant whose name has all the words.

    :raises SystemExit: there is none.
    """
    for contender in CONTENDERS:
        if all(word.strip(",").lower() in contender.name.lower() for word in words):
            return contender
    raise SystemExit("nobody is called so; there are:\n" + "\n".join(c.name for c in CONTENDERS))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", default=[STATUS], help="words of a contestant's name")
    parser.add_argument("--record", type=int, default=15, help="seconds to watch")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "profile.svg")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--transfers", type=int, default=2_000)
    options = parser.parse_args(arguments)
    options.seconds = 1
    return options


def _record(server: psutil.Process, seconds: int, output: Path) -> subprocess.Popen[str]:
    """Py-spy at work on the server and all processes under it."""
    command = ["record", "--pid", str(server.pid), "--subprocesses", "--duration", str(seconds)]
    how = ["--rate", str(RATE), "--format", "flamegraph", "--output", str(output)]
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("py-spy")), *command, *how],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


if __name__ == "__main__":
    sys.exit(main())
