"""The rules of the house hold, and the checker that says so finds what breaks them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import layering_rules
from tests.layering_rules import MAX_LINES, ROOMS, files, violations

ROOT = Path(__file__).resolve().parent.parent

LAWFUL = {
    "app/__init__.py": "import flask\nfrom app import models\nfrom app.api import v2\nimport config\n",
    "app/extensions.py": "from flask_sqlalchemy import SQLAlchemy\ndb = SQLAlchemy()\n",
    "app/domain/__init__.py": "",
    "app/domain/codes.py": "import enum\nfrom fractions import Fraction\n",
    "app/domain/crypto.py": "from coincurve import PublicKey\nfrom Crypto.Hash import keccak\n",
    "app/domain/evidence_pool.py": "from google.protobuf.message import DecodeError\nfrom . import crypto\n",
    "app/models/__init__.py": "from app.models import chains\n",
    "app/models/chains.py": "from sqlalchemy import text\nfrom app.extensions import db\n",
    "app/queries/chains.py": "from app.models.chains import text\nfrom app.domain import codes\n",
    "app/services/gateway.py": (
        "from datetime import UTC, datetime\nfrom flask import current_app\nimport orjson\n"
        "from app.models import chains\nfrom app.queries import chains as asked\nnow = datetime.now(UTC)\n"
    ),
    "app/api/v2.py": "from flask import g\nfrom app.services import gateway\nfrom app.api import schemas\n",
    "app/http/answers.py": "from flask import Response\nfrom app.domain import codes\n",
    "app/ingest/v1.py": "from app.http import answers\nfrom app.services import gateway\nimport zlib\n",
    "app/api/schemas.py": "import marshmallow\nHEADERS = {'X': request.environ['REMOTE_ADDR']}\n",
    "app/admin/views.py": "import flask_admin\nfrom app.models import chains\n",
    "app/grpcweb/frames.py": "from google.protobuf import message\nimport struct\n",
    "app/watcher/loop.py": "import socket\nfrom app.services import gateway\n",
    "app/cli/chains.py": "import click\nfrom app.services import gateway\nimport time\ntime.monotonic()\n",
    "app/domain/refund_pb2.py": "x = 1\n" * (MAX_LINES + 1),
    "config.py": "import os\nos.environ\n",
    "wsgi.py": "from config import load_settings\n",
    "scripts/start.py": "import os\nfrom config import load_settings\nos.environ\n",
    "tests/test_it.py": "def test():\n    import os\n    os.environ\n    from app import models\n",
    "README.md": "Workers share no connection; see https://example.org/work and ./networks.\n",
}
"""A small house in order."""

OUTSIDE = "/".join(["..", "shared", "notes.md"])
HOME = "/".join(["", "work", "main"])


def build(root: Path, tree: dict[str, str]) -> None:
    """Write the files."""
    for path, text in tree.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def test_this_house_is_in_order() -> None:
    assert violations(ROOT) == []


def test_every_source_is_looked_at() -> None:
    seen = {path.relative_to(ROOT).as_posix() for path in files(ROOT)}
    assert {"app/__init__.py", "app/models/engine.py", "config.py", "tests/test_layering.py"} <= seen
    assert not any(path.startswith((".git/", ".venv/", "instance/")) for path in seen)


def test_a_house_in_order_has_no_violations(tmp_path: Path) -> None:
    build(tmp_path, LAWFUL)
    assert violations(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("app/domain/amounts.py", "import sqlalchemy\n", "domain may not import sqlalchemy"),
        ("app/domain/amounts.py", "from flask import request\n", "domain may not import flask.request"),
        (
            "app/domain/amounts.py",
            "from app.models import chains\n",
            "domain may not import app.models.chains",
        ),
        ("app/domain/amounts.py", "from ..models import chains\n", "domain may not import app.models.chains"),
        ("app/domain/amounts.py", "from app.extensions import db\n", "domain may not import app.extensions"),
        ("app/domain/amounts.py", "import coincurve\n", "domain may not import coincurve"),
        ("app/domain/evidence.py", "import sqlalchemy\n", "domain may not import sqlalchemy"),
        ("app/domain/amounts.py", "import time\n", "domain may not import time"),
        ("app/domain/amounts.py", "from urllib import request\n", "domain may not import urllib.request"),
        (
            "app/models/pools.py",
            "from app.queries import chains\n",
            "models may not import app.queries.chains",
        ),
        ("app/models/pools.py", "import flask\n", "models may not import flask"),
        ("app/queries/pools.py", "from app.services import gateway\n", "queries may not import app.services"),
        ("app/queries/pools.py", "import marshmallow\n", "queries may not import marshmallow"),
        ("app/services/status.py", "from flask import request\n", "services may not import flask.request"),
        ("app/services/status.py", "import flask\n", "services may not import flask"),
        ("app/services/status.py", "from app.api import v2\n", "services may not import app.api.v2"),
        ("app/services/status.py", "from app import create_app\n", "services may not import app.create_app"),
        ("app/api/v3.py", "from app.queries import chains\n", "api may not import app.queries.chains"),
        ("app/api/v3.py", "from app.models import chains\n", "api may not import app.models.chains"),
        ("app/api/v3.py", "from sqlalchemy import select\n", "api may not import sqlalchemy.select"),
        ("app/api/v3.py", "import app.grpcweb.frames\n", "api may not import app.grpcweb.frames"),
        ("app/http/pages.py", "from app.services import gateway\n", "http may not import app.services"),
        ("app/http/pages.py", "from app.api import v2\n", "http may not import app.api.v2"),
        ("app/ingest/v2.py", "from app.api import schemas\n", "ingest may not import app.api.schemas"),
        ("app/ingest/v2.py", "from sqlalchemy import select\n", "ingest may not import sqlalchemy.select"),
        ("app/grpcweb/web.py", "from app.api import schemas\n", "grpcweb may not import app.api.schemas"),
        ("app/admin/pools.py", "from app.queries import chains\n", "admin may not import app.queries.chains"),
        (
            "app/watcher/logs.py",
            "from app.extensions import db\n",
            "watcher may not import app.extensions.db",
        ),
        ("app/cli/pools.py", "from app.models import chains\n", "cli may not import app.models.chains"),
        ("app/cli/pools.py", "import requests\n", "cli may not import requests"),
        ("app/extensions.py", "from app.domain import codes\n", "extensions may not import app.domain"),
        ("app/cellar/wine.py", "", "cellar is no room"),
        ("app/helpers.py", "", "helpers is no room"),
        ("app/cli/pools.py", "def f():\n    import json\n", ":2: import inside the function f"),
        ("app/cli/pools.py", "class A:\n    async def f(self):\n        from os import path\n", "function f"),
        ("app/cli/pools.py", "import importlib\nimportlib.import_module('app.api')\n", "import at run time"),
        ("app/services/status.py", "from config import Settings\n", "config.py is not imported here"),
        ("migrations/env.py", "import config\n", "config.py is not imported here"),
        (
            "app/services/status.py",
            "import os\nos.environ['A']\n",
            ":2: only config.py reads the environment",
        ),
        ("app/services/status.py", "from os import getenv\n", "only config.py reads the environment"),
        ("wsgi.py", "import os\nos.getenv('A')\n", "only config.py reads the environment"),
        ("app/cli/pools.py", "from datetime import datetime\ndatetime.utcnow()\n", "utcnow is naive"),
        ("app/cli/pools.py", "import datetime\ndatetime.datetime.now()\n", "datetime.now() is naive"),
        ("app/cli/pools.py", "from datetime import date\ndate.today()\n", "date.today is naive"),
        ("app/cli/pools.py", "datetime.fromtimestamp(1)\n", "without a zone is naive"),
        ("app/cli/pools.py", "datetime.now(UTC)\n", "datetime.now is a clock of its own"),
        ("app/cli/pools.py", "import time\ntime.time()\n", "time.time is a clock of its own"),
        ("app/cli/pools.py", "from time import time\n", "time.time is a clock of its own"),
        (
            "app/models/pools.py",
            "from sqlalchemy import func\nfunc.now()\n",
            "func.now is a clock of its own",
        ),
        ("app/cli/long.py", "x = 1\n" * (MAX_LINES + 1), f"{MAX_LINES + 1} lines"),
        ("tests/test_long.py", "x = 1\n" * (MAX_LINES + 1), f"{MAX_LINES + 1} lines"),
        ("docs/notes.md", f"see\n{OUTSIDE}\n", f":2: refers to {OUTSIDE.removesuffix('/notes.md')}"),
        ("app/cli/pools.py", f'"""As in {HOME}."""\n', "outside the repository"),
        ("Makefile", f"run:\n\t{HOME}/run\n", "outside the repository"),
    ],
)
def test_a_broken_rule_is_found(tmp_path: Path, path: str, text: str, said: str) -> None:
    build(tmp_path, LAWFUL | {path: text})
    (found,) = violations(tmp_path)
    assert found.startswith(path)
    assert said in found


def test_a_cycle_is_found_once(tmp_path: Path) -> None:
    ring = {
        "app/cli/one.py": "from app.cli import two\n",
        "app/cli/two.py": "from app.cli.three import x\n",
        "app/cli/three.py": "from .one import y\n",
    }
    build(tmp_path, LAWFUL | ring)
    (found,) = violations(tmp_path)
    assert "import cycle: app.cli.one -> app.cli.two -> app.cli.three -> app.cli.one" in found


def test_an_exemption_must_be_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layering_rules, "LONG_FILES", {"app/cli/long.py": "a table", "wsgi.py": "none"})
    build(tmp_path, LAWFUL | {"app/cli/long.py": "x = 1\n" * (MAX_LINES + 1)})
    (found,) = violations(tmp_path)
    assert found == "wsgi.py:1: is short enough now; take it out of LONG_FILES"


def test_the_rules_cover_every_room_of_the_house() -> None:
    rooms = {path.name for path in (ROOT / "app").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert rooms <= set(ROOMS)
