"""A chain's validator set: who signs refunds, with how much power, and how much is enough."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Self

from app.values.amounts import MAX_UINT256, is_uint256
from app.values.crypto import ADDRESS_BYTES, checksum_address, keccak256, minimal_big_endian
from app.values.identifiers import ChainId

MAX_TOTAL_POWER: Final = MAX_UINT256 // 2
"""The contract doubles the total power in checked uint256 arithmetic: above this it always reverts."""


class BadValidatorSet(ValueError):
    """No contract could hold this set; the message says why."""


@dataclass(frozen=True, slots=True)
class ValidatorSet:
    """The whole set of one chain, as its contracts store it: any that they accept, also one that cannot sign.

    ``members`` are (20-byte address, power) in ascending order of address; ``version`` grows by one with
    each rotation and is only shown. Build it with :meth:`of` from members in any order.
    Raises BadValidatorSet for a set that no contract would store.
    """

    chain_id: ChainId
    version: int
    members: tuple[tuple[bytes, int], ...]
    total_power: int = field(init=False, compare=False)
    _powers: dict[bytes, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        previous = bytes(ADDRESS_BYTES)
        for address, power in self.members:
            if len(address) != ADDRESS_BYTES:
                raise BadValidatorSet(f"a validator's address has 20 bytes, not {len(address)}")
            if address <= previous:
                raise BadValidatorSet(_order_fault(address, previous))
            if not is_uint256(power):
                raise BadValidatorSet(f"the power of {checksum_address(address)} is out of range")
            previous = address
        object.__setattr__(self, "total_power", sum(power for _, power in self.members))
        object.__setattr__(self, "_powers", dict(self.members))

    @classmethod
    def of(cls, chain_id: ChainId, version: int, members: Iterable[tuple[bytes, int]]) -> Self:
        """Build a set from members in any order. Raises BadValidatorSet."""
        return cls(chain_id, version, tuple(sorted((bytes(address), power) for address, power in members)))

    @property
    def quorum(self) -> int:
        """The least signed power that the contract takes: more than two thirds
        (docs/interface/contracts.md#quorum).
        """
        return self.total_power * 2 // 3 + 1

    @property
    def cannot_sign(self) -> str | None:
        """Why the contract takes nothing that this set signs (docs/interface/contracts.md#quorum), None if it
        does.
        """
        if not self.members:
            reason = "is empty"
        elif self.total_power == 0:
            reason = "has no power"
        elif self.total_power > MAX_TOTAL_POWER:
            reason = "has powers that add up to 2^255 or more, with which the contract cannot compute"
        else:
            return None
        return (
            f"the validator set of chain {self.chain_id} {reason}: it cannot sign anything, and the contract "
            "pays no refund until another set replaces it"
        )

    def reached_by(self, power: int) -> bool:
        return self.cannot_sign is None and power >= self.quorum

    def power_of(self, address: bytes) -> int | None:
        return self._powers.get(address)

    @property
    def signers(self) -> tuple[bytes, ...]:
        """The addresses in the contract's order."""
        return tuple(address for address, _ in self.members)

    @property
    def powers(self) -> tuple[bytes, ...]:
        """The powers in the same order, as status answers carry them."""
        return tuple(power_bytes(power) for _, power in self.members)

    @property
    def contract_hash(self) -> bytes:
        """What the contract stores of the set: keccak-256 of the 32-byte-padded signers, then the powers."""
        signers = b"".join(address.rjust(32, b"\0") for address, _ in self.members)
        return keccak256(signers + b"".join(power.to_bytes(32, "big") for _, power in self.members))

    def retained_power_share(self, previous: "ValidatorSet") -> Fraction:
        """The share of ``previous``'s power that is still in this set, 0 to 1 exactly. A remaining member
        counts with the lesser of the old and the new power. 1 when there was no power.
        """
        if previous.total_power == 0:
            return Fraction(1)
        shared = sum(min(power, self._powers.get(address, 0)) for address, power in previous.members)
        return Fraction(shared, previous.total_power)


def power_bytes(power: int) -> bytes:
    """Big-endian without leading zeros, and 0 as one zero byte: no bytes are no number to JavaScript's BigInt
    and to ethers.
    """
    return minimal_big_endian(power) or b"\0"


def _order_fault(address: bytes, previous: bytes) -> str:
    if not any(address):
        return "the zero address cannot be a validator"
    if address == previous:
        return f"{checksum_address(address)} is in the set twice"
    return f"{checksum_address(address)} is not in ascending order of address"
