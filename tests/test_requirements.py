"""A fresh install is the same everywhere: every package is pinned, and what is imported is asked for."""

from __future__ import annotations

import ast
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
FILES = ("requirements.txt", "requirements-dev.txt")
BENCH = "requirements-bench.txt"
SECOND_PART = "# What the packages above need"
OURS = {"app", "bench", "config", "wsgi", "scripts", "tests"} | {
    path.stem for path in (ROOT / "tests").rglob("*.py")
}
USED_OTHERWISE = {
    "cryptography": "libpass encrypts the secrets of one-time codes with it",
    "eth-hash": "the keccak behind eth-abi and eth-keys",
    "granian": "a contestant of make bench",
    "httptools": "uvicorn parses requests with it",
    "uvicorn": "a contestant of make bench",
    "uvloop": "uvicorn's loop",
    "grpcio-tools": "make proto",
    "import-linter": "make lint",
    "mypy": "make types",
    "pytest-xdist": "make test",
    "qrcode": "Flask-Security draws the key of one-time codes with it",
    "ruff": "make lint",
    "types-protobuf": "make types",
}


def lines(file: str) -> list[str]:
    """The lines that ask for a package, without comments."""
    text = (ROOT / file).read_text()
    stripped = (line.split("#")[0].strip() for line in text.splitlines())
    return [line for line in stripped if line and not line.startswith("-r")]


def pins(file: str) -> dict[str, Requirement]:
    """Requirements of the file by canonical name."""
    requirements = [Requirement(line) for line in lines(file)]
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def asked_for(file: str) -> set[str]:
    """Canonical names of the first part: what our own code imports or runs."""
    first_part, _, _ = (ROOT / file).read_text().partition(SECOND_PART)
    names = re.findall(r"^[A-Za-z][A-Za-z0-9_-]*", first_part, re.MULTILINE)
    return {canonicalize_name(name) for name in names}


def needed_by(requirement: Requirement, seen: set[tuple[str, str]]) -> set[str]:
    """Canonical names of everything the requirement installs here, itself included."""
    names: set[str] = {canonicalize_name(requirement.name)}
    for line in distribution(requirement.name).requires or ():
        inner = Requirement(line)
        extras = requirement.extras or {""}
        if inner.marker and not any(inner.marker.evaluate({"extra": extra}) for extra in extras):
            continue
        key = (canonicalize_name(inner.name), ",".join(sorted(inner.extras)))
        if key not in seen:
            seen.add(key)
            names |= needed_by(inner, seen)
    return names


def is_installed(name: str) -> bool:
    """Whether there is a package of this name, of whatever version."""
    try:
        return bool(distribution(name))
    except PackageNotFoundError:
        return False


for_benchmarks = pytest.mark.skipif(
    not all(map(is_installed, pins(BENCH))), reason=f"`make bench` installs what {BENCH} asks for"
)
INSTALLED = [*FILES, pytest.param(BENCH, marks=for_benchmarks)]


@pytest.mark.parametrize("file", INSTALLED)
def test_every_line_is_an_exact_pin_that_is_installed(file: str) -> None:
    for name, requirement in pins(file).items():
        assert re.fullmatch(r"==[0-9][0-9A-Za-z.]*", str(requirement.specifier)), requirement
        assert distribution(name).version == str(requirement.specifier).removeprefix("=="), name


@pytest.mark.parametrize("file", INSTALLED)
def test_the_second_part_is_exactly_what_the_first_needs(file: str) -> None:
    pinned = pins(file)
    before = (*FILES, BENCH)[: (*FILES, BENCH).index(file)]
    elsewhere = set().union(*map(pins, before))
    seen: set[tuple[str, str]] = set()
    needed = set().union(*(needed_by(pinned[name], seen) for name in asked_for(file)))
    assert needed - elsewhere == set(pinned)


def test_what_the_gateway_imports_is_asked_for() -> None:
    places = ["app", "migrations", "config.py", "wsgi.py", "gunicorn.conf.py"]
    assert_installed_by(asked_for(FILES[0]), places)


def test_what_the_tests_import_is_pinned() -> None:
    assert_installed_by(set(pins(FILES[0])) | set(pins(FILES[1])), ["tests", "scripts"])


@for_benchmarks
def test_what_the_benchmarks_import_is_pinned() -> None:
    assert_installed_by(set().union(*map(pins, (*FILES, BENCH))), ["bench"])


def test_what_is_asked_for_is_used() -> None:
    assert asked_for(FILES[0]) | asked_for(FILES[1]) == used_of(FILES[0]) | used_of(FILES[1])
    assert set(USED_OTHERWISE) <= set().union(*map(asked_for, (*FILES, BENCH)))


@for_benchmarks
def test_what_the_benchmarks_ask_for_is_used() -> None:
    assert asked_for(BENCH) == used_of(BENCH)


def used_of(file: str) -> set[str]:
    """Canonical names of what the file asks for that some module imports or that is used otherwise."""
    distributions = packages_distributions()
    used = {
        canonicalize_name(name)
        for place in ("app", "migrations", "scripts", "tests", "bench", "config.py", "gunicorn.conf.py")
        for source in python_files(ROOT / place)
        for module in imported_modules(source)
        for name in distributions.get(module, [])
    }
    assert not used & set(USED_OTHERWISE)
    return asked_for(file) & (used | set(USED_OTHERWISE))


def assert_installed_by(packages: set[str], places: list[str]) -> None:
    """Every third-party module imported in the places comes from one of the packages."""
    distributions = packages_distributions()
    for source in (found for place in places for found in python_files(ROOT / place)):
        for module in imported_modules(source) - sys.stdlib_module_names - OURS:
            found = {canonicalize_name(name) for name in distributions.get(module, [])}
            assert found & packages, f"{source.relative_to(ROOT)} imports {module}: add what brings it"


def python_files(path: Path) -> list[Path]:
    """The file, or every module under the folder."""
    if path.is_dir():
        return sorted(path.rglob("*.py"))
    return [path] if path.exists() else []


def imported_modules(source: Path) -> set[str]:
    """Top-level names that the file imports absolutely."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.split(".")[0])
    return modules
