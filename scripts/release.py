"""``make release VERSION=x``: whether this commit can be released, and what to run then (docs/releases.md).

It changes nothing. Whether the tests passed on the commit is CI's status.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent

_NUMBER: Final = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_WRITTEN: Final = re.compile(r'^VERSION: Final = "(.*)"$', re.MULTILINE)
_ENTRY: Final = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\S+)$", re.MULTILINE)

_TO_DO: Final = """\
{version} can be released, once CI and the long tests have passed on {commit}. What is left:

  make audit                    # the notes explain each known vulnerability in what is served
  git tag --annotate --sign v{version} --message "Version {version}"
  git push origin v{version}
  make sbom                     # build/sbom.json: store it next to the image
  BUILD_COMMIT={commit}         # for the image; /version shows it
"""


def complaints(root: Path, version: str) -> list[str]:
    """What prevents a release of the commit as this version, in words for the releasing person."""
    if not _NUMBER.fullmatch(version):
        return [f"VERSION={version}: must be three numbers, such as 1.4.0"]
    return [complaint for check in (_code, _tree, _entry, _tag) if (complaint := check(root, version))]


def _code(root: Path, version: str) -> str | None:
    written = _WRITTEN.search((root / "app" / "release.py").read_text(encoding="utf-8"))
    said = written[1] if written else "nothing"
    return None if said == version else f"app/release.py says {said}: write {version} there, and commit"


def _tree(root: Path, _version: str) -> str | None:
    changed = _git(root, "status", "--porcelain").splitlines()
    return (
        f"the tree has {len(changed)} changes that are not committed: commit or stash them"
        if changed
        else None
    )


def _entry(root: Path, version: str) -> str | None:
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    entries = list(_ENTRY.finditer(text))
    if not entries or entries[0][1] != version:
        return f"CHANGELOG.md: the entry below Unreleased must be `## [{version}] - <date>`"
    try:
        date.fromisoformat(entries[0][2])
    except ValueError:
        return f"CHANGELOG.md: {entries[0][2]} must be a date such as 2026-11-30"
    unreleased = text[: entries[0].start()].partition("## [Unreleased]")[2]
    if unreleased.strip():
        return f"CHANGELOG.md: Unreleased must be empty: what is there belongs to {version}"
    ends = entries[1].start() if len(entries) > 1 else len(text)
    if "### Upgrade notes\n" not in text[entries[0].start() : ends]:
        return f"CHANGELOG.md: {version} has no `### Upgrade notes`; where nothing is to be done they say so"
    return None


def _tag(root: Path, version: str) -> str | None:
    return (
        f"the tag v{version} is taken: choose the next version"
        if _git(root, "tag", "--list", f"v{version}")
        else None
    )


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def main(version: str) -> int:
    """Print what prevents a release, or what to do."""
    if found := complaints(ROOT, version):
        sys.stderr.write("".join(f"{complaint}\n" for complaint in found))
        return 1
    print(_TO_DO.format(version=version, commit=_git(ROOT, "rev-parse", "HEAD")))  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main("".join(sys.argv[1:])))
