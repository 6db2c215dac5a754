"""Which transfers have been in their state for too long, and who has to act."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Final

from app.domain.codes import TransferHistoryStatus as Status

Pair = tuple[int, int]
"""Source chain id, destination chain id."""

TIMES_THE_MEDIAN: Final = 3
WITHOUT_MEDIAN: Final = timedelta(hours=1)
"""How long a state may last on a route that had no release in the last 7 days, or that is not known."""


class MustAct(StrEnum):
    """Who has to act before a transfer moves on: each has a list of its own."""

    BRIDGE = "bridge"
    USER = "user"


STATUSES: Final[Mapping[MustAct, tuple[Status, ...]]] = {
    MustAct.BRIDGE: (
        Status.TRANSFER_SUBMITTING,
        Status.TRANSFER_WAITING_FOR_NET_CONFIRMATION,
        Status.TRANSFER_WAITING_FOR_FUND_RELEASE,
        Status.TRANSFER_REQUESTING_REFUND,
        Status.TRANSFER_CONFIRMING_YOUR_REFUND,
        Status.TRANSFER_DELAYED,
    ),
    MustAct.USER: (Status.TRANSFER_TO_BE_REFUNDED, Status.TRANSFER_REFUND_TO_BE_CONFIRMED),
}
"""The states of each list. To ask for a refund (6) and to claim it (8) is the user's."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How long a state may last, by pair of chains."""

    by_pair: Mapping[Pair, timedelta] = field(default_factory=dict)

    @classmethod
    def of(cls, middles: Mapping[Pair, tuple[int, ...]]) -> Thresholds:
        """Three times each median; an odd microsecond of the product is cut.

        :param middles: the one or two latencies in the middle of each pair, in microseconds.
        """
        return cls({pair: _threshold(middle) for pair, middle in middles.items()})

    def allowed(self, src_chain_id: int | None, dst_chain_id: int | None) -> timedelta:
        """How long it may last there."""
        if src_chain_id is None or dst_chain_id is None:
            return WITHOUT_MEDIAN
        return self.by_pair.get((src_chain_id, dst_chain_id), WITHOUT_MEDIAN)

    @property
    def least(self) -> timedelta:
        """The shortest of them: no transfer is stuck before."""
        return min([WITHOUT_MEDIAN, *self.by_pair.values()])

    @property
    def longest(self) -> timedelta:
        """The longest of them: after that every transfer is stuck."""
        return max([WITHOUT_MEDIAN, *self.by_pair.values()])


def _threshold(middle: tuple[int, ...]) -> timedelta:
    return timedelta(microseconds=TIMES_THE_MEDIAN * sum(middle) // len(middle))
