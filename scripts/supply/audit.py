"""``make audit``: known vulnerabilities of what the lock files pin, by pip-audit and npm.

Databases of vulnerabilities are requested over the network. A package without an answer is counted, and never
taken as free of them. So a lock file without any answer fails, too.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from scripts.supply.locks import NPM_LOCKS, PYTHON_LOCKS, ROOT

PIP_AUDIT: Final = (sys.executable, "-m", "pip_audit")
NPM: Final = ("npm",)
_SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class Found:
    """The result for one lock file."""

    lock: str
    holes: tuple[str, ...]
    looked_up: int
    not_looked_up: int
    why: str = ""

    def __str__(self) -> str:
        if self.holes:
            state = f"known vulnerabilities: {len(self.holes)}\n  " + "\n  ".join(self.holes)
        elif not self.looked_up:
            state = f"skipped: {self.why or 'the database of vulnerabilities does not respond'}"
        else:
            state = "no known vulnerability"
        partly = (
            f" ({self.not_looked_up} could not be looked up)" if self.looked_up and self.not_looked_up else ""
        )
        return f"{self.lock}: {state}{partly}"


def audit_python(lock: str, command: Sequence[str] = PIP_AUDIT) -> Found:
    """Audit what a file for pip pins."""
    options = ("--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json")
    done = _run([*command, "--requirement", lock, *options], ROOT)
    try:
        packages: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return Found(lock, (), 0, 0, _last_line(done.stderr))
    holes = tuple(
        f"{package['name']} {package['version']}: {hole['id']}, "
        f"fixed in {', '.join(hole['fix_versions']) or 'none'}"
        for package in packages
        for hole in package.get("vulns", ())
    )
    skipped = sum("skip_reason" in package for package in packages)
    return Found(lock, holes, len(packages) - skipped, skipped)


def audit_npm(folder: str, command: Sequence[str] = NPM) -> Found:
    """Audit what a lock file of npm pins."""
    lock = f"{folder}/package-lock.json"
    done = _run([*command, "audit", "--package-lock-only", "--json"], ROOT / folder)
    try:
        data: dict[str, Any] = json.loads(done.stdout)
        holes = tuple(
            f"{name} {entry['range']}: {entry['severity']}" for name, entry in data["vulnerabilities"].items()
        )
        return Found(lock, holes, max(1, data["metadata"]["dependencies"]["total"]), 0)
    except (ValueError, KeyError, TypeError):
        return Found(lock, (), 0, 0, _last_line(done.stderr))


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:200] if lines else ""


def report(found: Sequence[Found]) -> int:
    """Print the results. Returns 1 for a vulnerability, 2 if there is no answer about a lock file."""
    for each in found:
        print(each)  # noqa: T201
    unknown = sum(not each.looked_up and not each.holes for each in found)
    if unknown:
        print(f"skipped: {unknown} of {len(found)} lock files; run it with a network")  # noqa: T201
    return 1 if any(each.holes for each in found) else 2 if unknown else 0


def main() -> int:
    return report([*map(audit_python, PYTHON_LOCKS), *map(audit_npm, NPM_LOCKS)])


if __name__ == "__main__":
    sys.exit(main())
