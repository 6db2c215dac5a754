"""bridges.json is what the contracts of this folder compile to."""

from __future__ import annotations

import shutil
import subprocess
from hashlib import sha256

import pytest

from tests.contract.evm.machine import COMPILED, FOLDER, NAMES


def test_the_code_was_compiled_from_the_source() -> None:
    sources = b"".join(path.read_bytes() for path in sorted(FOLDER.glob("*.sol")))
    assert COMPILED["sources"] == f"sha256:{sha256(sources).hexdigest()}", "run make contracts"
    names = {name.format(version) for name in NAMES.values() for version in (1, 2)}
    assert set(COMPILED["contracts"]) == names | {"Token", "WrappedCoin", "CappedToken", "NoCoin"}


@pytest.mark.skipif(
    not (shutil.which("node") and (FOLDER / "node_modules" / "solc").exists()),
    reason="needs the Solidity compiler: make contracts",
)
def test_compiling_again_changes_nothing() -> None:
    made = subprocess.run(["node", "compile.cjs"], cwd=FOLDER, capture_output=True, check=True, timeout=120)
    assert made.stdout == (FOLDER / "bridges.json").read_bytes()
