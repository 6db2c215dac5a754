"""Faults of nodes, in words that never hold a URL."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from app.values.wire_values import printable
from app.watcher.rpc.refusals import (
    READ_CHARACTERS,
    AccessRefused,
    HeaderMissing,
    MethodOff,
    Other,
    Pruned,
    RangeTooLarge,
    SomeLimit,
    TooManyCalls,
    TooManyRequests,
    refusal,
)

_MAX_WORDS: Final = 200
"""Characters of a node's words that are shown."""

_LOOKED_AT: Final = 4096
"""Characters of a node's words that are searched for secrets. A word that is cut there is left out."""

_URL: Final = re.compile(r"\b(?:https?|wss?)://\S+", re.IGNORECASE)
_LEAST_SECRET: Final = 6
"""Characters; shorter parts of a path, such as ``v3``, are no keys and occur in many sentences."""


class RpcFault(Exception):
    """A node did not answer as it should. The text is for operators.

    ``may_be_size`` says whether a smaller request may be answered, ``state`` what is the matter with the URL,
    and ``remedy`` what to do about it; empty where the text says so.
    """

    may_be_size = False
    state = "unreachable"
    remedy = "try again later, or use another URL"

    @property
    def words(self) -> str:
        return f"{self.state}: {self}"


class Unreachable(RpcFault):
    """No answer: refused, cut off, too slow, or an HTTP status that is a fault of the server."""

    may_be_size = True


class NoConnection(Unreachable):
    """The request could not be sent."""

    may_be_size = False
    remedy = "correct the URL, or start its node"


class Slow(Unreachable):
    pass


class RateLimited(RpcFault):
    """The node wants fewer requests.

    :param seconds: until the next request is allowed; None where it does not say.
    """

    remedy = "use another plan of its provider, or another URL"

    def __init__(self, words: str, seconds: float | None = None) -> None:
        super().__init__(words)
        self.seconds = seconds


class Garbled(RpcFault):
    """An answer that is not JSON-RPC, is too long, or lacks what was requested."""

    may_be_size = True
    state = "incomplete"
    remedy = "correct the URL: it must be the JSON-RPC interface of a node"


class TooLarge(RpcFault):
    """The request has more calls or blocks than the node allows, or its answer is longer.

    :param suggested: how many blocks it would answer, where it says so.
    """

    may_be_size = True
    state = "incomplete"
    remedy = "use another URL, or another plan of its provider"

    def __init__(self, words: str, suggested: int | None = None) -> None:
        super().__init__(words)
        self.suggested = suggested


class NotThere(RpcFault):
    """The node does not have a requested block: it lags."""

    state = "behind"
    remedy = "wait until it has them, or use another URL"


class Incomplete(NotThere):
    """The node lacks what it must have, or had: a block below its newest one, logs, or what it has pruned."""

    state = "incomplete"
    remedy = "use a URL of a node that stores these blocks"


class Conflicting(NotThere):
    """The node names another branch than the one that is read."""

    state = "conflicting"
    remedy = "use another URL, too"


class NotOffered(RpcFault):
    """A method is switched off at this URL: another one is needed."""

    state = "incomplete"
    remedy = ""


class Forbidden(RpcFault):
    """The node refuses the key or this machine: a person has to change something."""

    remedy = "correct the key in the URL, or have its provider allow this machine"


class Moved(RpcFault):
    """The chain changed between two requests: the answers do not fit together. It is read again."""

    state = "false"


class FaultyAnswer(RpcFault):
    """An answer that no honest node gives. The URL is not used until it has been checked again."""

    state = "false"
    remedy = "use a URL of another provider"


class WrongChain(FaultyAnswer):
    state = "wrong chain"
    remedy = "set the URL of a node of this chain"


class NoNode(RpcFault):
    """No URL of the chain can be used now.

    :param seconds: until one may be tried again.
    """

    def __init__(self, words: str, seconds: float) -> None:
        super().__init__(words)
        self.seconds = seconds


def without_secrets(text: str, url: str) -> str:
    """The beginning of what a node said, without URLs and without parts of the node's own URL."""
    if len(text) > _LOOKED_AT:
        text = text[:_LOOKED_AT].rsplit(None, 1)[0]
    text = _URL.sub("(a URL)", text)
    for secret in sorted(_secrets(url), key=len, reverse=True):
        text = re.sub(re.escape(secret), "(hidden)", text, flags=re.IGNORECASE)
    return printable(" ".join(text.split()))[:READ_CHARACTERS]


def _shown(text: str) -> str:
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


def fault_of(words: str, code: int | None, status: int | None = None, method: str = "") -> RpcFault:
    """The fault that a node's refusal means.

    :param words: the node's own, without secrets.
    :param status: of the HTTP answer, None where that was a success.
    :param method: which was refused, empty if unknown.
    """
    shown = _shown(words)
    if status is not None:
        shown = f"HTTP {status}: {shown}" if words else f"HTTP {status}"
    match refusal(words, code, status):
        case RangeTooLarge(blocks):
            return TooLarge(shown, blocks)
        case TooManyRequests():
            return RateLimited(shown)
        case SomeLimit():
            limited = RateLimited(shown)
            limited.may_be_size = True
            return limited
        case HeaderMissing():
            return NotThere(shown)
        case Pruned():
            return Incomplete(shown)
        case MethodOff():
            return not_offered(method or "a method", shown)
        case AccessRefused():
            return Forbidden(
                f"access refused ({shown}): check the key in the URL and the addresses that it allows, or "
                "use another URL"
            )
        case TooManyCalls() | Other():
            return Unreachable(shown)


def not_offered(method: str, shown: str) -> NotOffered:
    """The fault of a URL that does not answer a method; ``shown`` has no secrets."""
    return NotOffered(
        f"{method} is switched off at this URL ({shown}): use another URL, or another plan of its provider"
    )
