"""What the TypeScript client's types accept and refuse, and how its calls end."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from scripts import clients
from tests.clients import workshop
from tests.grpcweb.node import node, run

PROGRAMS = Path(__file__).parent / "programs"
"""``since_1_0``: programs written for 1.0. ``types.ts``: what viem takes, and what may not compile."""

CONFIG = {
    "extends": str(clients.TYPESCRIPT / "tsconfig.json"),
    "compilerOptions": {
        "noEmit": True,
        "skipLibCheck": True,
        "rootDir": "/",
        "typeRoots": ["node_modules/@types"],
        "paths": {
            "transfer-gateway-client": ["./src/index.ts"],
            "transfer-gateway-client/evm": ["./src/evm.ts"],
        },
    },
    "include": ["programs/**/*.ts"],
}


@pytest.mark.system
def test_programs_compile_as_promised(tmp_path: Path) -> None:
    """A line below ``@ts-expect-error`` that compiles is an error too."""
    tools = workshop.tools()
    (tmp_path / "node_modules").symlink_to(tools)
    shutil.copytree(clients.TYPESCRIPT / "src", tmp_path / "src")
    shutil.copytree(PROGRAMS, tmp_path / "programs")
    (tmp_path / "package.json").write_text(json.dumps({"type": "module"}))
    (tmp_path / "tsconfig.json").write_text(json.dumps(CONFIG))
    run(node(), str(tools / "typescript" / "bin" / "tsc"), "--project", ".", cwd=tmp_path)


@pytest.mark.system
def test_calls_end_where_nothing_answers() -> None:
    run(node(), "--test", str(workshop.typescript() / "test" / "calls.js"))
