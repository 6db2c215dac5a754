"""How much one reporter may tell about one transfer, so that folding and answering it stay cheap.

A transfer has a send, a payout, some statuses. Whoever tells hundreds of them is broken or means harm: the
whole log of a transfer is read with each event about it, and each signature is held against every request.
The bounds are each reporter's own, so that nobody uses up another's.
"""

from __future__ import annotations

from typing import Final

from app.domain.transfer.events import Event, RefundPrepared, RefundSigned, TransferEvent

MAX_REQUESTS: Final = 64
"""Refund requests of one transfer that are taken from one reporter: there is rarely a second."""

MAX_OF_A_TYPE: Final = 256
"""Its other events of one type, acceptances after a reorganisation included."""


def most_of(event: TransferEvent) -> int | None:
    """How many acceptances of the event's type one reporter may have of one transfer; None: any number.

    Signatures have bounds of their own (``domain.refund.limits``).
    """
    if isinstance(event, RefundSigned):
        return None
    return MAX_REQUESTS if isinstance(event, RefundPrepared) else MAX_OF_A_TYPE


Told = dict[tuple[bytes, str], int]
"""By transfer and type, how many acceptances a reporter has. What is far from any bound may be missing."""


def too_many(event: Event, told: Told) -> str | None:
    """Why no more of this type is taken about the transfer from this reporter; None where it is."""
    if not isinstance(event, TransferEvent):
        return None
    most = most_of(event)
    if most is None or told.get((event.transfer_id, event.type), 0) < most:
        return None
    return f"type: this reporter may send at most {most} events {event.type} about a transfer"
