"""Requests that schemathesis makes from the document, to a real gunicorn: it answers as the document says.

Every check of schemathesis is on. ``make soak`` sends 20,000 requests to a gateway with ``COMPAT_CLIENTS``
and as many to one without; otherwise it is some hundred to each, the same each time. One worker: with two,
its coverage phase meets a fault of Python 3.11.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.everyday import SOAK, volume
from tests.serving.sandbox import serving_sandbox

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = volume(3_000, 15)
"""For each operation; some have too few fields for so many."""
NEEDED = volume(20_000, 300)
COMMAND = (
    str(Path(sys.executable).parent / "schemathesis"),
    "--config-file", str(Path(__file__).with_name("schemathesis.toml")),
    "run", "--checks", "all", "--workers", "1",
    "--max-examples", str(EXAMPLES), "--continue-on-failure", "--no-color",
    *(("--generation-database", "none") if SOAK else ("--generation-deterministic",)),
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("compat", ["0", "1"])
def test_it_answers_as_the_document_says(tmp_path: Path, sqlite_template: Path, compat: str) -> None:
    settings = {"COMPAT_CLIENTS": compat, "WEB_CONCURRENCY": "1"}
    with serving_sandbox(tmp_path, sqlite_template, **settings) as server:
        done = subprocess.run(
            [*COMMAND, f"{server.base}/openapi.json"],
            cwd=tmp_path,
            env=os.environ | {"SCHEMATHESIS_HOOKS": "tests.openapi.unsayable", "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    if SOAK:
        print(done.stdout)
    assert done.returncode == 0, done.stdout
    counted = re.search(r"(\d+) generated, (\d+) passed", done.stdout)
    assert counted, done.stdout
    assert int(counted[2]) == int(counted[1]) >= NEEDED
