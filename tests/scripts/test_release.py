"""What keeps a commit from being released, in a repository of the test's own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from scripts.release import complaints, note_tested, parts, run_tests

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


PASSED = "tests/passed.txt"


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
    for name in ("test_all.py", "estimates/test_fee.py", "feed/views/test_post.py"):
        (tmp_path / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests" / name).write_text("")
    commit(tmp_path)
    git(tmp_path, "tag", "v1.1.0")
    pass_all(tmp_path)
    return tmp_path


def pass_all(root: Path) -> None:
    note_tested(root, *parts(root))
    commit(root)


def change(old: str, new: str) -> Callable[[Path], None]:
    def act(root: Path) -> None:
        text = (root / "CHANGELOG.md").read_text()
        assert old in text
        (root / "CHANGELOG.md").write_text(text.replace(old, new, 1))
        commit(root)
        pass_all(root)

    return act


def change_the_code(root: Path) -> None:
    (root / "app" / "more.py").write_text("")
    commit(root)


def without_notes(root: Path) -> None:
    (root / PASSED).unlink()
    commit(root)


def tag(name: str) -> Callable[[Path], None]:
    return lambda root: git(root, "tag", name)


def test_a_commit_that_can_be_released(root: Path) -> None:
    assert complaints(root, "1.2.0") == []


PARTS = ["broken requests", "estimates", "everything at once", "feed", "test_all.py"]
TESTS = f"all tests must have passed on this commit: make soak ({', '.join(PARTS)})"


@pytest.mark.parametrize(
    ("act", "complaint"),
    [
        (lambda root: (root / "new.txt").write_text("x"), "the tree has 1 changes"),
        (lambda root: note_tested(root, "more"), "the tree has 1 changes"),
        (without_notes, "all tests must have passed on this commit"),
        (tag("v1.2.0"), "the tag v1.2.0 is taken"),
        (change("[1.2.0]", "[1.2.1]"), "the entry below Unreleased must be `## [1.2.0] - <date>`"),
        (change("2026-11-30", "soon"), "soon is not a date"),
        (change("## [Unreleased]\n", "## [Unreleased]\n- More.\n"), "Unreleased must be empty"),
        (change("### Upgrade notes", "### Added"), "1.2.0 has no `### Upgrade notes`"),
    ],
)  # fmt: skip
def test_what_keeps_it(root: Path, act: Callable[[Path], object], complaint: str) -> None:
    act(root)
    (found,) = complaints(root, "1.2.0")
    assert complaint in found


def test_notes_of_other_content_do_not_count(root: Path) -> None:
    commit(root)
    assert complaints(root, "1.2.0") == [], "the same content"
    change_the_code(root)
    assert complaints(root, "1.2.0") == [TESTS]


def test_the_code_must_say_it(root: Path) -> None:
    found = complaints(root, "1.3.0")
    assert found[0] == "app/release.py says 1.2.0: write 1.3.0 there, and commit"


@pytest.mark.parametrize("version", ["", "1.2", "v1.2.0", "1.2.0-rc1", "01.2.0", "1.2.0\n"])
def test_a_version_is_three_numbers(root: Path, version: str) -> None:
    assert complaints(root, version)[0].endswith("must be three numbers, such as 1.4.0")


def test_changed_tree_is_not_noted_tested(root: Path) -> None:
    change_the_code(root)
    (root / "new.txt").write_text("x")
    assert note_tested(root, "estimates").startswith("not noted")
    (root / "new.txt").unlink()
    assert complaints(root, "1.2.0") == [TESTS]


def test_parts_that_passed_are_not_run_again(root: Path) -> None:
    change_the_code(root)
    run: list[str] = []

    def fails_in_feed(words: Sequence[str]) -> int:
        run.append(words[-1])
        return int(words[-1] == "tests/feed")

    assert run_tests(root, fails_in_feed) == ["feed"]
    assert sorted(run) == ["tests.fuzz", "tests.soak", "tests/estimates", "tests/feed", "tests/test_all.py"]
    commit(root)  # and another machine goes on
    (complaint,) = complaints(root, "1.2.0")
    assert complaint.endswith("make soak (feed)")
    assert run_tests(root, lambda words: words[-1] != "tests/feed") == []
    commit(root)
    assert complaints(root, "1.2.0") == []
    assert (root / PASSED).read_text().splitlines()[1:] == sorted(PARTS)


def test_named_parts_are_run_alone(root: Path) -> None:
    change_the_code(root)
    run: list[str] = []
    assert run_tests(root, lambda words: run.append(words[-1]) or 0, ["feed", "broken requests"]) == []
    assert run == ["tests/feed", "tests.fuzz"]
    assert (root / PASSED).read_text().splitlines()[1:] == ["broken requests", "feed"]


def test_a_commit_that_changes_meanwhile_is_not_noted(root: Path) -> None:
    change_the_code(root)
    before = (root / PASSED).read_text()

    def commits(_words: Sequence[str]) -> int:
        (root / "app" / "meanwhile.py").write_text("")
        commit(root)
        return 0

    assert run_tests(root, commits, ["feed"]) == []
    assert (root / PASSED).read_text() == before
