"""``make release VERSION=x``: whether this commit can be released, and what to run then (docs/releases.md).

It changes nothing. ``make soak`` runs all tests here, part after part, and notes those that pass in a file
that is committed: so these hours can be ended and gone on with, on several machines too.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent

_NUMBER: Final = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_WRITTEN: Final = re.compile(r'^VERSION: Final = "(.*)"$', re.MULTILINE)
_ENTRY: Final = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\S+)$", re.MULTILINE)
_TESTED: Final = Path("tests/passed.txt")
"""The commit that was tested, and a line for each part that passed: ``make soak`` writes it."""
_BUT_TESTED: Final = f":(exclude){_TESTED}"

_PYTEST: Final = ("pytest", "-n", "auto", "--dist", "worksteal")
_ON_ONE_MACHINE: Final = ("patroni",)
"""Parts whose tests need addresses of the machine, so no two processes can run them."""
_OF_ALL: Final[dict[str, tuple[str, ...]]] = {
    "everything at once": ("tests.soak",),
    "broken requests": ("tests.fuzz",),
}
"""Parts of the tests that are no folder, each with the module that runs it."""

_TO_DO: Final = """\
{version} can be released. What is left:

  make audit                    # the notes explain each known hole in what is served
  git tag --annotate --sign v{version} --message "Version {version}"
  git push origin v{version}
  make sbom                     # build/sbom.json, to be kept beside the image
  BUILD_COMMIT={commit}         # for the image, told by /version
"""


def complaints(root: Path, version: str) -> list[str]:
    """What prevents a release of the commit as this version, in words for the releasing person."""
    if not _NUMBER.fullmatch(version):
        return [f"VERSION={version}: must be three numbers, such as 1.4.0"]
    return [
        complaint for check in (_code, _tree, _entry, _tag, _tests) if (complaint := check(root, version))
    ]


def _code(root: Path, version: str) -> str | None:
    written = _WRITTEN.search((root / "app" / "release.py").read_text(encoding="utf-8"))
    said = written[1] if written else "nothing"
    return None if said == version else f"app/release.py says {said}: write {version} there, and commit"


def _tree(root: Path, _version: str) -> str | None:
    changed = _changes(root)
    return f"the tree has {len(changed)} changes that are not committed" if changed else None


def _entry(root: Path, version: str) -> str | None:
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    entries = list(_ENTRY.finditer(text))
    if not entries or entries[0][1] != version:
        return f"CHANGELOG.md: the entry below Unreleased must be `## [{version}] - <date>`"
    try:
        date.fromisoformat(entries[0][2])
    except ValueError:
        return f"CHANGELOG.md: {entries[0][2]} is not a date such as 2026-11-30"
    unreleased = text[: entries[0].start()].partition("## [Unreleased]")[2]
    if unreleased.strip():
        return f"CHANGELOG.md: Unreleased must be empty: what is there belongs to {version}"
    ends = entries[1].start() if len(entries) > 1 else len(text)
    if "### Upgrade notes\n" not in text[entries[0].start() : ends]:
        return f"CHANGELOG.md: {version} has no `### Upgrade notes`; where nothing is to be done they say so"
    return None


def _tag(root: Path, version: str) -> str | None:
    return f"the tag v{version} is taken" if _git(root, "tag", "--list", f"v{version}") else None


def _tests(root: Path, _version: str) -> str | None:
    left = parts(root).keys() - set(_tested(root))
    if not left:
        return None
    return f"all tests must have passed on this commit: make soak ({', '.join(sorted(left))})"


def _tested(root: Path) -> list[str]:
    """The parts of the tests that passed on this commit."""
    file = root / _TESTED
    commit, *passed = file.read_text(encoding="utf-8").splitlines() if file.exists() else [""]
    return passed if _is_the_same(root, commit) else []


def _is_the_same(root: Path, commit: str) -> bool:
    """Whether a commit differs from this one in nothing but which tests passed."""
    differ = ("git", "diff", "--quiet", commit, "HEAD", "--", ".", _BUT_TESTED)
    return bool(commit) and not subprocess.run(differ, cwd=root, check=False, capture_output=True).returncode


def _changes(root: Path, *places: str) -> list[str]:
    return _git(root, "status", "--porcelain", "--", *places).splitlines()


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def parts(root: Path) -> dict[str, tuple[str, ...]]:
    """The parts of all tests: the module that runs each, and its arguments."""
    tests = sorted((root / "tests").rglob("test_*.py"))
    places = dict.fromkeys(path.relative_to(root).parts[1] for path in tests)
    by = {place: _PYTEST[:1] if place in _ON_ONE_MACHINE else _PYTEST for place in places}
    return {**{place: (*words, f"tests/{place}") for place, words in by.items()}, **_OF_ALL}


def run_tests(root: Path, run: Callable[[Sequence[str]], int], only: Sequence[str] = ()) -> list[str]:
    """Run each part that did not pass on this commit yet, and note those that do. Returns those that failed.

    :param run: runs a module with arguments; returns its exit status.
    :param only: the parts that are run, in this order; all, where none is named.
    """
    failed, modules = [], parts(root)
    for part in only or modules:
        commit = _git(root, "rev-parse", "HEAD")
        if part in _tested(root):
            print(f"{part}: passed on this commit before")  # noqa: T201
        elif run(modules[part]):
            failed.append(part)
        elif _is_the_same(root, commit):
            print(note_tested(root, part))  # noqa: T201
        else:
            print(f"{part}: passed, but not noted: the commit is another one now")  # noqa: T201
    return failed


def note_tested(root: Path, *passed: str) -> str:
    """Note parts that passed on this commit, unless the tree has changes. Returns what was done, in words."""
    if _changes(root, ".", _BUT_TESTED):
        return "not noted for a release: the tree has changes"
    commit = _git(root, "rev-parse", "HEAD")
    lines = (commit, *sorted({*_tested(root), *passed}))
    (root / _TESTED).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return f"noted: {', '.join(passed)}: passed on {commit[:12]}"


def main(arguments: list[str]) -> int:
    """Print what prevents a release, or what to do. ``--test`` runs all tests, or the named parts."""
    if arguments[:1] == ["--test"]:
        known = parts(ROOT)
        if unknown := ", ".join(part for part in arguments[1:] if part not in known):
            sys.stderr.write(f"no part of the tests: {unknown}; there are: {', '.join(known)}\n")
            return 2
        failed = run_tests(ROOT, _run, arguments[1:])
        print("failed: " + ", ".join(failed) if failed else "all tests passed")  # noqa: T201
        return bool(failed)
    version = "".join(arguments)
    if found := complaints(ROOT, version):
        sys.stderr.write("".join(f"{complaint}\n" for complaint in found))
        return 1
    print(_TO_DO.format(version=version, commit=_git(ROOT, "rev-parse", "HEAD")))  # noqa: T201
    return 0


def _run(words: Sequence[str]) -> int:
    return subprocess.run(
        [sys.executable, "-m", *words], env=os.environ | {"SOAK": "1"}, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
