"""The rules of the code hold, and what checks them finds what breaks them.

Who may import whom are the import-linter contracts in pyproject.toml, habits are ruff's rules there. Both
run in `make lint`; here violations are planted in a copy to prove that each of them bites. What no tool
covers is checked here: the size of files and folders, imports by name, places outside the repository.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from tests.repository import build, files, statements

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS: list[dict[str, Any]] = PYPROJECT["tool"]["importlinter"]["contracts"]

PLANTED = {
    "feature": {
        "app/refunds/models/planted.py": "from app.refunds import queries\n",
        "app/feed/services/planted.py": "import app.feed.views\n",
        "app/transfers/queries/planted.py": "from app.transfers.services import status\n",
    },
    "pure": {
        "app/values/planted_time.py": "import time\n",
        "app/values/planted_table.py": "from app.transfers import models\n",
        "app/values/planted_sql.py": "import sqlalchemy\n",
        "app/values/planted_web.py": "from flask import request\n",
    },
    "pure-order": {"app/refunds/rules/call.py": "from app.transfers import status\n"},
    "order": {
        "app/db/planted_up.py": "from app.network import terms\n",
        "app/network/planted_up.py": "from app.transfers import status\n",
        "app/transfers/planted_up.py": "from app.refunds import services\n",
        "app/estimates/planted_up.py": "from app.feed import lines\n",
        "app/feed/projection/planted_up.py": "from app.webhooks import subscription\n",
    },
    "edges": {
        "app/transfers/services/planted_page.py": "from app.latency import admin\n",
        "app/feed/services/planted_refunds.py": "from app.refunds import commands\n",
    },
    "known-by-services": {
        "app/watcher/planted_select.py": "from app.latency import queries\n",
        "app/grpcweb/planted_view.py": "from app.refunds import views\n",
    },
    "root": {"app/sandbox/planted_root.py": "from app import create_app\n"},
    "outside": {
        "app/transfers/queries/planted_bench.py": "from bench import grow\n",
        "app/http/planted.py": "from config import Settings\n",
    },
    "gatherers": {
        "app/feed/services/planted_page.py": "from app.admin import dashboard\n",
        "app/latency/planted_health.py": "from app.api import health\n",
        "app/http/planted_metrics.py": "from app.monitoring import figures\n",
        "app/console/planted_frames.py": "from app.grpcweb import frames\n",
    },
    "http-alone": {"app/http/planted_feature.py": "from app.network import terms\n"},
    "cycles": {
        "app/sandbox/planted_one.py": "from app.sandbox import planted_two\n",
        "app/sandbox/planted_two.py": "from app.sandbox import planted_one\n",
    },
    "narrow-interfaces": {
        "app/api/planted_table.py": "from app.transfers import models\n",
        "app/grpcweb/planted_select.py": "from app.latency import queries\n",
    },
    "services-know-no-http": {
        "app/feed/services/planted_http.py": "from app.http import headers\n",
        "app/transfers/services/planted_flask.py": "from flask import request\n",
    },
    "pure-watcher": {"app/watcher/logs/planted.py": "from app.watcher.rpc import node\n"},
    "sandbox": {
        "app/feed/services/planted_sandbox.py": "from app.sandbox import network\n",
        "app/monitoring/planted_sandbox.py": "from app.sandbox import network\n",
    },
    "library-traces": {"app/feed/services/planted_traces.py": "import opentelemetry.trace\n"},
    "library-evidence": {"app/values/planted_keys.py": "from coincurve import PublicKey\n"},
    "library-protobuf": {"app/values/planted_bytes.py": "from google.protobuf import message\n"},
    "library-sql": {"app/api/planted_sql.py": "from sqlalchemy import select\n"},
    "library-driver": {"app/transfers/queries/planted_driver.py": "import psycopg\n"},
    "library-web": {"app/feed/projection/planted_flask.py": "from flask import request\n"},
    "library-extensions": {"app/api/planted_extension.py": "from flask_migrate import Migrate\n"},
    "library-api": {"app/grpcweb/planted_document.py": "import apispec\n"},
    "library-redis": {"app/http/planted_redis.py": "import redis\n"},
    "library-metrics": {"app/feed/services/planted_metrics.py": "import prometheus_client\n"},
    "library-console": {"app/api/planted_form.py": "from wtforms import Form\n"},
    "library-greenlets": {"app/feed/services/planted_greenlet.py": "import gevent\n"},
    "library-languages": {"app/admin/planted_language.py": "from flask_babel import gettext\n"},
    "library-schemas": {"app/transfers/queries/planted_schema.py": "import marshmallow\n"},
    "library-json": {"app/transfers/planted_json.py": "import orjson\n"},
    "library-nodes": {"app/watcher/services/planted_nodes.py": "import httpx\n"},
    "library-passwords": {"app/admin/planted_password.py": "import zxcvbn\n"},
    "library-hashes": {"app/admin/planted_hash.py": "import passlib.context\n"},
    "library-commands": {"app/feed/services/planted_command.py": "import click\n"},
}
"""For each contract imports that break it."""

BAD_HABITS = {
    "import os\nos.environ['A']\n": "TID251",
    "from os import getenv\n": "TID251",
    "import importlib\nimportlib.import_module('app.api')\n": "TID251",
    "from datetime import UTC, datetime\ndatetime.now(UTC)\n": "TID251",
    "import time\ntime.time()\n": "TID251",
    "from time import time as clock\n": "TID251",
    "from sqlalchemy import func\nfunc.now()\n": "TID251",
    "from . import text\n": "TID252",
    "from datetime import datetime\ndatetime.utcnow()\n": "DTZ003",
    "import datetime\ndatetime.datetime.now()\n": "DTZ005",
    "from datetime import datetime\ndatetime.fromtimestamp(1)\n": "DTZ006",
    "from datetime import date\ndate.today()\n": "DTZ011",
    "def f():\n    import json\n": "PLC0415",
    "class A:\n    async def f(self):\n        from os import path\n": "PLC0415",
}
"""Code that is refused anywhere in app/, with ruff's rule."""

MAX_FUNCTION_LINES = 40
"""Of a function that serves: from ``def`` to its end, with its docstring."""

SERVING = re.compile(r"(app|serving)/.*|config\.py|gunicorn\.conf\.py")
"""Where functions are held to that."""

MAX_MODULES = 20
"""In a folder of app/, its ``__init__.py`` not counted."""

LARGE_FOLDERS: dict[str, str] = {}
"""Folders over the limit, each with the reason."""

PRIVATE = re.compile(r"\.\./shared\b|(?<![\w./-])/wor[k](?![\w-])")
"""Places outside the repository, which nobody else has."""

OUTSIDE = "/".join(["..", "shared", "notes.md"])
HOME = "/".join(["", "work", "main"])


def lint_imports(root: Path) -> dict[str, str]:
    """What import-linter says about each contract that is broken, by the contract's id."""
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
    said = dict(zip(parts[1::2], parts[2::2], strict=True))
    return {contract["id"]: said[contract["name"]] for contract in CONTRACTS if contract["name"] in said}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What import-linter says about a copy of the application with all the violations in it."""
    root = tmp_path_factory.mktemp("planted")
    skip = shutil.ignore_patterns("__pycache__", "static", "templates")
    shutil.copytree(ROOT / "app", root / "app", ignore=skip)
    shutil.copy(ROOT / "pyproject.toml", root)
    for tree in PLANTED.values():
        build(root, tree)
    return lint_imports(root)


def test_the_contracts_are_kept() -> None:
    assert lint_imports(ROOT) == {}


@pytest.mark.parametrize("contract", PLANTED)
def test_a_broken_contract_is_found(planted: dict[str, str], contract: str) -> None:
    for path in PLANTED[contract]:
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        # Contracts about siblings name what is under them without what is above.
        name = module if module in planted[contract] else module.rpartition(".")[2]
        assert name in planted[contract], module


def test_every_contract_is_tried() -> None:
    assert [contract["id"] for contract in CONTRACTS] == list(PLANTED)


ANYWHERE = {"app", "config", "msgspec"}
"""What any file may import: values are Structs of msgspec, in every room."""


def test_every_library_has_its_rooms() -> None:
    given = {name for contract in CONTRACTS for name in contract.get("protected_modules", ())}
    for file in (ROOT / "app").rglob("*.py"):
        unplaced = imported(file) - sys.stdlib_module_names - ANYWHERE - given
        assert not unplaced, f"{file}: name in a contract of pyproject.toml who may import {unplaced}"


def imported(file: Path) -> set[str]:
    """The first part of every name that the file imports."""
    names: set[str] = set()
    for node in statements(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
    return names


def test_bad_habits_are_refused(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    habits = {f"app/feed/habit_{number}.py": text for number, text in enumerate(BAD_HABITS)}
    build(tmp_path, habits)
    command = [BIN / "ruff", "check", "--no-cache", "--output-format", "json", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    found = {(Path(fault["filename"]).name, fault["code"]) for fault in json.loads(done.stdout)}
    expected = {(Path(path).name, BAD_HABITS[text]) for path, text in habits.items()}
    assert expected <= found


def violations(root: Path) -> list[str]:
    """Every broken rule that no tool covers, as ``path:line: what is wrong``."""
    found: list[str] = []
    for path in files(root):
        name = path.relative_to(root).as_posix()
        found += private_places(path, name)
        if path.suffix == ".py":
            code = list(statements(ast.parse(path.read_text())))
            found += long_functions(code, name)
            found += borrowed(code, name)
        if name.startswith("app/") and path.suffix == ".py" and "__import__(" in path.read_text():
            found.append(f"{name}:1: an import by name hides a dependency")
    return [*found, *too_many(root)]


def long_functions(code: Iterable[ast.AST], name: str) -> Iterator[str]:
    """Functions that have more than one thought."""
    if not SERVING.fullmatch(name) or name.endswith("_pb2.py"):
        return
    for node in code:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                yield f"{name}:{node.lineno}: {node.name} has {lines} lines; at most {MAX_FUNCTION_LINES}"


def borrowed(code: Iterable[ast.AST], name: str) -> Iterator[str]:
    """Test modules and benchmarks that are imported: what tests share is in modules that have no tests."""
    for node in code:
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
        for module in modules:
            if re.match(r"tests\.(\w+\.)*test_", module):
                yield f"{name}:{node.lineno}: imports a module of tests, {module}"
                break
            if re.match(r"tests/(?!bench/)", name) and re.match(r"bench\b", module):
                yield f"{name}:{node.lineno}: imports a benchmark, {module}"
                break


def too_many(root: Path) -> Iterator[str]:
    """Folders of the application in which a reader gets lost."""
    modules = [path for path in files(root) if path.suffix == ".py" and path.name != "__init__.py"]
    counts = Counter(path.parent for path in modules if path.is_relative_to(root / "app"))
    for folder, count in sorted(counts.items()):
        name = folder.relative_to(root).as_posix()
        if count > MAX_MODULES and name not in LARGE_FOLDERS:
            yield f"{name}: {count} modules; at most {MAX_MODULES} are found by their names"


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


def test_every_file_is_looked_at() -> None:
    looked_at = {path.relative_to(ROOT).as_posix() for path in files(ROOT)}
    assert {"app/__init__.py", "app/db/engine.py", "config.py", "tests/test_layering.py"} <= looked_at
    assert not any(path.startswith((".git/", ".venv/", "instance/")) for path in looked_at)


def function(lines: int) -> str:
    return "class A:\n    def f():\n" + "        x = 1\n" * (lines - 1)


LAWFUL = {
    "app/__init__.py": "import flask\n",
    "app/transfers/rules/refunds/refund_pb2.py": function(MAX_FUNCTION_LINES + 1),
    "app/feed/functions.py": function(MAX_FUNCTION_LINES),
    "scripts/long_function.py": function(MAX_FUNCTION_LINES + 1),
    "README.md": "Workers share no connection; see https://example.org/work and ./networks.\n",
} | {f"app/network/table_{number}.py": "" for number in range(MAX_MODULES)}


def test_nothing_is_found_where_all_is_well(tmp_path: Path) -> None:
    build(tmp_path, LAWFUL)
    assert violations(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("app/feed/functions.py", function(MAX_FUNCTION_LINES + 1), ":2: f has 41 lines; at most 40"),
        ("gunicorn.conf.py", f"def g():\n{indent(function(40), '    ')}", "g has 42 lines"),
        (
            "tests/console/pages.py",
            "from tests.console.test_sign_in import code\n",
            "imports a module of tests",
        ),
        ("tests/test_a.py", "from tests import test_b\n", "imports a module of tests, tests.test_b"),
        ("tests/console/pages.py", "from bench.grow import grow\n", "imports a benchmark, bench.grow"),
        ("app/network/table_20.py", "", f"{MAX_MODULES + 1} modules"),
        ("app/feed/pools.py", "__import__('app.api')\n", "import by name"),
        ("docs/notes.md", f"see\n{OUTSIDE}\n", f":2: refers to {OUTSIDE.removesuffix('/notes.md')}"),
        ("app/feed/pools.py", f'"""As in {HOME}."""\n', "outside the repository"),
        ("Makefile", f"run:\n\t{HOME}/run\n", "outside the repository"),
    ],
)
def test_a_broken_rule_is_found(tmp_path: Path, path: str, text: str, said: str) -> None:
    build(tmp_path, LAWFUL | {path: text})
    (found,) = violations(tmp_path)
    assert path.startswith(found.partition(":")[0])
    assert said in found
