"""One step of reading a chain: what was read, what it says, and how far the reading is after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from app.transfers.rules.events.event_types import Event
from app.values.identifiers import BlockNumber, ChainId
from app.watcher.rules.blocks import BlockId, Header
from app.watcher.rules.evidence import Entry, Word


class WaitingKind(StrEnum):
    """What a fact of a chain waits for."""

    SEND_DEPTH = "send_depth"  # the block that confirms the send
    REFUND_DEPTH = "refund_depth"  # the block that makes a paid refund final
    QUEUED = "queued"  # the execution of a payout in a contract's delay queue
    EXECUTED = "executed"  # the queueing of an executed payout, which was not read yet (backfill)
    UNKNOWN = "unknown"  # the configuration of a token or chain that the log names, or the transfer itself


class Waiting(Struct, frozen=True):
    """A fact for which something else is missing. A reorganisation at or below its block removes it.

    :param key: unique within its chain and kind: the id of the log that it comes from, or the queued id.
    :param block: the block of that log.
    :param due: the block whose reading completes it, for the kinds that wait for depth.
    :param facts: what is needed to report it, only JSON values.
    """

    kind: WaitingKind
    key: str
    block: BlockNumber
    due: BlockNumber | None
    facts: Mapping[str, Any]


class WaitingKey(Struct, frozen=True):
    kind: WaitingKind
    key: str


class SpanState(StrEnum):
    """How well a range of blocks is known."""

    READ = "read"
    REREAD = "reread"  # when final, with the same result, by the same URL
    PROVEN = "proven"
    """Two voices agreed on each block when it was final, or headers prove it. Blocks of it that are neither
    are stored with it (``Step.doubts``).
    """


class Span(Struct, frozen=True):
    """A range of blocks that was read, both ends included.

    :param count: of the logs of the watched contracts in it.
    :param digest: SHA-256 over these logs (``blocks.digest``). Empty where it is not known: for the rest of a
        span that a reorganisation cut, for joined neighbours, and for spans that were read for other
        contracts. Then ``count`` says nothing, either.
    :param source: the name of the environment variable of the URL that answered.
    :param weighed: of a proven one, that the rule of evidence proved it, and not a release before that. Of a
        reread one, that two voices returned the same.
    """

    first: BlockNumber
    last: BlockNumber
    count: int
    digest: bytes
    source: str
    state: SpanState = SpanState.READ
    weighed: bool = False


class Doubt(Struct, frozen=True, kw_only=True):
    """A block that was read and of which something is not agreed or proven.

    :param hash: empty where only the number of the block is known.
    :param logs: by entry the log that it was first seen as: the index, and the place of its transaction.
    :param reported: the entries that were reported, of which some may be suspended now.
    :param since: when a log of the block was returned first.
    :param tries: how often every URL was requested.
    :param agreed: its logs are agreed: it is not in doubt, and stored until headers are read.
    :param disputed: one voice denies what only one other returned.
    :param final: those of ``reported`` that were final before any voice denied them.
    :param is_open: some that count are not final however deep they are.
    """

    block: BlockNumber
    hash: str = ""
    words: Mapping[str, Word] = field(default_factory=dict)
    logs: Mapping[Entry, tuple[int, int]] = field(default_factory=dict)
    reported: frozenset[Entry] = frozenset()
    since: datetime
    tries: int = 0
    agreed: bool = False
    disputed: bool = False
    final: frozenset[Entry] = frozenset()
    is_open: bool = False


class ReportedEvent(NamedTuple):
    """An event of the log.

    :param canonical: neither a reorganisation of the chain nor a retraction has taken it back.
    :param also: another reporter has reported it, too.
    :param reporter: who reported it first.
    :param seq: the position in the log of its first acceptance.
    """

    event: Event
    block: BlockNumber
    canonical: bool
    also: bool
    reporter: str
    seq: int


class Contradicted(Struct, frozen=True):
    """A report of a log that its block does not hold.

    :param outranked: it is proven: the event is retracted.
    """

    event: Event
    block: BlockNumber
    reporter: str
    outranked: bool = False


class Missed(Struct, frozen=True):
    """A reread or a proof that differed: how many logs the first reading had missed or had too much."""

    first: BlockNumber
    last: BlockNumber
    missing: int
    surplus: int
    source: str
    reread_source: str


class Step(Struct, frozen=True, kw_only=True):
    """What is written together, in the transaction of the events.

    :param events: in their order; a ``ChainReorged`` comes first.
    :param forget_from: of a reorganisation: headers, spans and waiting facts from this block on are removed
        before the new ones are stored, and the cursors step back below it. The header below it is a stored
        one, unless ``live_to`` is given.
    :param live_from: where live reading begins; given with its first step, None leaves it. ``backfill_from``
        likewise.
    :param live_to: the last block that live reading has read now; None leaves it. ``backfilled_to`` likewise.
    :param headers: to store; by them a later reorganisation is found.
    :param forget_headers_below: headers below it are final and can be removed.
    :param spans: ranges that were read, or read again: the latter replace those of the same blocks.
    :param head: the newest block that the node returned.
    :param final: the newest that is final, by the chain's finality.
    :param doubts: blocks that are not agreed or proven. Those stored in the blocks of ``spans`` are removed
        first, and those of ``resolved``.
    :param matched_to: the highest block whose receipts were seen to match its header; None for none.
    :param contradicted: reports of others that blocks do not hold. Those stored of blocks that are
        ``compared`` are removed first; of those that are ``undecided`` it is not known.
    :param missed: rereads and proofs that differed.
    :param missed_if_new: they count only where the feed accepted something of the step: what was pruned
        meanwhile was reported, too.
    :param source: the name of the variable of the URL that answered.
    :param calls: HTTP requests that it took.
    :param extra: what else the reader stores, only JSON values; None leaves it.
    """

    at: datetime
    events: Sequence[Event] = ()
    forget_from: BlockNumber | None = None
    live_from: BlockNumber | None = None
    backfill_from: BlockNumber | None = None
    live_to: BlockId | None = None
    backfilled_to: BlockNumber | None = None
    headers: Sequence[Header] = ()
    forget_headers_below: BlockNumber | None = None
    spans: Sequence[Span] = ()
    doubts: Sequence[Doubt] = ()
    resolved: Sequence[BlockNumber] = ()
    matched_to: BlockNumber | None = None
    waiting: Sequence[Waiting] = ()
    done: Sequence[WaitingKey] = ()
    head: Header | None = None
    final: BlockNumber | None = None
    contradicted: Sequence[Contradicted] = ()
    compared: Sequence[BlockNumber] = ()
    undecided: Sequence[BlockNumber] = ()
    missed: Sequence[Missed] = ()
    missed_if_new: bool = False
    source: str = ""
    calls: int = 0
    extra: Mapping[str, Any] | None = None


class ChainReadings(Struct, frozen=True, kw_only=True):
    """All that is stored about the reading of one chain.

    :param live_from: the block where live reading began; the blocks below it are backfilled.
    :param live_to: the last block that live reading has read; None before the first.
    :param backfill_from: where the backfill began, the chain's ``watch_from_block``.
    :param headers: ascending; the last is that of ``live_to``.
    :param spans: those not proven yet, ascending. Neighbours that were reread by one URL are one span.
    :param earlier: those that a release before the rule of evidence proved.
    :param doubts: the blocks that are not agreed or proven, ascending.
    :param roots: whether receipts of a block matched its verified header once.
    :param contracts: whose logs all of this is about; None before the first reading.
    :param reread_to: up to here everything was reread, from ``backfill_from`` without a gap; ``proven_to``
        likewise proven.
    """

    chain_id: ChainId
    live_from: BlockNumber | None = None
    live_to: BlockId | None = None
    backfill_from: BlockNumber | None = None
    backfilled_to: BlockNumber | None = None
    headers: Sequence[Header] = ()
    spans: Sequence[Span] = ()
    waiting: Sequence[Waiting] = ()
    earlier: Sequence[Span] = ()
    doubts: Mapping[BlockNumber, Doubt] = field(default_factory=dict)
    roots: bool = False
    contracts: frozenset[bytes] | None = None
    reread_to: BlockNumber | None = None
    proven_to: BlockNumber | None = None
    stopped: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


UNKNOWN_DIGEST = b""

BLOCKS_AGAIN = 100
"""What is not known any more is read again in parts of so many blocks, so that other writers wait little."""


def replaced(
    stored: Iterable[Span], new: Iterable[Span], *, forget_from: BlockNumber | None = None
) -> list[Span]:
    """The spans that are stored after others were read, ascending and without overlaps.

    :param forget_from: stored spans from this block on are removed first.
    """
    spans = list(stored)
    if forget_from is not None:
        spans = list(_without(spans, forget_from, None))
    for span in new:
        spans = [*_without(spans, span.first, span.last), span]
    return _joined(sorted(spans, key=lambda span: span.first))


def reaches(spans: Iterable[Span], start: BlockNumber, states: Iterable[SpanState]) -> BlockNumber | None:
    """The last block up to which spans of these states have no gap; None where none has ``start``.

    :param spans: ascending, without overlaps; those below ``start`` may be missing.
    """
    wanted, reached = set(states), start - 1
    for span in spans:
        if span.first > reached + 1:
            break
        if span.state not in wanted:
            if span.last > reached:
                break
            continue
        reached = max(reached, span.last)
    return BlockNumber(reached) if reached >= start else None


def _without(spans: Iterable[Span], first: BlockNumber, last: BlockNumber | None) -> Iterator[Span]:
    """The spans without a range of blocks. One that is cut has no digest any more."""
    for span in spans:
        if span.last < first or (last is not None and span.first > last):
            yield span
            continue
        if span.first < first:
            yield replace(span, last=BlockNumber(first - 1), count=0, digest=UNKNOWN_DIGEST)
        if last is not None and span.last > last:
            yield replace(span, first=BlockNumber(last + 1), count=0, digest=UNKNOWN_DIGEST)


def _joined(spans: Sequence[Span]) -> list[Span]:
    """With neighbours joined that will not be compared any more."""
    result: list[Span] = []
    for span in spans:
        if result and _belong_together(result[-1], span):
            before = result.pop()
            count = before.count + span.count
            result.append(replace(span, first=before.first, count=count, digest=UNKNOWN_DIGEST))
        else:
            result.append(span)
    return result


def _belong_together(one: Span, following: Span) -> bool:
    if one.last + 1 != following.first or (one.state, one.weighed) != (following.state, following.weighed):
        return False
    return one.state is SpanState.PROVEN or (one.state is SpanState.REREAD and one.source == following.source)
