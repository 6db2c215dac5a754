"""Which areas of the tests a change affects: CI runs all tests of those, and the everyday ones of the rest.

``python scripts/areas.py COMMIT`` prints them, for the changes since the commit. If this checkout does not
have the commit, all are printed. ``--here`` prints those of what differs in this checkout, committed or not,
from the main branch that was fetched.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

ALL: Final = "all"

EVERYWHERE: Final = (
    "app/*.py", "app/db/", "app/feed/", "app/http/", "app/network/", "app/observability/", "app/transfers/",
    "app/values/",
    "config*.py", "wsgi.py", "pyproject.toml", "requirements*.txt", "scripts/areas.py", "tests/*.py", ".ci/",
)  # fmt: skip
"""What every area depends on."""

_SERVER: Final = ("serving/", "gunicorn.conf.py", "app/monitoring/", "app/api/")
_STARTS: Final = ("scripts/beside.py", "scripts/start.py", "scripts/venv.py", "Makefile")
_CONSOLE: Final = ("app/console/", "app/accounts/", "app/approvals/")
_COMMANDS: Final = ("app/cli/",)
_ANSWERS: Final = ("app/credentials/", "app/estimates/", "app/latency/", "app/refunds/")
_PUBLIC: Final = (*_ANSWERS, "app/waiting/", "app/webhooks/")
_FEATURES: Final = (
    *_PUBLIC, "app/accounts/", "app/approvals/", "app/audit/", "app/transfer_page/", "app/watcher/",
)  # fmt: skip
_INTERFACES: Final = ("app/api/", "app/grpcweb/", "proto/")

AREAS: Final[dict[str, tuple[str, ...]]] = {
    "accounts": ("app/accounts/",),
    "api": ("app/api/", *_PUBLIC),
    "approvals": ("app/accounts/", "app/approvals/", "app/credentials/"),
    "audit": ("app/audit/", "app/webhooks/"),
    "bench": ("bench/", "tests/load/"),
    "browser": (*_CONSOLE, "app/transfer_page/", "app/api/", "docs/", "scripts/docs_site/"),
    "cli": _COMMANDS,
    "clients": (*_INTERFACES, *_PUBLIC, "app/watcher/", "clients/", "demo/", "docs/"),
    "console": (*_CONSOLE, *_FEATURES),
    "contract": (*_INTERFACES, *_PUBLIC),
    "credentials": ("app/credentials/", "app/approvals/"),
    "db": (),
    "deploy": ("deploy/", "README.md", "docs/operations.md", *_SERVER),
    "estimates": _ANSWERS,
    "faults": _COMMANDS,
    "faults_rig": ("tests/load/", "deploy/"),
    "feed": ("migrations/", "app/credentials/", "app/webhooks/", *_ANSWERS, *_SERVER),
    "fuzz": (*_SERVER, *_CONSOLE, "app/grpcweb/"),
    "grpcweb": ("app/grpcweb/", "proto/", *_ANSWERS),
    "http": (),
    "journeys": _FEATURES,
    "latency": ("app/latency/",),
    "limits": (*_SERVER, "app/credentials/"),
    "logs": _SERVER,
    "metrics": _SERVER,
    "migrating": ("migrations/", *_COMMANDS, "deploy/nginx/", "tests/load/"),
    "monitoring": _SERVER,
    "network": ("app/approvals/",),
    "openapi": ("app/api/", "app/grpcweb/", *_PUBLIC),
    "pages": ("docs/", "README.md", "CONTRIBUTING.md", "clients/python/", "deploy/", *_COMMANDS),
    "patroni": (
        "deploy/patroni/",
        "deploy/postgres/",
        "docs/failover.md",
        "tests/load/",
        "tests/faults_rig/",
    ),
    "pooler": ("deploy/pgbouncer/", "docs/scaling.md"),
    "refunds": ("app/refunds/", "app/watcher/"),
    "replicas": _SERVER,
    "restores": (*_COMMANDS, "deploy/", "docs/operations.md"),
    "sandbox": ("app/sandbox/", "app/api/", "app/transfer_page/", "docs/sandbox.md"),
    "scripts": ("scripts/",),
    "serving": (*_SERVER, *_CONSOLE, *_STARTS, "app/grpcweb/"),
    "site": ("docs/", "scripts/docs_site/", "clients/", "app/api/"),
    "soak": ("tests/load/",),
    "transfer_page": (*_CONSOLE, "app/transfer_page/"),
    "transfers": ("app/refunds/",),
    "values": (),
    "watcher": ("app/watcher/", "demo/node/"),
    "webhooks": ("app/webhooks/", "clients/"),
}
"""A folder of ``tests/``, and the code whose change runs all of its tests, in addition to ``EVERYWHERE``."""


def areas_of(changed: Iterable[str]) -> list[str]:
    """The areas that changed files belong to; ``ALL`` where every area depends on one of them."""
    files = list(changed)
    if _any(files, EVERYWHERE):
        return [ALL]
    return [area for area, code in AREAS.items() if _any(files, (f"tests/{area}/", *code))]


def _any(files: Iterable[str], places: Iterable[str]) -> bool:
    return any(_is_in(file, place) for file in files for place in places)


def _is_in(file: str, place: str) -> bool:
    """Whether a file is in a folder, which ends in ``/``, or has such a path."""
    if place.endswith("/"):
        return file.startswith(place)
    return file.count("/") == place.count("/") and fnmatchcase(file, place)


def changed_since(commit: str) -> list[str] | None:
    """The files that differ from those of a commit; None where this checkout does not have it."""
    return _lines("diff", "--name-only", "--no-renames", commit, "HEAD", "--")


def changed_here() -> list[str] | None:
    """The files that differ from where this branch left the fetched main branch; None where there is none."""
    branched = _lines("merge-base", "HEAD", "origin/HEAD")
    if not branched:
        return None
    changed = _lines("diff", "--name-only", "--no-renames", *branched, "--")
    added = _lines("ls-files", "--others", "--exclude-standard")
    return None if changed is None or added is None else changed + added


def _lines(*command: str) -> list[str] | None:
    """What git answers; None where it fails."""
    done = subprocess.run(["git", *command], capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else None


if __name__ == "__main__":
    if sys.argv[1:] == ["--here"]:
        found = changed_here()
    else:
        found = changed_since(sys.argv[1]) if sys.argv[1:] and sys.argv[1] else None
    print(*([ALL] if found is None else areas_of(found)))  # noqa: T201
