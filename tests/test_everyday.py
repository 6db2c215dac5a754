"""What runs everyday: no database is left out, and a test only where its mark says why."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from scripts.areas import ALL, AREAS, EVERYWHERE, areas_of
from tests.databases import BACKENDS
from tests.everyday import TESTS, area_of, database_of, database_of_file, one_of, part

ROOT = TESTS.parent

A_FEATURE = [
    "api", "clients", "console", "contract", "estimates", "feed", "grpcweb", "journeys", "latency",
    "openapi",
]  # fmt: skip
"""The areas of a feature that answers clients and has a page of the console."""


def function_of(test: pytest.Item) -> str:
    return test.nodeid.partition("[")[0]


def test_only_marked_tests_are_left_out(request: pytest.FixtureRequest) -> None:
    tests = request.session.items
    marked = {
        function_of(test)
        for test in tests
        if test.get_closest_marker("soak") or test.get_closest_marker("minutes")
    }
    assert {function_of(test) for test in tests} - {function_of(test) for test in part(tests)} <= marked


def test_all_areas_use_the_other_databases(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that the everyday run leaves out."""

    def databases(tests: Iterable[pytest.Item]) -> dict[str, set[str | None]]:
        found: dict[str, set[str | None]] = defaultdict(set)
        for test in tests:
            found[function_of(test)].add(database_of(test))
        return found

    tests = [test for test in request.session.items if not test.get_closest_marker("minutes")]
    everyday = databases(part(tests))
    monkeypatch.setattr("tests.everyday.AREAS", {ALL})
    of_all = databases(part(tests))
    for function, wanted in databases(tests).items():
        if len(wanted) > 1 and function in everyday:
            assert everyday[function] | of_all[function] == wanted, function
        assert of_all[function], function


def test_every_file_runs_something(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def runs(*near: str) -> set[pytest.Item]:
        monkeypatch.setattr("tests.everyday.NEAR", frozenset(near))
        return part(request.session.items)

    monkeypatch.setattr("tests.everyday.AREAS", frozenset())
    everyday, sampled = runs(ALL), runs("console")
    assert sampled <= everyday
    assert {test.path for test in sampled} == {test.path for test in everyday}
    assert [test for test in everyday - sampled if area_of(test) == "console"] == []


def test_who_leaves_a_test_out_says_why(request: pytest.FixtureRequest) -> None:
    for test in request.session.items:
        for name in ("soak", "minutes"):
            assert all(mark.args for mark in test.iter_markers(name)), test.nodeid


def test_every_case_has_its_turn() -> None:
    assert {one_of("abc", f"test_{number}") for number in range(20)} == set("abc")
    assert one_of("abc", "test_1") == one_of("abc", "test_1")


def test_databases_share_files_about_equally() -> None:
    files = sorted(path.as_posix() for path in Path("tests").rglob("test_*.py"))
    chosen = [database_of_file(file) for file in files]
    assert all(chosen.count(backend) > len(files) / 3 for backend in BACKENDS)


def test_each_folder_of_tests_is_an_area() -> None:
    folders = {path.parent for path in TESTS.rglob("test_*.py")}
    assert {folder.relative_to(TESTS).parts[0] for folder in folders if folder != TESTS} == set(AREAS)


def test_each_area_names_code_that_is_there() -> None:
    patterns = {pattern for patterns in (EVERYWHERE, *AREAS.values()) for pattern in patterns}
    assert [pattern for pattern in patterns if not any(ROOT.glob(pattern))] == []


@pytest.mark.parametrize(
    ("changed", "areas"),
    [
        ([], []),
        (["CHANGELOG.md"], []),
        (["app/db/engine.py"], [ALL]),
        (["app/cli/sandbox.py"], ["cli", "faults", "migrating", "pages", "restores"]),
        (["app/latency/views.py"], A_FEATURE),
        (["tests/watcher/kit.py", "app/sandbox/catalogue.py"], ["sandbox", "watcher"]),
        (["docs/api/status.md"], ["browser", "clients", "pages", "site"]),
        (["app/network/models.py"], [ALL]),
        (["tests/everyday.py"], [ALL]),
    ],
)
def test_change_runs_tests_of_its_areas(changed: list[str], areas: list[str]) -> None:
    assert areas_of(changed) == areas


def test_change_is_difference_from_main_branch(tmp_path: Path) -> None:
    def git(folder: str, *command: str) -> None:
        who = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
        subprocess.run(["git", *who, *command], cwd=tmp_path / folder, capture_output=True, check=True)

    def here(folder: str) -> list[str]:
        command = [sys.executable, str(ROOT / "scripts" / "areas.py"), "--here"]
        done = subprocess.run(command, cwd=tmp_path / folder, capture_output=True, text=True, check=True)
        return done.stdout.split()

    git("", "init", "main")
    git("main", "commit", "--allow-empty", "--message=first")
    git("", "clone", "main", "mine")
    assert (here("main"), here("mine")) == ([ALL], [])
    for name, area in (("committed", "latency"), ("new", "sandbox")):
        place = tmp_path / "mine" / "tests" / area
        place.mkdir(parents=True)
        (place / name).touch()
        if name == "committed":
            git("mine", "add", "tests")
            git("mine", "commit", "--message=second")
    assert here("mine") == ["latency", "sandbox"]


@pytest.mark.parametrize("commit", ["", "0" * 40, "--version"])
def test_unknown_change_runs_everything(commit: str) -> None:
    command = [sys.executable, "scripts/areas.py", *([commit] if commit else [])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == f"{ALL}\n"
