"""A node's error about one call, as a fault."""

from __future__ import annotations

from app.watcher.rpc.faults import NotThere, RateLimited, RpcFault, TooLarge, Unreachable
from app.watcher.rpc_errors import HeaderMissing, Other, Pruned, RangeTooLarge, refusal
from app.watcher.rpc_errors import RateLimited as AskedTooOften


def fault_of(words: str, code: int | None) -> RpcFault:
    """What a node's refusal means for the one who asked.

    :param words: the node's own, without secrets.
    """
    match refusal(words, code):
        case RangeTooLarge(blocks):
            return TooLarge(words, blocks)
        case AskedTooOften():
            return RateLimited(words)
        case HeaderMissing() | Pruned():
            return NotThere(words)
        case Other():
            return Unreachable(words)
