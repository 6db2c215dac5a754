"""Programs of the system that benchmarks and tests run."""

from __future__ import annotations

import os
import shutil
from typing import Final

from bench.serving import ROOT

_SYSTEM: Final = "/usr/sbin:/usr/local/sbin:/usr/lib/postgresql/15/bin"
"""Where Debian has servers: not in the path of everybody."""


def found(name: str) -> str | None:
    """The path of a program of the system or of our own environment, None where it is not installed."""
    return shutil.which(name, path=f"{_SYSTEM}:{ROOT / '.venv' / 'bin'}:{os.environ.get('PATH', '')}")
