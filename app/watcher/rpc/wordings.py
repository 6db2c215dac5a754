"""A node's error about one call, as a fault."""

from __future__ import annotations

from app.watcher.rpc.client import Refused
from app.watcher.rpc.faults import NotThere, RateLimited, RpcFault, TooLarge, Unreachable
from app.watcher.rpc_errors import HeaderMissing, Other, Pruned, RangeTooLarge, refusal
from app.watcher.rpc_errors import RateLimited as AskedTooOften


def fault_of(refused: Refused) -> RpcFault:
    """What a node's refusal means for the one who asked."""
    match refusal(refused.words, refused.code):
        case RangeTooLarge(blocks):
            return TooLarge(refused.words, blocks)
        case AskedTooOften():
            return RateLimited(refused.words)
        case HeaderMissing() | Pruned():
            return NotThere(refused.words)
        case Other():
            return Unreachable(refused.words)
