"""How many events of a type one reporter may send about a transfer or a chain.

What the log already has is never refused by a bound, however often it is sent again.
"""

from __future__ import annotations

from typing import Final

from app.transfers.rules.events.event_types import (
    EVENT_CLASSES,
    Event,
    RefundPrepared,
    RefundSigned,
    TransferEvent,
    ValidatorsUpdated,
)
from app.values.identifiers import ChainId

# A transfer has a send, a payout, some statuses. A reporter that sends hundreds of them is broken or hostile.
# They cost time: each event reads the transfer's whole log, and each signature is checked against every
# request. Each reporter has its own bounds, so none can use up another's.
MAX_REQUESTS: Final = 64
"""Refund requests of one transfer that one reporter may send. There is rarely a second."""

MAX_OF_A_TYPE: Final = 256
"""Other events of one type of a transfer."""

MAX_ROTATIONS: Final = 4096
"""Validator sets of one chain: eleven years of one a day. All are read at a reorganisation and where one is
reported out of the chain's order."""

MAX_OF_A_LIMITED: Final = 512
"""All events of one transfer that a reporter limited to some chains may send."""


EventCounts = dict[tuple[bytes | ChainId, str], int]
"""How many events of a reporter were accepted, by transfer (of validator sets: by chain) and event type.

Counts far below their bounds may be missing.
"""


def too_many(event: Event, accepted: EventCounts, *, is_limited: bool = False) -> str | None:
    """Why this reporter may send no more events of this type about the transfer; None where it may.

    :param is_limited: the reporter is limited to some chains, so its signatures may wait for ever.
    """
    if (
        isinstance(event, ValidatorsUpdated)
        and accepted.get((event.chain_id, event.type), 0) >= MAX_ROTATIONS
    ):
        return (
            f"type: this reporter may send at most {MAX_ROTATIONS} events {event.type} about a chain: "
            "have an operator ingest further ones"
        )
    if not isinstance(event, TransferEvent):
        return None
    if (
        is_limited
        and sum(accepted.get((event.transfer_id, each), 0) for each in EVENT_CLASSES) >= MAX_OF_A_LIMITED
    ):
        return (
            f"transfer_id: a token that is limited to chains may send at most {MAX_OF_A_LIMITED} events "
            "about a transfer: send further ones with a token for all chains"
        )
    if isinstance(event, RefundSigned) and not is_limited:
        return None  # app.transfers.rules.refund_signatures has their bounds
    most = MAX_REQUESTS if isinstance(event, RefundPrepared) else MAX_OF_A_TYPE
    if accepted.get((event.transfer_id, event.type), 0) < most:
        return None
    return f"type: this reporter may send at most {most} events {event.type} about a transfer"
