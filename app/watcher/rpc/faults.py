"""What can go wrong with a node, and what its refusals mean, in words that never hold its URL."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from app.values.wire_values import printable
from app.watcher.rpc.node_refusals import HeaderMissing, Other, Pruned, RangeTooLarge, refusal
from app.watcher.rpc.node_refusals import RateLimited as AskedTooOften

_MAX_WORDS: Final = 200
_LOOKED_AT: Final = 4096
"""Characters of a node's words that are searched for secrets. A word that is cut there is left out."""

_URL: Final = re.compile(r"\b(?:https?|wss?)://\S+", re.IGNORECASE)
_LEAST_SECRET: Final = 6
"""Characters; shorter parts of a path, such as ``v3``, are no keys and occur in many sentences."""


class RpcFault(Exception):
    """A node did not answer as it should. The text is for operators."""


class Unreachable(RpcFault):
    """No answer: refused, cut off, too slow, or an HTTP status that is a fault of the server."""


class Slow(Unreachable):
    """No answer in time. ``requested`` is the number of blocks in the request, 1 where it was no range."""

    requested = 1


class RateLimited(RpcFault):
    """The node wants fewer requests.

    :param seconds: until the next request is allowed; None where it does not say.
    """

    def __init__(self, words: str, seconds: float | None = None) -> None:
        super().__init__(words)
        self.seconds = seconds


class Garbled(RpcFault):
    """An answer that is not JSON-RPC, is too long, or lacks what was requested."""


class NoBatches(RpcFault):
    """The node does not take this many calls in one request."""


class TooLarge(RpcFault):
    """The range of blocks has more logs than the node returns at once, or is longer than it allows.

    ``requested`` is the number of blocks that were too many.

    :param suggested: how many blocks it would answer, where it says so.
    """

    def __init__(self, words: str, suggested: int | None = None) -> None:
        super().__init__(words)
        self.suggested = suggested
        self.requested = 1


class NotThere(RpcFault):
    """The node does not have a requested block: it lags, or it has pruned it."""


class Moved(RpcFault):
    """The chain changed between two requests: the answers do not fit together. It is read again."""


class Lie(RpcFault):
    """An answer that no honest node gives. The URL is not used until it has been checked again."""


class NoNode(RpcFault):
    """No URL of the chain can be used now.

    :param seconds: until one may be tried again.
    """

    def __init__(self, words: str, seconds: float) -> None:
        super().__init__(words)
        self.seconds = seconds


def without_secrets(text: str, url: str) -> str:
    """What a node said, as it may be shown: without URLs and without parts of the node's own URL.

    :param url: of the node.
    """
    if len(text) > _LOOKED_AT:
        text = text[:_LOOKED_AT].rsplit(None, 1)[0]
    text = _URL.sub("(a URL)", text)
    for secret in sorted(_secrets(url), key=len, reverse=True):
        text = re.sub(re.escape(secret), "(hidden)", text, flags=re.IGNORECASE)
    text = printable(" ".join(text.split()))
    return text if len(text) <= _MAX_WORDS else f"{text[:_MAX_WORDS]}…"


def _secrets(url: str) -> set[str]:
    parts = urlsplit(url)
    found = {
        parts.netloc,
        parts.hostname or "",
        parts.username or "",
        parts.password or "",
        parts.path,
        parts.query,
    }
    found.update(parts.path.split("/"))
    found.update(value for _, value in parse_qsl(parts.query))
    found.update({unquote(part) for part in found})
    return {part for part in found if len(part) >= _LEAST_SECRET}


def fault_of(words: str, code: int | None) -> RpcFault:
    """The fault that a node's refusal means.

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
