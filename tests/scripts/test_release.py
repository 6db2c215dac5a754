"""What prevents the release of a commit, in a repository of the test's own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scripts.release import complaints

CHANGES = """\
# Changelog

## [Unreleased]

## [1.2.0] - 2026-11-30

### Upgrade notes
- Nothing is to be done.

## [1.1.0] - 2026-10-01

### Upgrade notes
- None.
"""


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "x", "--allow-empty")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "release.py").write_text('VERSION: Final = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    commit(tmp_path)
    git(tmp_path, "tag", "v1.1.0")
    return tmp_path


def change(old: str, new: str) -> Callable[[Path], None]:
    def act(root: Path) -> None:
        text = (root / "CHANGELOG.md").read_text()
        assert old in text
        (root / "CHANGELOG.md").write_text(text.replace(old, new, 1))
        commit(root)

    return act


def tag(name: str) -> Callable[[Path], None]:
    return lambda root: git(root, "tag", name)


def test_finished_commit_can_be_released(root: Path) -> None:
    assert complaints(root, "1.2.0") == []


@pytest.mark.parametrize(
    ("act", "complaint"),
    [
        (lambda root: (root / "new.txt").write_text("x"), "the tree has 1 changes"),
        (tag("v1.2.0"), "the tag v1.2.0 is taken"),
        (change("[1.2.0]", "[1.2.1]"), "the entry below Unreleased must be `## [1.2.0] - <date>`"),
        (change("2026-11-30", "soon"), "soon must be a date"),
        (change("## [Unreleased]\n", "## [Unreleased]\n- More.\n"), "Unreleased must be empty"),
        (change("### Upgrade notes", "### Added"), "1.2.0 has no `### Upgrade notes`"),
    ],
)  # fmt: skip
def test_commit_is_refused(root: Path, act: Callable[[Path], object], complaint: str) -> None:
    act(root)
    (found,) = complaints(root, "1.2.0")
    assert complaint in found


def test_version_must_be_that_of_the_code(root: Path) -> None:
    found = complaints(root, "1.3.0")
    assert found[0] == "app/release.py says 1.2.0: write 1.3.0 there, and commit"


@pytest.mark.parametrize("version", ["", "1.2", "v1.2.0", "1.2.0-rc1", "01.2.0", "1.2.0\n"])
def test_version_must_be_three_numbers(root: Path, version: str) -> None:
    assert complaints(root, version)[0].endswith("must be three numbers, such as 1.4.0")
