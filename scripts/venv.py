"""Install named packages into ``.venv``: ``python scripts/venv.py requirements.txt docs``.

A name is a requirements file, or a group of ``pyproject.toml``, whose packages are then those that
``requirements-dev.txt`` pins. uv installs them; where this machine has none, pip installs the pinned one
first. Where that is not possible, pip installs everything. Every package is checked by its hash. What was
installed is noted, so the next start is quick. Needs only Python.

``… requirements.txt then -m scripts.start`` goes on as the Python of the environment with these arguments.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = "requirements-dev.txt"
"""Pins everything: it includes what other files pin."""

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CLOSED_SECONDS = 0.5
"""How often it is looked whether the terminal was closed."""

THEN = "then"

MAKE_SECONDS = 0.1
"""How long this process still lives: GNU make fails where its child ends before it has seen Ctrl-C itself."""

PIP_INSTALL = ["install", "-qq", "--no-input", "--disable-pip-version-check", "--require-hashes"]

NO_PIP = """\
This Python cannot install packages: pip is missing.
On Debian or Ubuntu: apt-get install python3-venv
Or name another Python: PYTHON=/path/to/python make run"""


def fingerprint(name: str) -> str:
    """A hash of what is installed under that name, and of the Python that it is installed for."""
    lock = ROOT / (name if name.endswith(".txt") else LOCK)
    return hashlib.sha256(sys.version.encode() + b"\0" + lock.read_bytes()).hexdigest()


def stamp_of(name: str) -> Path:
    return VENV / f".{name}.sha256"


def has_terminal() -> bool:
    """Whether there is a terminal that can be closed."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def is_current(name: str) -> bool:
    """Whether the environment works and has what is named, by itself or as a part of everything."""
    works = Path(sys.prefix) == VENV or runs(str(PYTHON), "-c", "")  # mostly it runs this
    return (
        works
        and not unfinished().exists()
        and any(
            stamp_of(each).exists() and stamp_of(each).read_text(encoding="utf-8") == fingerprint(each)
            for each in (name, LOCK)
        )
    )


def unfinished() -> Path:
    """The file that is there while something is installed. Where that was killed, packages are incomplete."""
    return VENV / ".unfinished"


def runs(*command: str) -> bool:
    """Whether the command succeeds. An interpreter that was upgraded or moved away leaves a dead link."""
    try:
        return run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)[0] == 0
    except OSError:
        return False


def run(command: Sequence[str], stdout: int | None = None, stderr: int | None = None) -> tuple[int, str]:
    """Run a command. Returns its exit code, and what it printed to a pipe.

    The signals of the terminal do not reach it: this process gets them, and kills it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, text=True
        )
        _running[:] = [process]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    printed, _ = process.communicate()
    return process.returncode, printed


_running: list[subprocess.Popen[str]] = []


def end_at_signals(*, goes_on: bool) -> None:
    """From now on, a signal of the terminal or its end kills what runs, and ends this process.

    :param goes_on: whether something else would follow in this process. Then it ends as that would, with 0.
    """

    def end(number: int, _frame: object) -> NoReturn:
        for process in _running:
            process.kill()
        with suppress(OSError):  # the terminal is closed
            if os.isatty(2):
                os.write(2, b"\nstopped\n")
                time.sleep(MAKE_SECONDS)
        os._exit(0 if goes_on else 128 + number)

    def look(_number: int, frame: object) -> None:
        if not has_terminal():
            end(signal.SIGHUP, frame)

    numbers = {number for number in STOPPING if signal.getsignal(number) != signal.SIG_IGN}  # as by nohup
    for number in numbers:
        signal.signal(number, end)
    if signal.SIGHUP in numbers and has_terminal():
        # The system tells only the process that leads the session: it may be make.
        signal.signal(signal.SIGALRM, look)
        signal.setitimer(signal.ITIMER_REAL, CLOSED_SECONDS, CLOSED_SECONDS)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)  # the Makefile has held them back until now


def same_python() -> bool:
    return runs(str(PYTHON), "-c", f"import sys; sys.exit(sys.version != {sys.version!r})")


def find_pip() -> list[str]:
    """A pip that installs into the environment without being part of it.

    :raises SystemExit: with what to install.
    """
    if find_spec("pip"):  # compiled, which it never is in a wheel: that takes two seconds
        return [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    wheels = [Path(found) for found in (sysconfig.get_config_var("WHEEL_PKG_DIR"),) if found]
    if (bundled := find_spec("ensurepip")) and bundled.origin:
        wheels.append(Path(bundled.origin).parent / "_bundled")
    for wheel in (each for folder in wheels for each in sorted(folder.glob("pip-*.whl"))):
        return [str(PYTHON), f"{wheel}/pip"]
    raise SystemExit(NO_PIP)


def find_uv() -> str | None:
    """The uv that the lock pins: of the environment, of the machine, or installed now. None without one."""
    pinned = re.search(
        r"^uv==(\S+)(?:.*\\\n)(?: +--hash=.*\n)+", (ROOT / LOCK).read_text(encoding="utf-8"), re.MULTILINE
    )
    if not pinned:
        return None
    own = str(VENV / "bin" / "uv")
    for uv in (own, shutil.which("uv")):
        if uv and f"uv {pinned[1]} " in f"{version_of(uv)} ":
            return uv
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(pinned[0])
        file.flush()
        return own if runs(*find_pip(), *PIP_INSTALL, "--no-compile", "--no-deps", "-r", file.name) else None


def version_of(uv: str) -> str:
    """The version that a uv prints; empty where it does not start."""
    try:
        return run([uv, "--version"], stdout=subprocess.PIPE)[1].strip()
    except OSError:
        return ""


def installer(name: str) -> list[str]:
    """The command that installs what is named. pip knows no groups, so there it installs everything."""
    if uv := find_uv():
        what = ["-r", name] if name.endswith(".txt") else ["--group", name, "-c", LOCK]
        # Half of what the gateway installs is never imported; tests import more, in many processes at once.
        into = ["--quiet", *["--compile-bytecode"] * (name == LOCK), "--python", str(PYTHON)]
        return [uv, "pip", "install", *into, "--require-hashes", *what]
    what = ["-r", name if name.endswith(".txt") else LOCK]
    return [*find_pip(), *PIP_INSTALL, *what]


def install(name: str) -> None:
    """Install what is named and note that.

    :raises SystemExit: where that failed; what failed has been printed.
    """
    sys.stdout.write(f"Installing {name} into .venv (only when it changes) ...\n")
    sys.stdout.flush()
    unfinished().touch()
    failed = run(installer(name))[0]
    unfinished().unlink()
    if failed:
        raise SystemExit(f"{name} could not be installed; see above.")
    stamp_of(name).write_text(fingerprint(name), encoding="utf-8")


def main(names: list[str]) -> None:
    """Bring the environment up to date with what is named. Others that do the same wait meanwhile."""
    if all(map(is_current, names)):
        return
    folder = os.open(ROOT, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    for name in names:
        if is_current(name):
            continue
        if (unfinished().exists() or not same_python()) and not runs(
            sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV)
        ):
            raise SystemExit(NO_PIP)
        install(name)
    os.close(folder)


if __name__ == "__main__":
    asked, then = sys.argv[1:], list[str]()
    if THEN in asked:
        place = asked.index(THEN)
        asked, then = asked[:place], asked[place + 1 :]
    end_at_signals(goes_on=bool(then))
    main(asked)
    if then:
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)  # they wait until that can stop quietly
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.execv(PYTHON, [str(PYTHON), *then])  # noqa: S606  of our own Makefile
