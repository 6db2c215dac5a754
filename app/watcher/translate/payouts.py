"""What a payout is: a transfer's release, a refund, or what a liquidity provider takes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from app.domain.keys import ChainId, TransferId
from app.watcher.decode.values import Mint, Relay, WithdrawDone, Withdrawn

_SHORT: Final = bytes(8)
"""A reference that has as many zeros at either end is none: a hash has them once in 2^64."""


class Payment(StrEnum):
    """What is paid."""

    RELEASE = "release"
    REFUND = "refund"
    LIQUIDITY = "liquidity"


@dataclass(frozen=True, slots=True)
class Payout:
    """What a contract pays at once, or when its delay is over.

    :param transfer_id: None of liquidity.
    :param payout_id: under which the contract queues it.
    """

    payment: Payment
    payout_id: bytes
    token: bytes
    amount: int
    transfer_id: TransferId | None = None

    def facts(self) -> dict[str, Any]:
        """The payout as JSON values."""
        return {
            "payment": self.payment.value,
            "payout_id": self.payout_id.hex(),
            "token": self.token.hex(),
            "amount": str(self.amount),
            "transfer_id": None if self.transfer_id is None else self.transfer_id.hex(),
        }


def payout_from(facts: Mapping[str, Any]) -> Payout:
    """The payout that these facts were made of."""
    transfer_id = facts["transfer_id"]
    return Payout(
        Payment(facts["payment"]),
        bytes.fromhex(facts["payout_id"]),
        bytes.fromhex(facts["token"]),
        int(facts["amount"]),
        None if transfer_id is None else TransferId(bytes.fromhex(transfer_id)),
    )


def payout_of(said: Relay | WithdrawDone | Withdrawn | Mint, chain_id: ChainId) -> Payout | None:
    """What such a log of this chain pays; None where that is no concern of transfers or pools.

    A pool's withdraw is a refund where it has a reference: the transfer. A vault and a pegged bridge name
    the chain of the reference as well: their own chain's is a refund of what they took, another's is paid
    out here. They have none where validators take their fees.
    """
    match said:
        case Relay():
            return Payout(
                Payment.RELEASE, said.payout_id, said.token, said.amount, TransferId(said.transfer_id)
            )
        case WithdrawDone():
            if is_none(said.refid):
                return Payout(Payment.LIQUIDITY, said.payout_id, said.token, said.amount)
            return Payout(Payment.REFUND, said.payout_id, said.token, said.amount, TransferId(said.refid))
        case _:
            if said.ref_chain_id == 0 or is_none(said.ref_id):
                return None
            payment = Payment.REFUND if said.ref_chain_id == chain_id else Payment.RELEASE
            return Payout(payment, said.payout_id, said.token, said.amount, TransferId(said.ref_id))


def is_none(reference: bytes) -> bool:
    """Whether the reference of a payout names no transfer."""
    return reference.startswith(_SHORT) or reference.endswith(_SHORT)
