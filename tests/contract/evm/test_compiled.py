"""bridges.json is what Bridges.sol compiles to."""

from __future__ import annotations

import shutil
import subprocess
from hashlib import sha256

import pytest

from tests.contract.evm.machine import COMPILED, FOLDER, NAMES


def test_the_code_was_compiled_from_the_source() -> None:
    source = (FOLDER / "Bridges.sol").read_bytes()
    assert COMPILED["source"] == f"sha256:{sha256(source).hexdigest()}", "run make contracts"
    assert set(COMPILED["contracts"]) == set(NAMES.values())


@pytest.mark.skipif(
    not (shutil.which("node") and (FOLDER / "node_modules" / "solc").exists()),
    reason="needs the Solidity compiler: make contracts",
)
def test_compiling_again_changes_nothing() -> None:
    made = subprocess.run(["node", "compile.cjs"], cwd=FOLDER, capture_output=True, check=True, timeout=120)
    assert made.stdout == (FOLDER / "bridges.json").read_bytes()
