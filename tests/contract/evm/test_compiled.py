"""bridges.json is what the contracts of this folder compile to."""

from __future__ import annotations

from hashlib import sha256

from tests.contract.evm.machine import COMPILED, FOLDER, NAMES


def test_contracts_are_compiled_from_their_source() -> None:
    sources = b"".join(path.read_bytes() for path in sorted(FOLDER.glob("*.sol")))
    assert COMPILED["sources"] == f"sha256:{sha256(sources).hexdigest()}", "run make contracts"
    names = {name.format(version) for name in NAMES.values() for version in (1, 2)}
    assert set(COMPILED["contracts"]) == names | {"Token", "WrappedCoin", "CappedToken", "NoCoin"}
