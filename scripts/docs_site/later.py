"""Builds the documentation after the start of a gateway (``python -m`` and this, HOST and PORT).

It also installs the generator. Until the site is there, ``/docs`` has a page that says so. It ends with the
gateway, which starts it by scripts/beside.py.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from scripts.docs_site.failure import CannotBuild

_SECONDS: Final = 60
_INSTALLER: Final = Path(__file__).parents[1] / "venv.py"


def wait_for_answer(host: str, port: int, seconds: float = _SECONDS) -> None:
    """Return when the gateway answers, or after the time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection(host, port, timeout=5)
        try:
            connection.request("GET", "/healthz")
            connection.getresponse()
        except (OSError, http.client.HTTPException):
            time.sleep(0.2)
        else:
            return
        finally:
            connection.close()


def build() -> bool:
    """Install the generator and build the site, unless that was done before. Returns whether the site has
    changed.

    :raises CannotBuild: with what failed.
    """
    install = [sys.executable, str(_INSTALLER), "docs"]
    done = subprocess.run(
        install,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise CannotBuild(done.stderr.strip())
    # Only now: its imports take as long as a third of the gateway's, which starts at the same time.
    from scripts.docs_site.build import ensure_site  # noqa: PLC0415

    return ensure_site()


def main(host: str, port: str) -> None:
    os.nice(10)
    if int(port):  # for 0 the system chooses one, which is not known here
        wait_for_answer(host, int(port))
    try:
        if build():
            sys.stdout.write("The documentation is built.\n")
    except CannotBuild as failed:
        sys.stderr.write(f"The documentation was not built; `make docs` tries again.\n{failed}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
