"""Make ``.venv`` hold exactly what a requirements file asks for: ``python scripts/venv.py FILE``.

Needs nothing but Python. What was installed is remembered by a hash, so the next start is quick.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"

NO_VENV = """\
This Python cannot create a virtual environment: pip is missing.
On Debian or Ubuntu: apt-get install python3-venv
Or name another Python: PYTHON=/path/to/python make run"""


def contained_in(requirements: Path) -> list[Path]:
    """The file and the smaller ones that it contains, each once, the smallest first.

    ``requirements-dev.txt`` is compiled from ``requirements-dev.in``. Where that includes
    ``requirements.in`` by ``-r``, the compiled file has every line of ``requirements.txt``.
    """
    source = requirements.with_suffix(".in").read_text(encoding="utf-8")
    included = re.findall(r"^-r\s+(\S+)\.in$", source, re.MULTILINE)
    nested = [file for name in included for file in contained_in(requirements.parent / f"{name}.txt")]
    return list(dict.fromkeys([*nested, requirements]))


def fingerprint(requirements: Path) -> str:
    """A hash of what the file asks for and of the Python it is installed for."""
    return hashlib.sha256(sys.version.encode() + b"\0" + requirements.read_bytes()).hexdigest()


def stamp_of(requirements: Path) -> Path:
    """Where the fingerprint of the installed file is kept."""
    return VENV / f".{requirements.name}.sha256"


def is_current(requirements: Path) -> bool:
    """Whether the environment works and holds what the file asks for."""
    stamp = stamp_of(requirements)
    return stamp.exists() and stamp.read_text(encoding="utf-8") == fingerprint(requirements) and runs(PYTHON)


def runs(python: Path, *arguments: str) -> bool:
    """Whether the interpreter starts (one that was upgraded or moved away leaves a dead link)."""
    command = [str(python), *(arguments or ("-c", ""))]
    try:
        return (
            subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False).returncode
            == 0
        )
    except OSError:
        return False


def make_environment() -> None:
    """A fresh environment with pip, also where Python came without ``ensurepip`` (as on Debian).

    :raises SystemExit: with what to install.
    """
    if runs(Path(sys.executable), "-m", "venv", "--clear", str(VENV)):
        return
    bare = runs(Path(sys.executable), "-m", "venv", "--clear", "--without-pip", str(VENV))
    if bare and runs(Path(sys.executable), "-m", "pip", "--python", str(PYTHON), "install", "pip"):
        return
    if not runs(Path(sys.executable), "-m", "virtualenv", "--clear", str(VENV)):
        raise SystemExit(NO_VENV)


def install(requirements: Path) -> None:
    """Install the file's packages and remember that they are there.

    pip refuses a package without a hash in the file, or whose archive has another one.

    :raises SystemExit: where pip could not; it has said why.
    """
    sys.stdout.write(f"Installing {requirements.name} into .venv (only when it changes) ...\n")
    sys.stdout.flush()
    pip = [str(PYTHON), "-m", "pip", "install", "-qq", "--no-input", "--disable-pip-version-check"]
    asked = ["--require-hashes", "-r", str(requirements)]
    done = subprocess.run([*pip, *asked], stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        raise SystemExit(f"{requirements.name} could not be installed; see above.")
    for file in contained_in(requirements):
        stamp_of(file).write_text(fingerprint(file), encoding="utf-8")


def main(name: str) -> None:
    """Bring the environment up to date with the requirements file of that name."""
    requirements = ROOT / name
    if is_current(requirements):
        return
    if not (runs(PYTHON, "-m", "pip", "--version") and same_python()):
        make_environment()
    install(requirements)


def same_python() -> bool:
    """Whether the environment was made by the version of Python that runs this."""
    return runs(PYTHON, "-c", f"import sys; sys.exit(sys.version != {sys.version!r})")


if __name__ == "__main__":
    main(sys.argv[1])
