"""The oldest code that must run on this schema, as it was committed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.programs import missing

ROOT: Final = Path(__file__).resolve().parents[2]

OLDEST_CODE: Final = "77b9d9fcc56730749ac299135dc87faca6d66c7b"
"""1.0.0."""

LAST_RELEASE: Final = "ba840f4d25093b16b62b4e50b94d2a420fb6a40c"
"""1.0.1, from which operators upgrade to this release, and to which they go back."""

REPLAY_REQUESTS: Final = """
import json, sys
from pathlib import Path
from config import Settings
from tests.contract import recorded_answers

recorded_answers.Settings = lambda **values: Settings(**(values | {"database_url": sys.argv[1]}))
recorded_answers.upgrade = lambda **_: None  # a version that this one does not know has migrated
app = recorded_answers.sandbox_app(Path())
exchanges = json.loads(recorded_answers.RECORDED.read_text(encoding="utf-8"))
assert len(exchanges) > 200
send = getattr(recorded_answers, "send_request", None) or recorded_answers.ask  # its name in older code
changed = [each for each in exchanges if send(app, each["request"]) != each["answer"]]
print(json.dumps([len(changed), changed[:1]]))
"""
"""Loads the sandbox, reports events, sends every recorded request, and runs commands."""


def checked_out(folder: Path, commit: str = OLDEST_CODE) -> Path:
    """A folder with the code of a commit, which has to be in this clone's history."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        missing(f"commit {commit[:8]} is not in this clone: git fetch --unshallow")
    folder.mkdir()
    subprocess.run(["tar", "x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def answers_of(code: Path, url: str) -> str:
    """What code answers on a database: how many answers changed, and one of them."""
    environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ
    }
    command = [sys.executable, "-c", REPLAY_REQUESTS, url]
    done = subprocess.run(command, cwd=code, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip().splitlines()[-1]
