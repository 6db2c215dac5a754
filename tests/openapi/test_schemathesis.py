"""Requests that schemathesis makes from the document, to a real gunicorn: its answers fit the document.

Every check of schemathesis is on. One worker: with two, its coverage phase meets a fault of Python 3.11.
Everyday, ``test_recorded.py`` compares recorded answers with the document.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.serving.sandbox import serving_sandbox

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = 3_000
"""Of each operation; some have too few fields for as many."""
NEEDED = 20_000
"""Requests that this makes at least."""
COMMAND = (
    str(Path(sys.executable).parent / "schemathesis"),
    "--config-file", str(Path(__file__).with_name("schemathesis.toml")),
    "run", "--checks", "all", "--workers", "1",
    "--generation-deterministic", "--continue-on-failure", "--no-color",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("compat", ["0", "1"])
def test_answers_fit_the_document(tmp_path: Path, sqlite_template: Path, compat: str) -> None:
    settings = {"COMPAT_CLIENTS": compat, "WEB_CONCURRENCY": "1"}
    with serving_sandbox(tmp_path, sqlite_template, **settings) as server:
        done = subprocess.run(
            [*COMMAND, "--max-examples", str(EXAMPLES), f"{server.base}/openapi.json"],
            cwd=tmp_path,
            env=os.environ | {"SCHEMATHESIS_HOOKS": "tests.openapi.unsayable", "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout
    counted = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert counted, done.stdout
    assert int(counted[2]) == int(counted[1]) >= NEEDED
