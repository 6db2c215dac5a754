"""The first start from a checkout compiles all imports: another process does half of it meanwhile."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import Final

from scripts.beside import run_beside

_ROOT: Final = Path(__file__).resolve().parent.parent

_IMPORTED_LATE: Final = (
    "flask_security", "wtforms", "webauthn", "cryptography", "flask_admin", "psycopg", "alembic", "google",
)  # fmt: skip
"""Packages that the start imports late, so that this process compiles them first."""


def compile_in_parallel() -> None:
    """Start it where nothing is compiled yet. The start does not wait for it or depend on it."""
    if sys.dont_write_bytecode or (_ROOT / "app" / "__pycache__").exists():
        return
    packages = Path(sysconfig.get_path("purelib"))
    folders = [_ROOT / "app", *(packages / name for name in _IMPORTED_LATE)]
    run_beside("compileall", "-qq", *map(str, folders))
