"""How a transfer's page looks: its tone, and in a few words whose turn it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from app.domain.codes import TransferHistoryStatus as Status
from app.domain.transfer.progress import NextActor
from app.services.journeys.shapes import FollowedTransfer


@dataclass(frozen=True, slots=True)
class Look:
    """``tone`` is one of the style sheet's; ``turn`` stands above the headline."""

    tone: str
    turn: str


_OVER: Final[dict[Status, Look]] = {
    Status.TRANSFER_COMPLETED: Look("good", "Done"),
    Status.TRANSFER_REFUNDED: Look("good", "Done"),
    Status.TRANSFER_FAILED: Look("bad", "Failed"),
}
_OF_USER: Final = Look("warn", "Your turn")
_LOST: Final = Look("plain", "Please check your wallet")
_ON_THE_WAY: Final = Look("busy", "On its way")
_REFUND: Final = Look("busy", "Refund on its way")
_HELD: Final = Look("busy", "Held back for some time")


def look_of(followed: FollowedTransfer) -> Look:
    """The look of a transfer at its status."""
    if followed.status in _OVER:
        return _OVER[followed.status]
    if followed.progress.next_actor is NextActor.USER:
        return _OF_USER
    if followed.status is Status.TRANSFER_UNKNOWN:
        return _LOST
    if followed.status is Status.TRANSFER_DELAYED or followed.held is not None:
        return _HELD
    if followed.status in (Status.TRANSFER_REQUESTING_REFUND, Status.TRANSFER_CONFIRMING_YOUR_REFUND):
        return _REFUND
    return _ON_THE_WAY
