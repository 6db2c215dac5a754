"""Which reorganisation is accepted, what it removes, and what of that the log has to retain.

The rule is in docs/interface/events.md#reorgs, also for one that is repeated too late and so is *belated*.
Why it is so is in docs/decisions/0004-what-is-canonical.md#belated. Only this module applies it to
acceptances.

An event that was accepted once is orphaned by the first acceptance of a reorganisation or not at all. So a
belated one only matters to events that were accepted again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Final, TypeVar

from msgspec import Struct

from app.transfers.rules.events.counting import Logged, is_retracted
from app.transfers.rules.events.event_types import BlockEvent, ChainEvent, ChainReorged, Event
from app.transfers.rules.events.fields import MAX_BLOCK
from app.transfers.rules.events.keys import EventKey
from app.values.identifiers import BlockNumber, ChainId

E = TypeVar("E", bound=BlockEvent | ChainEvent)


class ChainLimits(Struct, frozen=True):
    """The bounds of a reorg of a chain. None: not known."""

    highest_block: int | None = None
    """How far the chain has been read."""
    pruned_up_to: int | None = None
    """The highest block that had a pruned event."""


def reaches_too_far(reorg: ChainReorged, limits: ChainLimits, max_reorg_blocks: int) -> str | None:
    """Why a new reorg is refused; None where it is accepted."""
    highest, final = limits.highest_block, limits.pruned_up_to
    if highest is not None and highest - reorg.from_block > max_reorg_blocks:
        return (
            f"from_block: is {highest - reorg.from_block} blocks below the chain's highest block {highest}; "
            f"at most {max_reorg_blocks} are accepted (MAX_REORG_BLOCKS)"
        )
    if final is not None and reorg.from_block <= final:
        return (
            f"from_block: must be above block {final} of the chain, which is final: transfers in it were "
            "pruned"
        )
    return None


def repeated_too_late(
    repeated: Iterable[ChainReorged], limits: Mapping[int, ChainLimits], max_reorg_blocks: int
) -> list[ChainReorged]:
    """The reorgs among these in the log that are belated when they are repeated now. ``limits`` are of their
    chains.
    """
    return [each for each in repeated if reaches_too_far(each, limits[each.chain_id], max_reorg_blocks)]


BELATED_REACH: Final = 10_000
"""Blocks above its first one that a belated reorg reaches. What logs mean depends on it: never change it."""


class Reorg(Struct, frozen=True):
    """A canonical ``chain.reorged`` and its position in the log.

    ``before``, of a belated one (docs/interface/events.md#reorgs): the position of its first acceptance, 0
    where the log does not have it. It removes only what was known before that; None: all that was accepted.
    """

    seq: int
    chain_id: ChainId
    from_block: BlockNumber
    before: int | None = None

    @property
    def to_block(self) -> BlockNumber:
        """The last block that it reaches."""
        most = MAX_BLOCK if self.before is None else min(self.from_block + BELATED_REACH, MAX_BLOCK)
        return BlockNumber(most)

    def reaches(self, chain_id: ChainId | None, block: BlockNumber | None, accepted: Logged[Event]) -> bool:
        """Whether it orphans this acceptance of an event of that chain and block."""
        return (
            block is not None
            and chain_id == self.chain_id
            and self.from_block <= block <= self.to_block
            and self.takes(accepted)
        )

    def takes(self, accepted: Logged[Event]) -> bool:
        """Whether it is after this acceptance, and removes it if it reaches its block."""
        return accepted.seq < self.seq and (self.before is None or accepted.known_since < self.before)


def canonical_on_chain(
    chain_id: ChainId,
    accepted: Iterable[Logged[E]],
    reorgs: Sequence[Reorg],
    retracted: Mapping[EventKey, int],
) -> list[Logged[E]]:
    """The canonical ones of the latest acceptances of events on one chain.

    :param reorgs: those of the chain that may reach them, in the order of the log.
    """
    whole = [reorg for reorg in reorgs if reorg.before is None]
    belated = [reorg for reorg in reorgs if reorg.before is not None]
    seqs = [reorg.seq for reorg in whole]
    # For each reorg, the lowest block that it or a later one reaches.
    lowest = [*accumulate((reorg.from_block for reorg in reversed(whole)), min)][::-1]

    def is_orphaned(logged: Logged[E]) -> bool:
        block = logged.event.block
        if block is None:
            return False
        later = bisect_right(seqs, logged.seq)
        is_reached = later < len(seqs) and lowest[later] <= block
        return is_reached or any(reorg.reaches(chain_id, block, logged) for reorg in belated)

    return [
        logged
        for logged in accepted
        if not is_retracted(logged.seq, logged.event.key, retracted) and not is_orphaned(logged)
    ]


def still_needed(sent: Iterable[tuple[int, Hashable]], new: Mapping[int, bool]) -> set[int]:
    """The positions of those acceptances on which an answer may depend, after some of them were added.

    Of what one reporter sent of an event these are the first, by which a belated reorg goes, the newest, and
    the newest that was orphaned: a send takes confirmations with it.

    :param sent: the position of each acceptance, in the order of the log, with what was sent and by whom. A
        belated reorg is not the same as the one that it repeats: of those the newest reaches all that earlier
        ones reached.
    :param new: the positions of the new ones, and whether each only adds to an event that was canonical.
    """
    needed: dict[Hashable, list[int]] = {}
    for seq, what in sent:
        of_sender = needed.setdefault(what, [])
        of_sender.append(seq)
        if seq in new:
            before = of_sender[-3 if new[seq] else -2 :][0]
            of_sender[:] = sorted({of_sender[0], before, seq})
    return {seq for positions in needed.values() for seq in positions}
