"""What the refusals of nodes mean, by their words.

JSON-RPC has codes, but nodes use them differently: -32005 is a rate limit for one, a range that is too large
for another, and a batch for a third. So the words decide, and the code or the HTTP status only where the
words say nothing. ``ROWS`` are read in order, and the first that matches counts. They come from answers of
nodes in the field, which are in ``tests/watcher/rpc/messages.tsv``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import Struct

READ_CHARACTERS: Final = 1000
"""Of a message. Nodes write it, so it may be of any length."""


class RangeTooLarge(Struct, frozen=True):
    """Too many blocks, logs or bytes at once, or too slow: request fewer blocks.

    :param blocks: how many the node says it takes; None where it says nothing.
    """

    blocks: int | None = None


class TooManyCalls(Struct, frozen=True):
    """Too many calls in one request, or several at all: send fewer at once."""


class TooManyRequests(Struct, frozen=True):
    """Too many requests: wait, at least as long as ``Retry-After`` says, then send the same one."""


class SomeLimit(Struct, frozen=True):
    """A limit that the node does not name: of the rate or of the size, or the method is switched off."""


class HeaderMissing(Struct, frozen=True):
    """The node does not have the block, or not yet: it lags, or what was read is orphaned."""


class Pruned(Struct, frozen=True):
    """The node does not store blocks that are so old: another node is needed."""


class MethodOff(Struct, frozen=True):
    """The method is switched off, or belongs to another plan of the provider: another URL is needed."""


class AccessRefused(Struct, frozen=True):
    """The key is wrong, or not for this chain or this caller: a person has to change it."""


class Other(Struct, frozen=True):
    """A fault of the node, or of the network."""


Refusal = (
    RangeTooLarge
    | TooManyCalls
    | TooManyRequests
    | SomeLimit
    | HeaderMissing
    | Pruned
    | MethodOff
    | AccessRefused
    | Other
)

_SIZE, _CALLS, _RATE, _LIMIT = RangeTooLarge(), TooManyCalls(), TooManyRequests(), SomeLimit()
_MISSING, _OLD, _OFF, _KEY, _OTHER = HeaderMissing(), Pruned(), MethodOff(), AccessRefused(), Other()


class Row(NamedTuple):
    """Words and their meaning.

    :param words: a pattern. In it ``#`` is the number of blocks that the node takes, ``<>`` the first and the
        last block that it takes, and ``~`` up to sixty characters of the same sentence.
    :param source: who writes so; others copy it.
    """

    words: str
    meaning: Refusal
    source: str


ROWS: Final = (
    # Calls in a batch.
    Row(r"batch(ed|es|ing)?( json-?rpc)?( requests?| calls?)?( (are|is))? (not|un|dis)", _CALLS, "jsonrpsee"),
    Row(r"batch of more than|(calls|requests) in (a |one )?batch|no batch", _CALLS, "dRPC, proxyd"),
    Row(r"batch( request| size| length| limit)*( was| is| of)? (too|exceed|limited|\d)", _CALLS, "geth"),
    Row(r"max(imum)? batch|exceed~ batch", _CALLS, "gateways"),
    # Blocks in a range, by number. Other numbers in these messages count logs, or were requested.
    Row(r"\[\s*<>\s*\]|with the range <>", _SIZE, "Alchemy, Infura, zkSync Era, Reth"),
    Row(r"too far in the past", _OLD, "Lotus"),
    Row(r"too far in the future", _MISSING, "Lotus"),
    Row(r"max(imum)?[ _-]?(allowed[ _-]?)?(block[ _-]?)?range\W{0,4}((is|of) )?#", _SIZE, "BSC, Reth, eRPC"),
    Row(r"range~[ (](\. )?(max|maximum|limit)( is|:| of| =)* ?#", _SIZE, "Moonbeam, Merkle, Infura"),
    Row(r"range~ (greater than|(less|lower) than|exceeds?) #", _SIZE, "Swell, Somnia"),
    Row(r"maximum is set to #|(blocks|allowed) is #", _SIZE, "Avalanche, thirdweb, Nodies"),
    Row(r"only # are allowed", _SIZE, "Avalanche, thirdweb, Nodies"),
    Row(r"limited to (an? )?(0 ?- ?)?# ?((blocks? )?range|blocks?)", _SIZE, "QuickNode, 1RPC, BlockPI"),
    Row(r"(up to|within|maximum of) (an? )?# ?blocks?|max(imum)? blocks:? #", _SIZE, "Alchemy, Sei"),
    Row(r"(at most|more than|over|not exceed|limit of|maximum) # blocks", _SIZE, "Coinbase, dRPC"),
    Row(r"(plan \(\d{1,18} >|blocks? distance:?|rounds in logs query is:?) #", _SIZE, "Cronos, Oasis"),
    Row(r"range exceeds server limit, narrow your filter: #|smaller than size #", _SIZE, "Erigon, Harmony"),
    # Blocks, logs or bytes, without a number of blocks.
    Row(r"(range|span)~ (too|exceed|limit|threshold|greater|larger|bigger)", _SIZE, "Ankr, Lotus"),
    Row(r"epoch range$", _SIZE, "Ankr, Lotus"),
    Row(r"(exceed|too (large|wide|big)|smaller|narrow|reduc)~ range", _SIZE, "Besu, Alchemy"),
    Row(r"more than \d+ (results|logs)|max(imum)? (results|logs)", _SIZE, "Infura"),
    Row(r"too many (results|logs|blocks|events)", _SIZE, "Infura"),
    Row(r"exceed~ \d+ (results|logs|events)|result set~ (too|exceed)", _SIZE, "gateways"),
    Row(r"logs matched by query|timestamps~ exceed|would take too long", _SIZE, "Nitro, Hedera, Parity"),
    Row(r"response~ (too|size|exceed|limit)|(entity|body) too large", _SIZE, "geth, proxyd, 1RPC, jsonrpsee"),
    Row(r"(exceed|less|maximum|contains)~ (address|topics|filters)", _SIZE, "geth, Infura, PublicNode"),
    # Requests in a time, or of an account.
    Row(r"rate.{0,2}limit|too many (request|connection|concurrent)|throttl", _RATE, "many"),
    Row(r"(requests?|calls?|credits)( limited to \d+)? ?(per |/) ?[smhd]", _RATE, "QuickNode"),
    Row(r"(requests|calls|[rq]ps|\bcup?s?|units?|credits?)( \w+)? (limit|exceed|reach)", _RATE, "many"),
    Row(r"(usage|capacity|throughput|plan)( \w+)? (limit|exceed|reach)", _RATE, "many"),
    Row(r"(request|call|unit)s? (count|limit)", _RATE, "Infura, QuickNode"),
    Row(r"exceeded ((its|your|the) )?~(capacity|credits|requests|units)", _RATE, "Alchemy, Infura"),
    Row(r"rate exceeded", _RATE, "Alchemy, Infura"),
    Row(r"quota|(daily|monthly) ~limit|limits? for your~ plan|free tier limit", _RATE, "GetBlock, Ankr"),
    Row(r"(not enough|insufficient) (cups|credits)|resource ?exhausted", _RATE, "NodeReal, proxyd"),
    Row(r"over capacity|too much load|is busy", _RATE, "NodeReal, proxyd"),
    Row(r"requests exceeds the limit|try again (later|in)|slow down|code: 1015", _RATE, "Cloudflare"),
    # Old blocks.
    Row(r"prun|missing trie node|archiv|histor|discarded|cleaned up|older than", _OLD, "geth, PublicNode"),
    Row(r"too old|lookback", _OLD, "geth, PublicNode"),
    Row(r"(lowest|base) height", _OLD, "Tendermint, Sei, HyperEVM"),
    Row(r"(earliest|first|oldest) ~(available|block)", _OLD, "Tendermint, Sei, HyperEVM"),
    Row(r"no state available|\bstate~ (not |un)available|data before~ not available", _OLD, "geth, Erigon"),
    Row(r"\b(receipts?|logs|data)( is| are)? (not|no longer) available", _OLD, "Nethermind"),
    Row(r"target block exceeds", _OLD, "Nethermind"),
    # Blocks that are not there, or not yet.
    Row(r"\b(block|header|height|body)\b~(not|n.t) (yet )?(found|available|exist)", _MISSING, "geth, Sei"),
    Row(r"\b(block|header|height|body)\b~ (unknown|missing)|block (is )?out of range", _MISSING, "proxyd"),
    Row(r"(unknown|no such|nonexistent|(n.t|not) find) (block|header)|no block found", _MISSING, "geth"),
    Row(r"not find results for|invalid block (number|height)", _MISSING, "geth, Tendermint"),
    Row(r"block range extends|invalid block range params", _MISSING, "geth, Alchemy"),
    Row(r"(beyond|past|above|after|higher|greater|ahead)~ (head|latest|tip|last)\b", _MISSING, "geth"),
    Row(r"(beyond|greater|exceed|ahead)~ (current|head|latest)\b", _MISSING, "geth, proxyd"),
    Row(r"in( the)? future|future (block|epoch)|equal to the current", _MISSING, "Lotus, Tendermint"),
    Row(r"tag not supported", _MISSING, "Lotus, Tendermint"),
    Row(r"(not|cannot) be found|resource not found", _MISSING, "Nethermind"),
    Row(r"not yet (available|indexed|synced)", _MISSING, "Nethermind"),
    Row(r"failed to get logs for block|indexing is in progress", _MISSING, "Nitro, geth, Ethermint"),
    Row(r"bloom not found", _MISSING, "Nitro, geth, Ethermint"),
    # Slow: a smaller range may be answered.
    Row(r"timed? ?out|deadline exceeded|too long", _SIZE, "dRPC, geth, Nethermind, Infura"),
    # Access.
    Row(r"authenticat|unauthori|not been authori|authori[sz]ation required|forbidden", _KEY, "Alchemy"),
    Row(r"access denied", _KEY, "Alchemy"),
    Row(r"(api|access).?key|project id|token is (invalid|expired)", _KEY, "Infura, Ankr, dRPC"),
    Row(r"invalid (access )?token", _KEY, "Infura, Ankr, dRPC"),
    Row(r"not enabled for this app|[io]n whitelist|allowlist|request blocked", _KEY, "Alchemy, PublicNode"),
    Row(r"credentials|\bjwt\b|subscription|project not found", _KEY, "gateways"),
    Row(r"\b(ip|origin)( address)? (is )?not", _KEY, "gateways"),
    # A method that is switched off.
    Row(r"(method|eth_\w{1,40})~ not (allow|avail|enabl|exist|found|implem|suppo|white)", _OFF, "geth"),
    Row(r"(method|eth_\w{1,40})~ (disabled|blocked|restricted|unsupp|unavail|off\b)", _OFF, "proxyd"),
    Row(r"(unsupported|invalid|unknown) method", _OFF, "Alchemy, dRPC"),
    Row(r"(method|eth_\w{1,40})~ (requires|premium|paid)", _OFF, "Alchemy, dRPC"),
    Row(r"(upgrade|permission)~ (method|eth_\w)", _OFF, "gateways"),
    Row(r"module is disabled|not (available|included) (on|in|to)~ (\w{0,9}tier|plan|public)", _OFF, "dRPC"),
    Row(r"(free|paid) ?tier", _OFF, "dRPC"),
    # What says too little.
    Row(r"^(parse error|invalid request)", _OTHER, "Monad, with the code of an unknown method"),
    Row(r"\blimit", _LIMIT, "BNB Smart Chain, where eth_getLogs is switched off"),
)

_CODES: Final[Mapping[int, Refusal]] = {
    **dict.fromkeys((429, -32029, -32097), _RATE),  # Alchemy, OnFinality
    **dict.fromkeys((-32005, -32007, -32008), _LIMIT),  # EIP-1474, QuickNode, jsonrpsee
    **dict.fromkeys((-32012, -32020, -32062, -32614, -32615), _SIZE),  # eRPC, proxyd, Ankr, QuickNode
    **dict.fromkeys((4444, -32701), _OLD),  # geth, PublicNode
    **dict.fromkeys((-32601, -32004, 4200, -32612, -32613), _OFF),  # JSON-RPC, EIP-1474, EIP-1193, QuickNode
    **dict.fromkeys((4100, -32051, -32052), _KEY),  # EIP-1193, Ankr
    -32001: _MISSING,  # EIP-1474
}
_STATUSES: Final[Mapping[int, Refusal]] = {401: _KEY, 403: _KEY, 402: _RATE, 413: _SIZE, 429: _RATE}

_NUMBER: Final = (
    r"(?P<count{0}>\d{{1,3}}(?:[,._']\d{{3}})+|\d{{1,18}})\s?(?P<thousand{0}>k)?(?![,._']?\w)"
    r"(?!\s?(?:logs|results|events|entries|requests|calls|bytes|[km]i?b\b|s\b|sec|min|hours|days|/))"
)
_RANGE: Final = (
    r"(?:0x(?P<from{0}>[0-9a-f]{{1,16}})\s?,\s?0x(?P<to{0}>[0-9a-f]{{1,16}})"
    r"|(?P<first{0}>\d{{1,18}})\s?-\s?(?P<last{0}>\d{{1,18}}))"
)
_FEW_WORDS: Final = r"[^.]{0,60}?"


def _compiled(words: str) -> re.Pattern[str]:
    parts = re.split("(#|<>)", words.replace("~", _FEW_WORDS))
    numbered = {"#": _NUMBER, "<>": _RANGE}
    whole = (numbered[part].format(place) if part in numbered else part for place, part in enumerate(parts))
    return re.compile("".join(whole), re.IGNORECASE)


_PATTERNS: Final = tuple((_compiled(row.words), row.meaning) for row in ROWS)


def refusal(message: str, code: int | None = None, status: int | None = None) -> Refusal:
    """What a refusal means.

    :param message: the words of the JSON-RPC error, or of the body of an HTTP error.
    :param code: of the JSON-RPC error, None without one.
    :param status: of the HTTP answer, None where that was a success.
    """
    by_status = _STATUSES.get(status or 0, _OTHER)
    if by_status is _RATE:
        return by_status
    words = message[:READ_CHARACTERS]
    for pattern, meaning in _PATTERNS:
        if (found := pattern.search(words)) is not None:
            return RangeTooLarge(_blocks(found)) if meaning is _SIZE else meaning
    return _CODES.get(code or 0, by_status)


def _blocks(found: re.Match[str]) -> int | None:
    """How many blocks the node says it takes at once."""
    named = {name.rstrip("0123456789"): text for name, text in found.groupdict().items() if text is not None}
    match named:
        case {"from": first, "to": last}:
            count = int(last, 16) - int(first, 16) + 1
        case {"first": first, "last": last}:
            count = int(last) - int(first) + 1
        case {"count": digits}:
            count = int(re.sub(r"\D", "", digits)) * (1000 if "thousand" in named else 1)
        case _:
            return None
    return count if count > 0 else None
