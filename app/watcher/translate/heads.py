"""Events that come of headers alone: how far a chain has been read, and that blocks were replaced."""

from __future__ import annotations

from app.domain.keys import BlockNumber, ChainId
from app.domain.transfer.event_types import EventType
from app.domain.transfer.events import ChainHead, ChainReorged
from app.domain.watching.blocks import Header


def head_event(chain_id: ChainId, header: Header) -> ChainHead:
    """The chain has been read up to this block."""
    return ChainHead(
        id=f"{chain_id}:{header.hash}",
        at=header.at,
        chain_id=chain_id,
        block=header.number,
        block_hash=header.hash,
    )


def reorged_event(chain_id: ChainId, from_block: BlockNumber, replaced: str, header: Header) -> ChainReorged:
    """Blocks from ``from_block`` on were replaced by others.

    The id is made of two blocks, so the same reorganisation that is seen twice is one fact, and the one that
    goes back to the blocks of before is another.

    :param replaced: the hash of a block that was read and stands no longer.
    :param header: of the block that stands in its place, or of another one of the new branch.
    """
    return ChainReorged(
        id=f"{chain_id}:{replaced}:{header.hash}:{EventType.CHAIN_REORGED.value}",
        at=header.at,
        chain_id=chain_id,
        from_block=from_block,
    )
