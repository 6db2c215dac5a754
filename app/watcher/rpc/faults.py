"""What can go wrong with a node, and what its refusals mean, in words that never hold its URL.

JSON-RPC has codes, but nodes use them differently: -32005 is a rate limit in one, a range that is too large
in another. So the words decide, and the code only where the words say nothing. Every pattern comes from
answers of nodes in the field; ``tests/watcher/test_rpc_errors.py`` has these answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from msgspec import Struct

from app.values.wire_values import printable

_READ_CHARACTERS: Final = 1000
"""Of a message. Nodes write it, so it may be of any length."""


class RangeTooLarge(Struct, frozen=True):
    """Too many blocks or logs at once: request fewer blocks.

    :param blocks: how many the node says it takes; None where it says nothing.
    """

    blocks: int | None = None


class TooManyRequests(Struct, frozen=True):
    """Too many requests: wait, at least as long as ``Retry-After`` says, then send the same one."""


class HeaderMissing(Struct, frozen=True):
    """The node does not have the block, or not yet: it lags, or what was read is orphaned."""


class Pruned(Struct, frozen=True):
    """The node does not store blocks that are so old: another node is needed."""


class Other(Struct, frozen=True):
    """Anything else: a fault of the node, or of the network."""


Refusal = RangeTooLarge | TooManyRequests | HeaderMissing | Pruned | Other

_NUMBER: Final = r"(\d[\d,._]*)\s*(k\b)?"


def _patterns(*texts: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{text})" for text in texts), re.IGNORECASE)


_SUGGESTED_BLOCKS: Final = (
    re.compile(r"\[\s*0x([0-9a-f]{1,16})\s*,\s*0x([0-9a-f]{1,16})\s*\]", re.IGNORECASE),
    re.compile(r"retry with the range (\d{1,18})\s*-\s*(\d{1,18})", re.IGNORECASE),
)
"""The first and the last block that the node would take instead; the first pattern has them in hex."""

_MOST_BLOCKS: Final = tuple(
    re.compile(text.replace("#", _NUMBER), re.IGNORECASE)
    for text in (
        r"maximum is set to #",
        r"max(?:imum)? (?:block )?range(?: is| of|:|=| =)? ?#",
        r"maximum allowed number of requested blocks is #",
        r"limited to (?:a |an )?(?:0 - )?# ?(?:blocks? )?range",
        r"limited to # blocks?",
        r"(?:up to|within) (?:a |an )?# ?(?:blocks? range|range|blocks?)",
        r"range is too (?:large|wide),? (?:\(maximum|max is|maximum is|the limit is) #",
        r"too wide blocks? range,? the limit is #",
        r"block range greater than # max",
        r"block range exceeds #",
        r"range \d+ exceeds limit of #",
        r"exceeds? the range allowed for your plan \(\d+ > (\d+)()\)",
        r"blocks? distance:? #",
        r"limit the query to at most # blocks",
        r"smaller than size #",
        r"ranges over # blocks",
        r"max allowed of rounds in logs query is:? #",
        r"invalid (?:block|epoch) range[^.]*maximum:? #",
        r"range over # blocks",
        r"max blocks? #",
        r"exceeds? (?:the )?(?:block range )?limit (?:of )?# blocks",
        r"no more than # blocks",
    )
)

_TOO_LARGE: Final = _patterns(
    r"returned more than \d+ (?:results|logs)",
    r"more than \d+ (?:results|logs)",
    r"exceeds? (?:the )?max(?:imum)? (?:results|logs|block range|blocks? range|range)",
    r"logs matched by query exceeds limit",
    r"too many (?:results|logs|blocks|events)",
    r"response size (?:exceeded|should not (?:be )?greater|is larger|too large|limit)",
    r"response (?:is )?too (?:large|big)",
    r"(?:block|blocks|epoch|query|log|logs|requested)? ?range (?:is |was )?too (?:large|wide|big|long)",
    r"too (?:large|wide|big) (?:a )?(?:blocks? )?range",
    r"range (?:limit )?(?:exceeds?|exceeded|greater|is larger|is bigger|larger|bigger)",
    r"exceeds? (?:the )?(?:server|maximum rpc|block range|range) (?:range )?limit",
    r"reduc(?:e|ing) (?:your |the )?(?:block )?range",
    r"(?:smaller|narrower) (?:block )?range",
    r"query (?:timed? ?out|timeout)|timeout exceeded|execution timeout|timed out.*range",
    r"request (?:entity|body) too large",
)

_RATE_LIMITED: Final = _patterns(
    r"rate.?limit",
    r"too many (?:requests|connections)",
    r"(?:request|call)s? (?:per|/) ?(?:second|minute|day)",
    r"(?:request|call|cu|compute units?|credits?|capacity|throughput)[a-z ]{0,20} (?:limit|exceeded|reached)",
    r"exceeded (?:its|your|the) [a-z ]{0,40}(?:capacity|quota|credits|requests|compute units)",
    r"(?:quota|capacity|throughput) (?:exceeded|reached)",
    r"daily (?:request|limit)|limit exceeded",
    r"try again (?:later|in)|slow down|over capacity",
)

_PRUNED: Final = _patterns(
    r"pruned",
    r"missing trie node",
    r"(?:state|history|data|logs?|receipts?) (?:is|are|not|was)? ?(?:no longer )?(?:un|not )available",
    r"archive (?:node|request|data|access|method|quer)",
    r"requires? (?:an )?archive",
    r"before (?:the )?(?:first|oldest|earliest) (?:available )?block",
    r"distance to target block exceeds maximum",
    r"no historical|historical state",
)

_HEADER_MISSING: Final = _patterns(
    r"(?:header|block) (?:hash |number )?(?:\S+ )?(?:was |is )?(?:not found|not exist|unknown|missing)",
    r"block (?:\S+ )?(?:is )?not (?:yet )?available",
    r"header for hash not found|could not find block|cannot find block|can't find block",
    r"unknown block|no such block|invalid block (?:number|height)|block (?:does not|doesn.t) exist",
    r"(?:beyond|past|above|after|greater than|higher than|exceeds?|ahead of) (?:the )?"
    r"(?:current |latest |chain |local )?(?:head|latest|tip|last block|current block)",
    r"(?:from|to|end|begin)[ _]?block (?:is )?(?:in the future|(?:is )?(?:greater|higher|after))",
    r"block range extends beyond|invalid block range(?: params)?$|requested block in the future",
    r"resource not found|after last accepted block|not yet (?:available|indexed|synced)",
    r"failed to get logs for block|blocks? specified in filter .{0,60}cannot be found",
)

_TOO_LARGE_STATUSES: Final = frozenset({413})
_RATE_STATUSES: Final = frozenset({402, 429})
_RATE_CODES: Final = frozenset({429, -32005, -32007, -32008, -32029, -32097})
_PRUNED_CODES: Final = frozenset({4444, -32701})
_MISSING_CODES: Final = frozenset({-32001})


def refusal(message: str, code: int | None = None, status: int | None = None) -> Refusal:
    """What a refusal means.

    :param message: the words of the JSON-RPC error, or of the body of an HTTP error.
    :param code: of the JSON-RPC error, None without one.
    :param status: of the HTTP answer, None where that was a success.
    """
    words = message[:_READ_CHARACTERS]
    if status in _RATE_STATUSES:
        return TooManyRequests()
    blocks = _most_blocks(words)
    if blocks is not None or status in _TOO_LARGE_STATUSES or _TOO_LARGE.search(words):
        return RangeTooLarge(blocks)
    if code in _PRUNED_CODES or _PRUNED.search(words):
        return Pruned()
    if _HEADER_MISSING.search(words):
        return HeaderMissing()
    if code in _RATE_CODES or _RATE_LIMITED.search(words):
        return TooManyRequests()
    if code in _MISSING_CODES:
        return HeaderMissing()
    return Other()


def _most_blocks(words: str) -> int | None:
    """How many blocks the node says it takes at once."""
    in_hex, in_digits = _SUGGESTED_BLOCKS
    if (found := in_hex.search(words)) is not None:
        return _blocks(int(found[2], 16) - int(found[1], 16) + 1)
    if (found := in_digits.search(words)) is not None:
        return _blocks(int(found[2]) - int(found[1]) + 1)
    named = (each.search(words) for each in _MOST_BLOCKS)
    return _blocks(min(_counts(each for each in named if each is not None), default=0))


def _counts(found: Iterable[re.Match[str]]) -> Iterable[int]:
    for each in found:
        digits = re.sub(r"\D", "", each[1])[:18]
        yield int(digits) * (1000 if each[2] else 1)


def _blocks(count: int) -> int | None:
    return count if count > 0 else None


_MAX_WORDS: Final = 200
_LOOKED_AT: Final = 4096
"""Characters of a node's words that are searched for secrets. A word that is cut there is left out."""

_URL: Final = re.compile(r"\b(?:https?|wss?)://\S+", re.IGNORECASE)
_LEAST_SECRET: Final = 6
"""Characters; shorter parts of a path, such as ``v3``, are no keys and occur in many sentences."""


class RpcFault(Exception):
    """A node did not answer as it should. The text is for operators.

    ``may_be_size`` says whether a smaller request may be answered.
    """

    may_be_size = False


class Unreachable(RpcFault):
    """No answer: refused, cut off, too slow, or an HTTP status that is a fault of the server."""

    may_be_size = True


class NoConnection(Unreachable):
    """The request could not be sent."""

    may_be_size = False


class Slow(Unreachable):
    """No answer in time."""


class RateLimited(RpcFault):
    """The node wants fewer requests.

    :param seconds: until the next request is allowed; None where it does not say.
    """

    def __init__(self, words: str, seconds: float | None = None) -> None:
        super().__init__(words)
        self.seconds = seconds


class Garbled(RpcFault):
    """An answer that is not JSON-RPC, is too long, or lacks what was requested."""

    may_be_size = True


class TooLarge(RpcFault):
    """The request has more calls or blocks than the node allows, or its answer is longer.

    :param suggested: how many blocks it would answer, where it says so.
    """

    may_be_size = True

    def __init__(self, words: str, suggested: int | None = None) -> None:
        super().__init__(words)
        self.suggested = suggested


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
        case TooManyRequests():
            return RateLimited(words)
        case HeaderMissing() | Pruned():
            return NotThere(words)
        case Other():
            return Unreachable(words)
