"""Install named packages into ``.venv``: ``python scripts/venv.py requirements.txt docs``.

A name is a requirements file, or a group of ``pyproject.toml``, whose packages are then those that
``requirements-dev.txt`` pins. uv installs them; where this machine has none, pip installs the pinned one
first. Where that is not possible, pip installs everything. Every package is checked by its hash. What was
installed is noted, so the next start is quick. Needs only Python.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = "requirements-dev.txt"
"""Pins everything: it includes what other files pin."""

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
    """Where the fingerprint of what was installed is stored."""
    return VENV / f".{name}.sha256"


def is_current(name: str) -> bool:
    """Whether the environment works and has what is named, by itself or as a part of everything."""
    works = Path(sys.prefix) == VENV or runs(str(PYTHON), "-c", "")  # mostly it runs this
    return works and any(
        stamp_of(each).exists() and stamp_of(each).read_text(encoding="utf-8") == fingerprint(each)
        for each in (name, LOCK)
    )


def runs(*command: str) -> bool:
    """Whether the command succeeds. An interpreter that was upgraded or moved away leaves a dead link."""
    try:
        done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    except OSError:
        return False
    return done.returncode == 0


def same_python() -> bool:
    """Whether the environment was made by the version of Python that runs this."""
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
        return subprocess.run([uv, "--version"], capture_output=True, text=True, check=False).stdout.strip()
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
    if subprocess.run(installer(name), cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode:
        raise SystemExit(f"{name} could not be installed; see above.")
    stamp_of(name).write_text(fingerprint(name), encoding="utf-8")


def main(names: list[str]) -> None:
    """Bring the environment up to date with what is named."""
    for name in names:
        if is_current(name):
            continue
        if not same_python() and not runs(
            sys.executable, "-m", "venv", "--clear", "--without-pip", str(VENV)
        ):
            raise SystemExit(NO_PIP)
        install(name)


if __name__ == "__main__":
    main(sys.argv[1:])
