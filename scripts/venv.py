"""Install named packages into ``.venv``: ``python scripts/venv.py requirements.txt docs``.

A name is a requirements file, or a group of ``pyproject.toml``, whose packages are then those that
``requirements-dev.txt`` pins. uv installs them; where this machine has none, pip installs the pinned one
first. Where that is not possible, or uv fails, pip installs everything. Both trust the authorities of the
system's store. Every package is checked by its hash. What was installed is noted, so the next start is
quick. Needs only Python.

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, NoReturn

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = "requirements-dev.txt"
"""Pins everything: it includes what other files pin."""

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CLOSED_SECONDS = 0.5
"""How often it is looked whether the terminal was closed."""

Output = int | IO[str] | None
"""Where a command prints: a number of subprocess, a file, or where this process does."""

THEN = "then"

MAKE_SECONDS = 0.1
"""How long this process still lives: GNU make fails where its child ends before it has seen Ctrl-C itself."""

TICK_SECONDS = 0.2
LINE_SECONDS = 10
"""How often work that goes on is shown: in place on a terminal, as a line in a file."""

CUT = " ..."

REASON_LINES = 15
"""How much of what a failed program printed is shown: its last lines have the reason."""

PIP_INSTALL = ["install", "--no-input", "--disable-pip-version-check", "--require-hashes"]

NO_PIP = """\
This Python cannot install packages: pip is missing.
On Debian or Ubuntu: apt-get install python3-venv
Or name another Python: PYTHON=/path/to/python make run"""


class Progress:
    """Shows that work goes on: one line that is renewed on a terminal; in a file its start, and every ten
    seconds a line.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._began = self._shown = time.monotonic()
        self._in_place = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        if self._in_place:
            self.show()
        else:
            self._write(f"{what} ...\n")

    @property
    def seconds(self) -> int:
        return round(time.monotonic() - self._began)

    def show(self, detail: str = "") -> None:
        """Show how long it has been, and what is done now."""
        if self._in_place:
            line = f"{self._what} ...  {self.seconds} s  {detail}" if self.seconds else f"{self._what} ..."
            self._write(f"\r\x1b[2K{fitted(line, shutil.get_terminal_size().columns - 1)}")
        elif time.monotonic() - self._shown >= LINE_SECONDS:
            self._shown = time.monotonic()
            self._write(f"... {self.seconds} s  {detail}".rstrip() + "\n")

    def clear(self) -> None:
        """Make room for a line of somebody else, on a terminal."""
        if self._in_place:
            self._write("\r\x1b[2K")

    def end(self, words: str) -> None:
        """Replace the line on a terminal. A file gets another one."""
        self.clear()
        self._write(f"{words}\n")

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def fitted(line: str, most: int) -> str:
    """The line, or its first words where it is longer. A word is cut only if there is room for no other."""
    if len(line) <= most:
        return line
    cut = line[: max(0, most - len(CUT))]
    whole = cut if line[len(cut)] == " " else cut.rpartition(" ")[0]
    return f"{whole.rstrip() or cut}{CUT}"


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
        and not is_broken()
        and any(
            stamp_of(each).exists() and stamp_of(each).read_text(encoding="utf-8") == fingerprint(each)
            for each in (name, LOCK)
        )
    )


def unfinished() -> Path:
    """The file that is there while something is installed, with its name. Where that was killed, packages
    are incomplete.
    """
    return VENV / ".unfinished"


def left_unfinished() -> str | None:
    """What was killed while it was installed."""
    return unfinished().read_text(encoding="utf-8") if unfinished().exists() else None


def is_broken() -> bool:
    """Whether something is incomplete that everything needs, and not only what a group adds."""
    left = left_unfinished()
    return left is not None and (not left or left.endswith(".txt"))


def runs(*command: str) -> bool:
    """Whether the command succeeds. An interpreter that was upgraded or moved away leaves a dead link."""
    try:
        return run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)[0] == 0
    except OSError:
        return False


def begin(
    command: Sequence[str], stdout: Output, stderr: Output, env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start a command. The signals of the terminal do not reach it: this process gets them, and kills it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        process = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, text=True, env=env
        )
        _running[:] = [process]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return process


def run(command: Sequence[str], stdout: Output = None, stderr: Output = None) -> tuple[int, str]:
    """Run a command. Returns its exit code, and what it printed to a pipe."""
    process = begin(command, stdout, stderr)
    printed, _ = process.communicate()
    return process.returncode, printed


def attempt(command: Sequence[str], progress: Progress) -> str | None:
    """Run a command that installs, and show what it does. Returns why it failed, in its own words."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
        process = begin(command, printed, printed, {**os.environ, **trusting_the_system()})
        while True:
            try:
                process.wait(TICK_SECONDS)
                break
            except subprocess.TimeoutExpired:
                progress.show(now_done(last_lines(printed, 1).strip()))
        return last_lines(printed, REASON_LINES) or "no reason given" if process.returncode else None


def now_done(line: str) -> str:
    """What a program does after its last line: uv compiles what it installed, and prints nothing."""
    return f"{line}, compiling them" if line.startswith("Installed ") else line


def last_lines(printed: IO[str], most: int) -> str:
    """The end of what was printed. Reading must not move the position in the file: who prints shares it."""
    text = os.pread(printed.fileno(), os.fstat(printed.fileno()).st_size, 0).decode(errors="replace")
    return "\n".join(line.rstrip() for line in text.strip().splitlines()[-most:]).strip("\n")


def trusting_the_system() -> dict[str, str]:
    """What makes uv and pip trust the authorities of the system's store, such as a company's.

    A store without any is not used: both bring authorities of their own. What the person has set wins.
    """
    import ssl  # noqa: PLC0415  a start that installs nothing spares it

    paths = ssl.get_default_verify_paths()
    folder = paths.capath if paths.capath and any(Path(paths.capath).iterdir()) else None
    store = paths.cafile or folder
    found = {"UV_SYSTEM_CERTS": "true"} if store or sys.platform == "darwin" else {}
    if store:  # for a pip before 24.2; one that is configured otherwise ignores it
        found["REQUESTS_CA_BUNDLE"] = store
    return {name: value for name, value in found.items() if not os.environ.get(name)}


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


def find_uv(progress: Progress) -> str | None:
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
    unfinished().touch()
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(pinned[0])
        file.flush()
        command = [*find_pip(), *PIP_INSTALL, "--no-compile", "--no-deps", "-r", file.name]
        return own if attempt(command, progress) is None else None


def version_of(uv: str) -> str:
    """The version that a uv prints; empty where it does not start."""
    try:
        return run([uv, "--version"], stdout=subprocess.PIPE)[1].strip()
    except OSError:
        return ""


def installers(name: str, progress: Progress) -> Iterator[tuple[str, str, list[str]]]:
    """What can install what is named, each with what it installs and its command.

    pip knows no groups, so it installs everything instead.
    """
    again = left_unfinished() == name
    if uv := find_uv(progress):
        what = ["-r", name] if name.endswith(".txt") else ["--group", name, "-c", LOCK]
        # Half of what the gateway installs is never imported; tests import more, in many processes at once.
        into = [*["--compile-bytecode"] * (name == LOCK), "--python", str(PYTHON)]
        anew = [f"--reinstall-package={each}" for each in only_in_lock()] if again else []
        yield "uv", name, [uv, "pip", "install", *into, *anew, "--require-hashes", *what]
    try:
        pip = find_pip()
    except SystemExit:
        if uv:  # and what it printed is the reason
            return
        raise
    file = name if name.endswith(".txt") else LOCK
    yield "pip", file, [*pip, *PIP_INSTALL, *["--force-reinstall"] * again, "-r", file]


def only_in_lock() -> list[str]:
    """The packages that the gateway runs without: only these can be incomplete where a group is."""
    files = [(ROOT / each).read_text(encoding="utf-8") for each in (LOCK, "requirements.txt")]
    everything, served = (set(re.findall(r"^([\w.-]+)(?:\[.*\])?==", text, re.MULTILINE)) for text in files)
    return sorted(everything - served)


def install(name: str) -> None:
    """Install what is named and note that. Where one program fails, its reason is shown, and the next tried.

    :raises SystemExit: where all failed.
    """
    progress, reason = Progress(f"Installing {name} into .venv"), None
    for tool, what, command in installers(name, progress):
        unfinished().write_text(what, encoding="utf-8")
        reason = attempt(command, progress)
        if reason is None:
            break
        progress.clear()
        sys.stderr.write(f"{tool} could not install {what}:\n{reason}\n")
        sys.stderr.flush()
    unfinished().unlink()
    if reason is not None:
        raise SystemExit(f"{name} could not be installed; see above.")
    stamp_of(name).write_text(fingerprint(name), encoding="utf-8")
    progress.end(f"Installed {name} into .venv in {progress.seconds} s.")


def main(names: list[str]) -> None:
    """Bring the environment up to date with what is named. Others that do the same wait meanwhile."""
    if all(map(is_current, names)):
        return
    folder = os.open(ROOT, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    for name in names:
        if is_current(name):
            continue
        incomplete = is_broken() or left_unfinished() not in (None, name)
        if (incomplete or not same_python()) and not runs(
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
