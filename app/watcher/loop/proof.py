"""Blocks against their own headers: the filter says where there can be no log, the receipts' root what there is."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.watching.blocks import Header, Log
from app.watcher.checks.receipts import proves
from app.watcher.rpc.node import Node, Wanted
from app.watcher.rpc.parse import read_receipt


def holds(node: Node, header: Header, logs: Sequence[Log], wanted: Wanted) -> bool:
    """Whether a block's receipts match its header and have just these logs of those that are wanted.

    :raises NotThere: the node does not tell receipts, or not this block's.
    """
    receipts = [read_receipt(raw) for raw in node.receipts(header.number)]
    return proves(header, receipts, logs, wanted.addresses, wanted.topics)
