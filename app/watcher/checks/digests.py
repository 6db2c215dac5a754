"""One value for what a range of blocks held, by which two readings are compared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from app.domain.watching.blocks import Log


def digest(logs: Iterable[Log]) -> bytes:
    """SHA-256 over the logs in their order: block, its hash, transaction, index, contract, topics, data.

    What has no fixed length has its length before it, so no two different lists are written alike.
    """
    return hashlib.sha256(b"".join(map(_written, logs))).digest()


def _written(log: Log) -> bytes:
    head = f"{log.block}:{log.block_hash}:{log.tx_hash}:{log.index}:{len(log.topics)}:{len(log.data)}:"
    topics = b"".join(log.topics) if all(len(topic) == 32 for topic in log.topics) else _framed(log.topics)
    return b"".join((head.encode("utf-8"), log.address, topics, log.data))


def _framed(topics: tuple[bytes, ...]) -> bytes:
    return b"".join(b"%d:%b" % (len(topic), topic) for topic in topics)
