"""Which file of the built site answers a path below ``/docs/``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from werkzeug.security import safe_join

PLAIN: Final = "files/"
"""Below it there are files of the repository that pages link to. They are shown as text."""

_NAMED_BY_CONTENT: Final = re.compile(r"\.[0-9a-f]{8}(\.min)?\.(js|css)$")


@dataclass(frozen=True, slots=True)
class SiteFile:
    """A file of the site. ``moved`` says that the path of its page lacks the slash at its end."""

    name: str
    moved: bool = False

    @property
    def named_by_content(self) -> bool:
        """Whether another content would have another name, so that it may be kept for ever."""
        return bool(_NAMED_BY_CONTENT.search(self.name))

    @property
    def mimetype(self) -> str | None:
        """The type where the name does not tell it."""
        return "text/plain" if self.name.startswith(PLAIN) else None


def find_file(folder: Path, path: str) -> SiteFile | None:
    """The file of a path, which is a name or a page's folder; None where there is none, or a path leads out.

    :param path: what follows ``/docs/``; may be empty.
    """
    within = safe_join(str(folder), path) if path else str(folder)
    if within is None or any(part.startswith(".") for part in path.split("/")):
        return None
    if _is_file(within):
        return None if path.endswith("/") else SiteFile(path)
    if _is_file(f"{within}/index.html"):
        name = f"{path.rstrip('/')}/index.html".lstrip("/")
        return SiteFile(name, moved=bool(path) and not path.endswith("/"))
    return None


def _is_file(name: str) -> bool:
    """Whether there is such a file; a name that is too long for any is that of none."""
    try:
        return Path(name).is_file()
    except OSError:
        return False
