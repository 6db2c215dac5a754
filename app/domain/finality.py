"""Whether the end of a transfer is final: its block is (docs/interface.md#finality)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from app.domain.keys import BlockNumber

FINALIZED: Final = "finalized"
"""The finality of chains whose nodes know it themselves: the tag that they answer for it."""

Finality = int | Literal["finalized"]
"""How many blocks deep a block is final, or the node's own word for it."""


class FinalBy(StrEnum):
    """Why an end is final: its block is, or no block is known and a reporter's word is all there is."""

    BLOCK = "block"
    REPORTED = "reported"


@dataclass(frozen=True, slots=True)
class ChainDepth:
    """How far a chain has been read: its highest block, None where that is not known.

    ``finalized``: the newest block that is final by its watcher, -1 before there is one; None where the
    gateway does not read the chain itself.
    """

    head: BlockNumber | None = None
    finalized: BlockNumber | None = None


UNREAD: Final = ChainDepth()


def is_final(
    block: BlockNumber, depth: ChainDepth, finality: Finality | None, block_delay: int | None
) -> bool:
    """Whether no reorganisation of the chain is to be expected that reaches a block.

    Where nothing is known of the chain, it is not: who waits for an end waits for a block that tells.

    :param finality: as it is configured. The nodes' own word counts where the gateway reads it itself.
    :param block_delay: what counts where there is no finality; None where the chain is not configured.
    """
    if finality == FINALIZED and depth.finalized is not None:
        return block <= depth.finalized
    deep = block_delay if finality is None or finality == FINALIZED else finality
    return depth.head is not None and deep is not None and block <= depth.head - deep
