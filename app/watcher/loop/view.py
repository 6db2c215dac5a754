"""What the reader of one chain has in memory between two steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from app.network.rules.watch_terms import FINALIZED, WatchedNetwork, WatchTerms
from app.values.identifiers import BlockNumber
from app.values.times import parse_rfc3339, rfc3339
from app.watcher.rpc.node import MOST_CALLS, Look, Wanted
from app.watcher.rpc.nodes import Nodes
from app.watcher.rules.blocks import Header, Log
from app.watcher.rules.evidence import ALONE_SECONDS, Vote
from app.watcher.rules.logs.contracts import TOPICS
from app.watcher.rules.logs.translation import Translation, translate
from app.watcher.rules.proofs import BloomTest
from app.watcher.rules.steps import (
    BLOCKS_AGAIN,
    ChainReadings,
    Doubt,
    Span,
    SpanState,
    Step,
    Waiting,
    replaced,
)

LINKED_BLOCKS: Final = MOST_CALLS - 1
"""Blocks whose headers one request can return. A longer range needs another URL that has the head."""

FIRST_BLOCK: Final = BlockNumber(0)


class Blocks(Struct, frozen=True):
    """A range of blocks, both ends included."""

    first: BlockNumber
    last: BlockNumber

    def __len__(self) -> int:
        return self.last - self.first + 1

    def cut(self, most: int) -> Blocks:
        return Blocks(self.first, BlockNumber(min(self.last, self.first + most - 1)))


def final_block(terms: WatchTerms, look: Look) -> BlockNumber | None:
    """The newest block that is final, by the node's answer or by its depth."""
    if terms.finality == FINALIZED:
        return None if look.final is None else min(look.final, look.head.number)
    final = look.head.number - int(terms.finality)
    return BlockNumber(final) if final >= 0 else None


def live_start(terms: WatchTerms, head: BlockNumber, final: BlockNumber | None) -> BlockNumber:
    """Where live reading begins: above the final blocks, which can be backfilled later."""
    above = FIRST_BLOCK if final is None else min(final + 1, head)
    return BlockNumber(max(terms.from_block, above))


def live_blocks(first: BlockNumber, head: BlockNumber, final: BlockNumber | None, most: int) -> Blocks | None:
    """The next range of live reading; None where the newest block was read.

    A range ends at the last final block at most. So a reorganisation removes little more than it replaced,
    and a range becomes final as a whole.
    """
    if first > head:
        return None
    last = head if final is None or not first <= final < head else final
    return Blocks(first, last).cut(most)


def backfill_blocks(terms: WatchTerms, readings: ChainReadings, most: int) -> Blocks | None:
    """The next range of the backfill; None where all below the live reading was read."""
    if readings.live_from is None:
        return None
    start = terms.from_block if readings.backfilled_to is None else readings.backfilled_to + 1
    first, last = max(start, terms.from_block), readings.live_from - 1
    return Blocks(BlockNumber(first), BlockNumber(last)).cut(most) if first <= last else None


def spans_to_reread(spans: Iterable[Span], final: BlockNumber, most: int) -> Sequence[Span]:
    """The first spans without a gap that are final and were read once: at most so many blocks, or one span.

    They are of one source, so that one other source can read them all.
    """
    chosen: list[Span] = []
    for span in spans:
        if span.state is not SpanState.READ or span.last > final:
            if chosen:
                break
            continue
        if chosen and not _go_together(chosen, span, most):
            break
        chosen.append(span)
    return chosen


def span_to_read_again(spans: Iterable[Span], final: int | None, headers: Iterable[Header]) -> Span | None:
    """The first blocks whose logs are not known (any more), and whose branch is known: they are final, or the
    header of the last one is stored.
    """
    final = -1 if final is None else final
    sure = {header.number for header in headers}
    chosen: list[Span] = []
    for span in spans:
        is_final = span.last <= final
        is_unknown = span.state is SpanState.READ and not span.digest and (is_final or span.last in sure)
        if chosen:
            # Final ones are proven soon: they do not wait for others.
            goes_on = is_unknown and is_final is (chosen[0].last <= final)
            if not goes_on or not _go_together(chosen, span, BLOCKS_AGAIN):
                break
        if is_unknown:
            chosen.append(span)
    return replace(chosen[0], last=chosen[-1].last) if chosen else None


def _go_together(chosen: Sequence[Span], span: Span, most: int) -> bool:
    before = chosen[-1]
    return (
        before.last + 1 == span.first
        and before.source == span.source
        and bool(before.digest) == bool(span.digest)
        and span.last - chosen[0].first + 1 <= most
    )


def headers_needed_from(
    headers: Sequence[Header], live_to: BlockNumber, max_reorg: int
) -> BlockNumber | None:
    """The block below which no reorganisation needs a header any more; None where all are needed.

    One as deep as a reorganisation may go stays, so that each has a block to start from.
    """
    deep = [header.number for header in headers if header.number < live_to - max_reorg]
    return max(deep) if deep else None


def after(readings: ChainReadings, step: Step) -> ChainReadings:
    """The stored facts about a chain after a step was written, except how far it is reread and proven."""
    if step.forget_from is not None:
        readings = _stepped_back(readings, step.forget_from)
    changes = {
        name: given
        for name in ("live_from", "backfill_from", "backfilled_to", "live_to", "extra")
        if (given := getattr(step, name)) is not None
    }
    return replace(
        readings,
        headers=_headers(readings.headers, step),
        spans=[span for span in replaced(readings.spans, step.spans) if span.state is not SpanState.PROVEN],
        earlier=[
            span
            for span in replaced(readings.earlier, step.spans)
            if span.state is SpanState.PROVEN and not span.weighed
        ],
        waiting=_waiting(readings.waiting, step),
        doubts=_doubts(readings.doubts, step),
        roots=readings.roots or step.matched_to is not None,
        **changes,
    )


def _stepped_back(readings: ChainReadings, forget_from: BlockNumber) -> ChainReadings:
    below = BlockNumber(forget_from - 1)
    live_to, live_from, backfilled_to = readings.live_to, readings.live_from, readings.backfilled_to
    headers = [header for header in readings.headers if header.number < forget_from]
    if live_to is not None and live_to.number >= forget_from:
        live_to = next((header.id for header in headers if header.number == below), None)
    if live_from is not None and live_from > forget_from:
        live_from = forget_from
    if backfilled_to is not None and backfilled_to >= forget_from:
        backfilled_to = below
    return replace(
        readings,
        live_to=live_to,
        live_from=live_from,
        backfilled_to=backfilled_to,
        headers=headers,
        spans=replaced(readings.spans, (), forget_from=forget_from),
        waiting=[waiting for waiting in readings.waiting if waiting.block < forget_from],
        earlier=replaced(readings.earlier, (), forget_from=forget_from),
        doubts={block: doubt for block, doubt in readings.doubts.items() if block < forget_from},
    )


def _headers(stored: Iterable[Header], step: Step) -> list[Header]:
    found = {header.number: header for header in (*stored, *step.headers)}
    least = step.forget_headers_below or 0
    return [found[number] for number in sorted(found) if number >= least]


def _doubts(stored: Mapping[BlockNumber, Doubt], step: Step) -> Mapping[BlockNumber, Doubt]:
    gone = {block for block in stored if any(span.first <= block <= span.last for span in step.spans)}
    found = {block: doubt for block, doubt in stored.items() if block not in gone.union(step.resolved)}
    found |= {doubt.block: doubt for doubt in step.doubts}
    return dict(sorted(found.items()))


def _waiting(stored: Iterable[Waiting], step: Step) -> list[Waiting]:
    found = {(waiting.kind, waiting.key): waiting for waiting in stored}
    for done in step.done:
        found.pop((done.kind, done.key), None)
    found.update({(waiting.kind, waiting.key): waiting for waiting in step.waiting})
    return sorted(found.values(), key=lambda waiting: (waiting.block, waiting.kind, waiting.key))


OURS: Final = ""
"""In a vote: the branch that is read."""


class TooDeep(Exception):
    """A reorganisation deeper than is accepted. An operator has to examine it."""


class Jump(Struct, frozen=True):
    """A head far above what was read, which no second URL had.

    :param reported_by: the name of the URL that returned the head.
    :param above: the last block read at that time.
    :param since: seconds of the monotonic clock.
    """

    head: Header
    reported_by: str
    above: BlockNumber
    since: float

    def facts(self) -> dict[str, Any]:
        """As JSON values, without ``since``."""
        head = self.head
        fields = {"number": head.number, "hash": head.hash, "parent_hash": head.parent_hash}
        return {"head": fields | {"at": rfc3339(head.at)}, "teller": self.reported_by, "above": self.above}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any], since: float) -> Jump:
        head = Header(**facts["head"] | {"at": parse_rfc3339(facts["head"]["at"])})
        return cls(head, facts["teller"], facts["above"], since)


class View(Struct):
    """The knowledge of the reader of a chain.

    :param readings: what is stored.
    :param monotonic: seconds that never go back.
    :param max_reorg: blocks below the newest one that a reorganisation may reach.
    :param look: what a node returned about the newest blocks at the last poll.
    :param source: the name of the URL that was used last.
    :param final: the newest final block, never below the former one.
    :param votes: by voice the branch that it named last, ``OURS`` where it is the one that is read.
    :param heads: by voice its newest block.
    :param had: by voice the highest block of the branch that is read that it had.
    :param forks: by voice the first block of the other branch that it names.
    :param split_polls: polls in a row in which as many voices named another branch.
    :param contracts: whose logs are read, for filters.
    :param requested_at: when every URL was requested about a block in doubt, in seconds.
    :param jump: the one that no second URL has confirmed yet.
    :param known_to: up to this block all was proven once, before the chain was read from its beginning again.
        It was reported up to the position ``known_seq`` of the log.
    :param earlier_below: of what a release before proved, only blocks below this one are tried now.
    :param reports_to: up to this position of the log, what others report was compared with proven blocks.
    :param roots: whether roots of receipts are usable (docs/chains.md#evidence); ``filters`` likewise.
    :param matched_to: the highest block whose receipts matched since this reader began.
    :param is_split: as many voices name another branch. Those of ``denied_by`` have done so for three polls,
        from the block ``split_from`` on.
    """

    terms: WatchTerms
    network: WatchedNetwork
    nodes: Nodes
    readings: ChainReadings
    clock: Callable[[], datetime]
    monotonic: Callable[[], float]
    max_reorg: int
    look: Look | None = None
    final: BlockNumber | None = None
    votes: dict[str, Vote] = field(default_factory=dict)
    heads: dict[str, Header] = field(default_factory=dict)
    had: dict[str, int] = field(default_factory=dict)
    forks: dict[str, int] = field(default_factory=dict)
    split_polls: int = 0
    jump: Jump | None = None
    source: str = ""
    counted: int = 0
    requested_at: dict[BlockNumber, float] = field(default_factory=dict)
    roots: bool = False
    filters: bool = False
    matched_to: BlockNumber | None = None
    is_split: bool = False
    denied_by: frozenset[str] = frozenset()
    split_from: int = 0
    known_to: int = -1
    known_seq: int = 0
    reports_to: int | None = None
    earlier_below: int | None = None

    contracts: BloomTest = field(default_factory=lambda: BloomTest((), ()))

    def __post_init__(self) -> None:
        self.contracts = BloomTest(self.wanted.addresses, self.wanted.topics)
        if stored := self.readings.extra.get("jump"):
            self.jump = Jump.from_facts(stored, self.monotonic())
        self.roots, self.filters = self.readings.roots, bool(self.readings.extra.get("filters"))
        self.had = dict(self.readings.extra.get("had", {}))
        self.votes = {voice: Vote(OURS, self.monotonic()) for voice in self.had}
        self.split_polls = self.readings.extra.get("split", 0)
        self.known_to, self.known_seq = self.readings.extra.get("known", (-1, 0))
        self.reports_to = self.readings.extra.get("reports_to")

    @property
    def extra(self) -> Mapping[str, Any] | None:
        """What else is to be stored; None where it has not changed."""
        extra: dict[str, Any] = {} if self.jump is None else {"jump": self.jump.facts()}
        extra |= {"filters": True} if self.filters else {}
        extra |= {"had": dict(self.had)} if len(self.had) > 1 else {}
        extra |= {"known": [self.known_to, self.known_seq]} if self.known_to >= 0 else {}
        extra |= {"split": self.split_polls} if self.split_polls else {}
        extra |= {} if self.reports_to is None else {"reports_to": self.reports_to}
        return None if extra == self.readings.extra else extra

    @property
    def wanted(self) -> Wanted:
        return Wanted(tuple(sorted(self.terms.contracts)), tuple(TOPICS))

    @property
    def deep(self) -> BlockNumber | None:
        """The highest block that no accepted reorganisation can replace."""
        live_to = self.readings.live_to
        if live_to is None or live_to.number <= self.max_reorg:
            return None
        return BlockNumber(live_to.number - self.max_reorg - 1)

    @property
    def settled_to(self) -> BlockNumber | None:
        """The highest block whose facts nothing retracts any more: neither a reorganisation nor a proof.

        Those of ``readings.doubts`` may still be retracted.
        """
        unproven = self.readings.spans[0].first if self.readings.spans else None
        deep = self.deep
        return deep if deep is None or unproven is None else BlockNumber(min(deep, unproven - 1))

    def behind(self, voice: str) -> tuple[float, str]:
        """By how many seconds a voice's newest block is older than that of another, and of which. Blocks of
        the future do not count.
        """
        own, now = self.heads.get(voice), self.clock()
        if own is None:
            return 0.0, voice
        newest = max(self.heads, key=lambda other: min(self.heads[other].at, now))
        return (min(self.heads[newest].at, now) - own.at).total_seconds(), newest

    def is_stuck(self, voice: str) -> bool:
        """Its newest block is far older than another's: it has no vote, and nothing waits for it."""
        return self.behind(voice)[0] > ALONE_SECONDS

    @property
    def lag(self) -> int:
        """Blocks between the newest one and the last that live reading has read."""
        if self.look is None or self.readings.live_to is None:
            return 0
        return max(0, self.look.head.number - self.readings.live_to.number)

    @property
    def reported_by(self) -> str:
        """The name of the URL that returned the last block read."""
        stored = self.readings.live_to
        spans = (span for span in self.readings.spans if stored is not None and span.last == stored.number)
        return next((span.source for span in spans), self.source)

    def learn(self, block: BlockNumber, *, filters: bool) -> None:
        """Note that receipts of a block matched its verified header: from now on roots are usable.

        :param filters: their filters made up the header's, too.
        """
        self.roots, self.filters = True, self.filters or filters
        self.matched_to = max(block, self.matched_to or block)

    def calls(self) -> int:
        """HTTP requests since the last call of this."""
        now = self.nodes.requests
        made, self.counted = now - self.counted, now
        return made

    def taken(self, step: Step) -> None:
        self.readings = after(self.readings, step)

    def translated(
        self,
        logs: Sequence[Log],
        headers: Mapping[BlockNumber, Header],
        waiting: Sequence[Waiting],
        read_to: BlockNumber,
    ) -> Translation:
        return translate(
            self.network, self.terms, logs, headers, waiting,
            read_to=read_to, final_to=self.settled_to, doubts=self.readings.doubts,
        )  # fmt: skip

    def stored_header(self, number: BlockNumber) -> Header | None:
        return next((header for header in self.readings.headers if header.number == number), None)

    def forgettable(self, live_to: BlockNumber) -> BlockNumber | None:
        sure = live_to if self.jump is None else BlockNumber(min(live_to, self.jump.above))
        return headers_needed_from(self.readings.headers, sure, self.max_reorg)


MAX_TRIES: Final = 3
"""Tries to read a range while the chain changes; then the next poll decides."""
