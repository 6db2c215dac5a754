"""Below which path callers reach the gateway (docs/operations.md#below-a-path).

The path is ``SCRIPT_NAME`` of the WSGI environment: Flask makes it part of every address that it builds.
"""

from __future__ import annotations

import re
from typing import Any, Final

from flask import request
from msgspec import Struct

_FORM: Final = re.compile(r"(/(?!\.{1,2}(/|\Z))[A-Za-z0-9._~-]+)+")
"""A path that is the same in every encoding, and cannot be read as the name of a host. ``config.py`` reads
``SCRIPT_NAME`` by the same rule."""


class Mounted(Struct, frozen=True):
    """The path below which the gateway is: that of its settings, or the one that a trusted proxy names.

    :param prefix: from ``SCRIPT_NAME``, empty at the root.
    :param trusted_proxies: how many proxies are trusted to name another one in ``X-Forwarded-Prefix``.
    """

    prefix: str = ""
    trusted_proxies: int = 0

    def place(self, environ: dict[str, Any]) -> None:
        """Note the path in the environment of a request, and take it off the request's path if it is there.

        A server may have done this already. A proxy that names a path has taken it off.
        """
        if self.prefix:
            path = environ.get("PATH_INFO", "")
            if path == self.prefix or path.startswith(f"{self.prefix}/"):
                environ["PATH_INFO"] = path[len(self.prefix) :]
            environ["SCRIPT_NAME"] = self.prefix
        if self.trusted_proxies and "HTTP_X_FORWARDED_PREFIX" in environ:
            entries = environ["HTTP_X_FORWARDED_PREFIX"].split(",")
            named = entries[-min(self.trusted_proxies, len(entries))].strip().rstrip("/")
            if _FORM.fullmatch(named):
                environ["SCRIPT_NAME"] = named


def below(path: str) -> str:
    """The address of a path of the gateway, as the current caller reaches it."""
    return f"{request.root_path}{path}"


def this_address() -> str:
    """The address of the current request, with its query."""
    return below(request.full_path.rstrip("?"))
