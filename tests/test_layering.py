"""The rules of the code hold, and what checks them finds what breaks them.

Who may import whom are the import-linter contracts in pyproject.toml. They run in `make lint`; here
violations are planted in a copy to prove that each of them bites. What no tool covers is checked here:
imports by name, of tests and of benchmarks, places outside the repository.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.repository import build, files, statements

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS: list[dict[str, Any]] = PYPROJECT["tool"]["importlinter"]["contracts"]

LAYERS: list[str] = next(each for each in CONTRACTS if each["id"] == "order")["layers"]
"""The lines of the one order, the highest first."""


def package(line: str) -> str:
    """A package of a line of the order: some have modules, too."""
    return next(name for name in line.split(" | ") if (ROOT / "app" / name).is_dir() or line == name)


PLANTED = {
    "order": {
        f"app/{package(lower)}/planted_up.py": f"import app.{package(upper)}\n"
        for upper, lower in pairwise(LAYERS)
    }
    | {
        "app/console/planted_side.py": "import app.cli\n",
        "app/waiting/planted_side.py": "import app.webhooks\n",
        "app/latency/planted_side.py": "import app.estimates\n",
    },
    "rules": {
        "app/values/planted_time.py": "import time\n",
        "app/values/planted_web.py": "from flask import request\n",
        "app/transfers/rules/planted_table.py": "from app.transfers import models\n",
        "app/network/rules/planted_sql.py": "import sqlalchemy\n",
        "app/watcher/rules/logs/planted_clock.py": "import time\n",
    },
    "feature": {
        "app/refunds/models/planted.py": "from app.refunds import queries\n",
        "app/feed/services/planted.py": "import app.feed.views\n",
        "app/transfers/queries/planted.py": "from app.transfers.services import status\n",
        "app/latency/rules/planted.py": "from app.latency import models\n",
    },
    "known-by-services": {"app/watcher/planted_select.py": "from app.latency import queries\n"},
    "interfaces": {
        "app/api/planted_table.py": "from app.transfers import models\n",
        "app/cli/planted_select.py": "from app.latency import queries\n",
    },
    "console": {"app/console/planted_write.py": "from app.feed import projection\n"},
    "services-know-no-http": {
        "app/feed/services/planted_http.py": "from app.http import headers\n",
        "app/transfers/services/planted_flask.py": "from flask import request\n",
    },
    "outside": {
        "app/transfers/queries/planted_bench.py": "from bench import grow\n",
        "app/http/planted.py": "from config import Settings\n",
    },
    "cycles": {
        "app/sandbox/planted_one.py": "from app.sandbox import planted_two\n",
        "app/sandbox/planted_two.py": "from app.sandbox import planted_one\n",
    },
}
"""For each contract imports that break it."""

PRIVATE = re.compile(r"\.\./shared\b|(?<![\w./-])/wor[k](?![\w-])")
"""Places outside the repository, which nobody else has."""

OUTSIDE = "/".join(["..", "shared", "notes.md"])
HOME = "/".join(["", "work", "main"])


def lint_imports(root: Path) -> dict[str, str]:
    """What import-linter reports of each contract that is broken, by the contract's id."""
    done = subprocess.run(
        [BIN / "lint-imports", "--no-cache", "--no-logo"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(root), "COLUMNS": "200", "PATH": ""},
    )
    _, _, details = done.stdout.partition("Broken contracts")
    assert bool(details) == bool(done.returncode), done.stdout + done.stderr
    # Each broken contract has a heading: its name, underlined.
    parts = re.split(r"^(.+)\n-{3,}\n", details, flags=re.MULTILINE)
    reports = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {
        contract["id"]: reports[contract["name"]] for contract in CONTRACTS if contract["name"] in reports
    }


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What import-linter reports of a copy of the application with all the violations in it."""
    root = tmp_path_factory.mktemp("planted")
    skip = shutil.ignore_patterns("__pycache__", "static", "templates")
    shutil.copytree(ROOT / "app", root / "app", ignore=skip)
    shutil.copy(ROOT / "pyproject.toml", root)
    for tree in PLANTED.values():
        build(root, tree)
    return lint_imports(root)


@pytest.mark.parametrize("contract", PLANTED)
def test_a_broken_contract_is_found(planted: dict[str, str], contract: str) -> None:
    for path in PLANTED[contract]:
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        # Contracts about siblings name what is under them without what is above.
        name = module if module in planted[contract] else module.rpartition(".")[2]
        assert name in planted[contract], module


def test_every_contract_is_tried() -> None:
    assert [contract["id"] for contract in CONTRACTS] == list(PLANTED)


def test_rules_know_rules_and_values_only() -> None:
    """Counted without import-linter, which would let a module pass that no contract names."""
    rules = [file for file in (ROOT / "app").glob("*/rules/**/*.py") if not file.name.endswith("_pb2.py")]
    assert rules
    for file in rules:
        for node in statements(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("app."):
                assert re.match(r"app\.(\w+\.rules|values)\b", node.module or ""), (file, node.module)


def violations(root: Path) -> list[str]:
    """Every broken rule that no tool covers, as ``path:line: what is wrong``."""
    found: list[str] = []
    for path in files(root):
        name = path.relative_to(root).as_posix()
        found += private_places(path, name)
        if path.suffix == ".py":
            code = list(statements(ast.parse(path.read_text())))
            found += borrowed(code, name)
        if name.startswith("app/") and path.suffix == ".py" and "__import__(" in path.read_text():
            found.append(f"{name}:1: an import by name hides a dependency")
    return found


def borrowed(code: Iterable[ast.AST], name: str) -> Iterator[str]:
    """Test modules and benchmarks that are imported: what tests share is in modules that have no tests."""
    for node in code:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        else:
            modules = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        for module in modules:
            if re.match(r"tests\.(\w+\.)*test_", module):
                yield f"{name}:{node.lineno}: imports a module of tests, {module}"
                break
            if re.match(r"tests/(?!bench/)", name) and re.match(r"bench\b", module):
                yield f"{name}:{node.lineno}: imports a benchmark, {module}"
                break


def private_places(path: Path, name: str) -> Iterator[str]:
    """Mentions of folders that are not part of the repository."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return
    for number, line in enumerate(lines, 1):
        if found := PRIVATE.search(line):
            yield f"{name}:{number}: refers to {found[0]}, outside the repository"


def test_this_repository_keeps_the_rules() -> None:
    assert violations(ROOT) == []


@pytest.mark.parametrize(
    ("path", "text", "report"),
    [
        ("tests/test_a.py", "from tests import test_b\n", "imports a module of tests, tests.test_b"),
        ("tests/console/pages.py", "from bench.grow import grow\n", "imports a benchmark, bench.grow"),
        ("app/feed/pools.py", "__import__('app.api')\n", "import by name"),
        ("docs/notes.md", f"see\n{OUTSIDE}\n", f":2: refers to {OUTSIDE.removesuffix('/notes.md')}"),
        ("app/feed/pools.py", f'"""As in {HOME}."""\n', "outside the repository"),
        ("Makefile", f"run:\n\t{HOME}/run\n", "outside the repository"),
    ],
)
def test_a_broken_rule_is_found(tmp_path: Path, path: str, text: str, report: str) -> None:
    build(tmp_path, {"app/__init__.py": "import flask\n", path: text})
    (found,) = violations(tmp_path)
    assert path.startswith(found.partition(":")[0])
    assert report in found
