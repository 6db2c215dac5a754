"""What a payout is: a transfer's release, a refund, or what a liquidity provider takes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from app.domain.codes import SendKind
from app.domain.keys import ChainId, TransferId
from app.domain.watching.network import KnownSend
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


def own_reference(said: object, chain_id: ChainId) -> TransferId | None:
    """The send of this chain that a payout names; None where it names none, or another chain's.

    Who signs a withdrawal chooses its reference freely: governors withdraw with one that no send has.
    """
    match said:
        case WithdrawDone():
            reference = said.refid
        case Withdrawn() | Mint() if said.ref_chain_id == chain_id:
            reference = said.ref_id
        case _:
            return None
    return None if is_none(reference) else TransferId(reference)


def payout_of(
    said: Relay | WithdrawDone | Withdrawn | Mint, chain_id: ChainId, send: KnownSend | None = None
) -> Payout | None:
    """What such a log of this chain pays; None where that is no concern of transfers or pools.

    A pool's withdraw is a refund where it has a reference: the transfer. A vault and a pegged bridge name
    the chain of the reference as well: another chain's is paid out here, their own chain's is a refund of
    what they took, unless the send says that it is paid out where it was sent. They have none where
    validators take their fees.

    :param send: of this chain, which the payout names.
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
            if payment is Payment.REFUND and send is not None and _pays_out(said, send, chain_id):
                payment = Payment.RELEASE
            return Payout(payment, said.payout_id, said.token, said.amount, TransferId(said.ref_id))


def _pays_out(said: Withdrawn | Mint, send: KnownSend, chain_id: ChainId) -> bool:
    """Whether the payout of a send of its own chain is its release.

    A vault gives deposits back and a bridge burns (docs/interface.md#transfer-ids). A mint for a burn that
    goes to its own chain looks as its refund would, and is what the user burned for.
    """
    if isinstance(said, Withdrawn):
        return send.kind is SendKind.BURN
    return send.kind is SendKind.DEPOSIT or send.dst_chain_id == chain_id


def is_none(reference: bytes) -> bool:
    """Whether the reference of a payout names no transfer."""
    return reference.startswith(_SHORT) or reference.endswith(_SHORT)
