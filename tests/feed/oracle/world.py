"""The network of the random feeds, and what the oracle reads in a network document.

The keys of all validators are here, those that a rotation may bring too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

from app.values.crypto import address_of, checksum_address, keccak256
from tests.builders import network as build

NOW: Final = datetime(2026, 6, 1, 12, 0, 0, tzinfo=UTC)
KEYS: Final = [keccak256(f"validator of a random feed {n}".encode()) for n in range(7)]
SIGNERS: Final = [checksum_address(address_of(key)) for key in KEYS]
POWERS: Final = (40, 30, 20, 10)
CHAINS: Final = (1, 2, 3)
WIDE: Final = 9
"""A chain whose pool is so large that estimates from and to it meet only the limits of the other chain."""
PEGGED: Final = {"CELR": (1, 2), "MUX": (3, 1)}
"""By symbol the original chain and the pegged one."""
DECIMALS: Final = {1: 6, 2: 18, 3: 6, WIDE: 18}
ADDED: Final = 10**9
"""What each pool is opened with, in whole tokens."""


def address(n: int) -> str:
    """The address of a contract or a token."""
    return checksum_address(n.to_bytes(20, "big"))


def bridge(chain_id: int) -> str:
    return address(0xB00000 + chain_id)


def token(chain_id: int, symbol: str) -> str:
    """With letters among its digits, so that it has an upper and a lower case."""
    return address(0xABCDEF0000 + 16 * chain_id + ["USDT", "CELR", "MUX"].index(symbol))


def vault(symbol: str) -> str:
    return address(0xDE9051700 + len(symbol))


def mint(symbol: str) -> str:
    """The bridge of the pegged chain."""
    return address(0xB0B0000 + len(symbol))


def network() -> build.Document:
    """Four chains with one pool each, and two pegged pairs."""
    every = (*CHAINS, WIDE)
    return build.document(
        chains=[
            build.chain(
                n,
                f"Chain {n}",
                block_delay=10 * n,
                explore_url=f"https://scan{n}.example/",
                contract_addr=bridge(n),
            )
            for n in every
        ],
        tokens=[
            *(build.token(n, "USDT", token(n, "USDT"), DECIMALS[n]) for n in every),
            *(build.token(n, symbol, token(n, symbol), 18) for symbol, two in PEGGED.items() for n in two),
        ],
        pools=[
            build.pool(n, "USDT", str((ADDED * 10**9 if n == WIDE else ADDED) * 10 ** DECIMALS[n]))
            for n in every
        ],
        routes=[
            build.route(a, b, "USDT", rate={"model": "fixed", "value": "1"}, base_fee="0")
            for n in CHAINS
            for a, b in ((WIDE, n), (n, WIDE))
        ],
        pegged_pairs=[
            build.pair(org, pegged, symbol, vault(symbol), mint(symbol))
            for symbol, (org, pegged) in PEGGED.items()
        ],
        validators=[
            build.validator(n, signer, str(power))
            for signer, power in zip(SIGNERS, POWERS, strict=False)
            for n in CHAINS
        ],
    )


@dataclass(frozen=True)
class World:
    """What the oracle reads in a network document. Addresses are lower case."""

    document: Mapping[str, Any]

    @cached_property
    def chains(self) -> dict[int, Mapping[str, Any]]:
        return {chain["id"]: chain for chain in self.document.get("chains", ())}

    @cached_property
    def _tokens(self) -> dict[tuple[int, str], Mapping[str, Any]]:
        return {(each["chain_id"], each["symbol"]): each for each in self.document.get("tokens", ())}

    @cached_property
    def symbols(self) -> dict[str, str]:
        """The symbols as they are configured, by their lower case."""
        return {symbol.lower(): symbol for _, symbol in self._tokens}

    def token(self, chain_id: int, symbol: str) -> str | None:
        found = self._tokens.get((chain_id, symbol))
        return found["address"].lower() if found else None

    def decimals(self, chain_id: int, symbol: str) -> int | None:
        found = self._tokens.get((chain_id, symbol))
        return found["decimal"] if found else None

    def symbol(self, chain_id: int, token: str) -> str | None:
        """Which token of the chain has this address."""
        listed = (each for each in self._tokens.values() if each["chain_id"] == chain_id)
        return next((each["symbol"] for each in listed if each["address"].lower() == token.lower()), None)

    def validators(self, chain_id: int) -> dict[str, int]:
        """The opening set of a chain: powers by address."""
        listed = self.document.get("validators", ())
        return {v["signer"].lower(): int(v["power"]) for v in listed if v["chain_id"] == chain_id}

    def link(self, chain_id: int | None, tx_hash: str | None) -> str:
        if chain_id not in self.chains or not tx_hash:
            return ""
        return f"{self.chains[chain_id]['explore_url'].rstrip('/')}/tx/{tx_hash}"

    def block_delay(self, chain_id: int | None) -> int:
        return int(self.chains[chain_id].get("block_delay", 0)) if chain_id in self.chains else 0

    def _pair(self, kind: str, source: int, destination: int, symbol: str) -> Mapping[str, Any] | None:
        """The pegged pair that a deposit or a burn went through."""
        ends = (source, destination) if kind == "deposit" else (destination, source)
        for pair in self.document.get("pegged_pairs", ()):
            if (pair["symbol"], pair["org_chain_id"], pair["pegged_chain_id"]) == (symbol, *ends):
                return dict(pair)
        return None

    def refunder(self, kind: str, source: int, destination: int, symbol: str) -> str | None:
        """The contract that refunds a send: the pool bridge, else the vault or the bridge of its pair."""
        if kind == "pool":
            found = self.chains.get(source, {}).get("contract_addr")
            return found.lower() if found else None
        pair = self._pair(kind, source, destination, symbol)
        return str(pair[f"pegged_{kind}_contract_addr"]).lower() if pair else None

    def refunded_token(self, kind: str, source: int, destination: int, symbol: str) -> str | None:
        """The token that a refund pays: its pair's own, else that of the chain."""
        pair = self._pair(kind, source, destination, symbol) if kind != "pool" else None
        own = (pair or {}).get("org_token" if kind == "deposit" else "pegged_token") or {}
        return own["address"].lower() if own.get("address") else self.token(source, symbol)
