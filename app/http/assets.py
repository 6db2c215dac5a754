"""Static files whose addresses change with their content, so that caches may keep them for ever."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

KEPT_FOR_EVER: Final = "public, max-age=31536000, immutable"
"""``Cache-Control`` of a file that was asked for by its digest."""


@cache
def digest(file: Path) -> str:
    """A few digits that change with the content of the file, which is read once."""
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]
