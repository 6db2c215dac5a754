"""Which version answers: over HTTP, in the console, on the command line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from flask import Flask

from app.release import VERSION, Release
from config import ConfigError, load_settings
from tests.api.shapes import VERSION as PATH
from tests.applications import OpenApp

ROOT = Path(__file__).resolve().parents[2]
COMMIT = "3f9c1d2e4b5a69788796a5b4c3d2e1f001234567"


def newest_migration() -> str:
    config = Config()
    config.set_main_option("script_location", str(ROOT / "migrations"))
    head = ScriptDirectory.from_config(config).get_current_head()
    assert head
    return head


def test_version_is_answered(app: Flask, open_app: OpenApp) -> None:
    answer = {"err": None, "version": VERSION, "schema": newest_migration(), "api_versions": ["v2"]}
    response = app.test_client().get(PATH)
    assert response.get_json() == answer | {"commit": None}
    assert response.headers["Cache-Control"] == "no-store"
    assert open_app(build_commit=COMMIT).test_client().get(PATH).get_json() == answer | {"commit": COMMIT}
    assert open_app(doors=("ingest",)).test_client().get(PATH).get_json()["version"] == VERSION
    limited = open_app(rate_limit="1/hour").test_client()
    assert [limited.get(PATH).status_code for _ in range(3)] == [200] * 3


def test_version_command_prints_commit_and_schema(open_app: OpenApp) -> None:
    done = open_app(build_commit=COMMIT).test_cli_runner().invoke(args=["version"])
    assert done.output == f"{VERSION} (3f9c1d2e4b5a), schema {newest_migration()}\n"


def test_version_has_three_numbers() -> None:
    assert re.fullmatch(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)", VERSION)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "app.release.VERSION"}
    assert str(Release()) == VERSION


@pytest.mark.parametrize("text", ["main", "3f9c1d", "3F9C1D2E4B5A", COMMIT + " ", "g" * 40, "a" * 65])
def test_commit_must_be_a_hash(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("BUILD_COMMIT", text)
    with pytest.raises(ConfigError, match=r"^BUILD_COMMIT: must be the hash of a commit"):
        load_settings()
