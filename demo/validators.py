"""The validators of the local chains: they sign what the contracts pay on. Their keys are no secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.values.crypto import address_of, keccak256, sign_digest

POOL_REFUND, POOL_PAYOUT, VAULT, BRIDGE = "WithdrawMsg", "Relay", "Withdraw", "Mint"
"""What a request is for, as its digest names it: a withdraw or a relay of the pool bridge, a withdraw of a
vault, a mint of a pegged bridge."""


def key(number: int) -> bytes:
    return keccak256(f"local chain validator {number}".encode())


@dataclass(frozen=True)
class Validators:
    """A validator set: power by private key."""

    powers: Mapping[bytes, int] = field(default_factory=dict)

    @classmethod
    def of(cls, *powers: int, first: int = 1) -> Validators:
        """The validators ``first``, ``first`` + 1 … with these powers."""
        return cls({key(first + place): power for place, power in enumerate(powers)})

    @property
    def members(self) -> list[tuple[bytes, int]]:
        """Addresses and powers, by address."""
        return sorted((address_of(key), power) for key, power in self.powers.items())

    @property
    def signers(self) -> list[bytes]:
        return [who for who, _ in self.members]

    @property
    def signer_powers(self) -> list[int]:
        """The powers, in the order of the addresses."""
        return [power for _, power in self.members]

    def signatures(self, chain_id: int, contract: bytes, purpose: str, request: bytes) -> list[bytes]:
        """Everybody's signatures, by address (docs/interface/contracts.md#signatures)."""
        digest = signed_digest(chain_id, contract, purpose, request)
        keys = sorted(self.powers, key=address_of)
        return [sign_digest(digest, each) for each in keys]

    def call_arguments(
        self, chain_id: int, contract: bytes, purpose: str, request: bytes
    ) -> tuple[bytes, list[bytes], list[bytes], list[int]]:
        """What a contract is called with: the request, signatures, signers and powers."""
        sigs = self.signatures(chain_id, contract, purpose, request)
        return request, sigs, self.signers, self.signer_powers


def signed_digest(chain_id: int, contract: bytes, purpose: str, request: bytes) -> bytes:
    """What validators sign: the request, bound to a chain, a contract and a purpose, as EIP-191 has it."""
    domain = keccak256(chain_id.to_bytes(32, "big") + contract + purpose.encode())
    return keccak256(b"\x19Ethereum Signed Message:\n32" + keccak256(domain + request))
