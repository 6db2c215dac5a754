"""The lock files of this repository, and what they pin."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT: Final = Path(__file__).resolve().parents[2]

PYTHON_LOCKS: Final = {
    "requirements.txt": "what the gateway runs with",
    "requirements-dev.txt": "to build the documentation, and to work on the gateway",
}
"""The files for installations, with their purposes. The second contains the first."""

NPM_LOCKS: Final = {
    "clients/typescript": "to work on the client for TypeScript, which itself needs nothing",
    "demo/node": "the chains of `make demo`",
    "tests/contract/evm": "the compiler of the tests' contracts",
    "tests/grpcweb/clients": "clients that the tests run",
    "tests/openapi/clients": "clients that the tests generate",
    "tests/openapi/linters": "what lints the OpenAPI document in the tests",
    "bench/contestants/ponder": "what the watcher is compared with",
}
"""Folders with a ``package-lock.json``. None of it is part of the server."""


@dataclass(frozen=True, slots=True)
class Package:
    """A package of npm, and the licence in its lock file."""

    name: str
    version: str
    licence: str | None


def pinned(lock: str) -> Sequence[Requirement]:
    """What a file for pip pins, by name."""
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    found = (Requirement(line.removesuffix(" \\")) for line in lines if line and line[0] not in " #")
    return sorted(found, key=lambda each: canonicalize_name(each.name))


def npm_packages(folder: str) -> Sequence[Package]:
    """What a lock file of npm pins, by name."""
    packages = json.loads((ROOT / folder / "package-lock.json").read_bytes())["packages"]
    found = {
        Package(path.rpartition("node_modules/")[2], entry["version"], entry.get("license"))
        for path, entry in packages.items()
        if path
    }
    return sorted(found, key=lambda each: (each.name, each.version))
