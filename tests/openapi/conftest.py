"""A gateway with the sandbox, as it is deployed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving.sandbox import serving_sandbox
from tests.serving.server import Server


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("openapi")
    with serving_sandbox(folder, sqlite_template, WEB_CONCURRENCY="1") as running:
        yield running
