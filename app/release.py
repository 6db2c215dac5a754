"""Which release of the gateway this is."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

VERSION: Final = "1.1.0"
"""By Semantic Versioning. It is set only here (docs/releases.md)."""

API_VERSIONS: Final = ("v2",)
"""Versions of the JSON operations that are documented, the newest first."""


class Release(Struct, frozen=True):
    """The release that runs."""

    version: str = VERSION
    commit: str | None = None
    """The commit that it was built from, where the build set it."""

    def __str__(self) -> str:
        return f"{self.version} ({self.commit[:12]})" if self.commit else self.version
