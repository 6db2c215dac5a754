"""A small model of one block: what up to three URLs say of it, and what the rule of evidence makes of that.

The rule runs breadth first through everything that can happen in some polls, equal states once. A URL has one
behaviour; in each poll it answers, or it does not. One of the URLs that answer is read, and the others are
requested for what the rule names. The block may become deep, and ten minutes may pass, between any two polls.

The true block has a payout (``PAID``). A second one that lists the same transactions, and a branch that
replaces it, have what a URL may claim besides: ``MADE_UP`` and ``ALTERED``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache

from msgspec.structs import replace as changed

from app.watcher.rules.evidence import (
    Answer,
    Block,
    Entry,
    Finding,
    Receipts,
    Standing,
    Vote,
    What,
    Word,
    choose,
    counts,
    heard,
    may_be_final,
    questions,
    weigh,
)
from app.watcher.rules.proofs import BLOOM_BYTES, BloomTest, bloom_bits

CONTRACT, TOPIC = b"c" * 20, b"t" * 32
CONTRACTS = BloomTest((CONTRACT,), (TOPIC,))
PAID = Entry("0x1", CONTRACT, (TOPIC,), b"100")
ALTERED = Entry("0x1", CONTRACT, (TOPIC,), b"999")
MADE_UP = Entry("0x2", CONTRACT, (TOPIC,), b"5")
FALSE = frozenset({ALTERED, MADE_UP})
TRUE_BLOCK, OTHER_BLOCK = "T", "F"
FULL = (bloom_bits(CONTRACT) | bloom_bits(TOPIC)).to_bytes(BLOOM_BYTES, "big")
NO_BITS = bytes(BLOOM_BYTES)


class Behaviour(Enum):
    """What a URL does."""

    HONEST = "honest"
    SILENT = "silent"
    """Its index of logs is broken: no logs, no receipts."""

    LEAVES_OUT = "leaves out"
    """The payout, also in its receipts."""

    INVENTS = "invents"
    """A payout more, also in its receipts."""

    ALTERS = "alters"
    """The amount of the payout, also in its receipts."""

    FORGES = "forges, hash kept"
    """Invents, with a header whose filter and root are those of its receipts."""

    OWN_BRANCH = "own branch"
    LATE = "late"
    """Right as long as it has the block, which it may lack in any poll."""

    BLANK = "blank"
    """A header without transactions, receipts and logs."""

    FAULT = "fault"


@dataclass(frozen=True)
class Chain:
    """Which of its parts the nodes of the chain return and what can be verified by them.

    :param paid: whether the true block has the payout.
    """

    receipts: bool
    roots: bool
    filters: bool
    paid: bool = True

    @property
    def true(self) -> frozenset[Entry]:
        """The logs of the true block."""
        return frozenset({PAID} if self.paid else ())

    @property
    def bloom(self) -> bytes:
        """The filter of the true block."""
        return FULL if self.filters and self.paid else NO_BITS


@dataclass(frozen=True)
class Url:
    """What a URL would answer in one poll.

    :param block: the hash that it names; None where it returns nothing.
    :param is_hash_of: whether its header's fields give that hash; None where it returns no header of use.
    """

    block: str | None = None
    is_hash_of: bool | None = None
    logs: frozenset[Entry] | None = None
    txs: frozenset[str] | None = None
    receipts: frozenset[Entry] | None = None

    def answer(self, what: What, tx: str, chain: Chain) -> Answer:
        """Its answer to a question about the block that it names."""
        if what is What.LOGS:
            return Answer(logs=self.logs)
        if self.receipts is None:
            return Answer(txs=self.txs)
        if what is What.RECEIPT:
            held = {tx: frozenset(each for each in self.receipts if each.tx == tx)}
            return Answer(txs=self.txs, of_txs=held if tx in (self.txs or ()) else {})
        if not chain.receipts:
            return Answer()
        true = chain.true if self.block == TRUE_BLOCK else frozenset({MADE_UP})
        match = chain.roots and self.receipts == true
        of_txs = {tx: frozenset(each for each in self.receipts if each.tx == tx) for tx in self.txs or ()}
        return Answer(txs=self.txs, of_txs=of_txs, receipts=Receipts(self.receipts, match, match))


@cache
def answers_of(behaviour: Behaviour, chain: Chain) -> tuple[Url, ...]:
    """What a URL may answer in one poll; the last is what it answers for ever."""
    txs, true = frozenset({"0x1", "0x2"}), chain.true
    right = Url(TRUE_BLOCK, True, true, txs, true if chain.receipts else None)
    out, more = true - {PAID}, true | {MADE_UP}
    other = frozenset({ALTERED}) if chain.paid else true

    def told(logs: frozenset[Entry], **changes: object) -> Url:
        return replace(right, logs=logs, receipts=logs if chain.receipts else None, **changes)  # type: ignore[arg-type]

    match behaviour:
        case Behaviour.HONEST:
            found = right
        case Behaviour.SILENT:
            found = replace(right, logs=frozenset(), receipts=None)
        case Behaviour.LEAVES_OUT:
            found = told(out)
        case Behaviour.INVENTS:
            found = told(more)
        case Behaviour.ALTERS:
            found = told(other)
        case Behaviour.FORGES:
            found = told(more, is_hash_of=False)
        case Behaviour.OWN_BRANCH:
            found = told(frozenset({MADE_UP}), block=OTHER_BLOCK)
        case Behaviour.LATE:
            return Url(), right
        case Behaviour.BLANK:
            found = Url(TRUE_BLOCK, False, frozenset(), frozenset(), None)
        case Behaviour.FAULT:
            return (Url(),)
    return Url(), right, found


Words = tuple[Word, ...]
"""By the number of the voice."""


@dataclass(frozen=True)
class State:
    """What the watcher knows, and what it reported.

    :param votes: the block that each voice named last.
    :param words: what each has said of the block that is read.
    :param verified: whether a header of that block was seen whose fields give its hash.
    :param named: voices that named the block that is read, ever.
    :param split: polls that a split has lasted, up to three.
    :param old: ten minutes have passed: since something was first returned, and since each vote.
    :param reported: what is reported of the block, ``suspended`` what of it is retracted until it is decided.
    :param final: what of it is final.
    """

    votes: tuple[str | None, ...]
    words: Words
    reading: str | None = None
    verified: bool = False
    named: frozenset[int] = frozenset()
    split: int = 0
    deep: bool = False
    old: bool = False
    reported: frozenset[Entry] = frozenset()
    suspended: frozenset[Entry] = frozenset()
    final: frozenset[Entry] = frozenset()

    @property
    def served(self) -> frozenset[Entry]:
        """The payouts that users are shown."""
        return self.reported - self.suspended


@dataclass(frozen=True)
class Seen:
    """A poll's result: the state after it, and how well what is known."""

    state: State
    finding: Finding


@dataclass
class Model:
    """The rule on one chain with URLs of some behaviours."""

    chain: Chain
    behaviours: tuple[Behaviour, ...]
    voices: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.voices = tuple(map(str, range(len(self.behaviours))))

    @property
    def start(self) -> State:
        """Before the first poll."""
        count = len(self.behaviours)
        return State((None,) * count, (Word(),) * count)

    def polls(self, state: State) -> Iterator[Seen]:
        """All that one more poll may lead to."""
        options = (answers_of(each, self.chain) for each in self.behaviours)
        for urls in itertools.product(*options):
            for first in range(len(urls)):
                if urls[first].block is not None:
                    yield self.poll(state, urls, first)

    def later(self, state: State) -> Iterator[State]:
        """The state, and the same when the block is deep or ten minutes have passed."""
        yield state
        if state.reading is not None:
            for deep, old in ((True, False), (False, True), (True, True)):
                yield replace(state, deep=state.deep or deep, old=state.old or old)

    def last(self, state: State, behaviours: tuple[Behaviour, ...] | None = None) -> Seen:
        """What it ends at when every URL goes on answering, and time passes."""
        model = self if behaviours is None else Model(self.chain, behaviours)
        urls = tuple(answers_of(each, self.chain)[-1] for each in model.behaviours)
        seen: Seen | None = None
        for _ in range(8):
            before = state
            for first in range(len(urls)):
                if urls[first].block is not None:
                    seen = model.poll(replace(state, deep=True, old=True), urls, first)
                    state = seen.state
            if state == before:
                break
        assert seen is not None
        return seen

    def poll(self, state: State, urls: tuple[Url, ...], first: int) -> Seen:
        """One poll: votes, the branch, the logs of one URL, what the rule asks, and what follows."""
        state = self._voted(state, urls)
        here = [number for number, url in enumerate(urls) if url.block == state.reading]
        words = list(state.words)
        verified = state.verified or any(urls[number].is_hash_of for number in here)
        known = set(state.reported)
        if first in here:
            words[first] = heard(words[first], Answer(logs=urls[first].logs), known)
        asked: set[tuple[str, What, str]] = set()
        while True:
            block = self._block(state, verified)
            finding = self._weighed(words, block, known)
            todo = [
                each
                for each in questions(self.voices, self._of(words), block, finding)
                if int(each.voice) in here and (each.voice, each.what, each.tx) not in asked
            ]
            if not todo:
                break
            for each in todo:
                asked.add((each.voice, each.what, each.tx))
                number = int(each.voice)
                answer = urls[number].answer(each.what, each.tx, self.chain)
                words[number] = heard(words[number], answer, set(finding.standing))
        for number in here:
            if verified and urls[number].is_hash_of is False:
                words[number] = changed(words[number], forged=True)
        finding = self._weighed(words, block, known)
        return Seen(self._applied(replace(state, words=tuple(words), verified=verified), finding), finding)

    def _voted(self, state: State, urls: tuple[Url, ...]) -> State:
        lapsed = [None] * len(urls) if state.old else state.votes
        votes = tuple(url.block or vote for url, vote in zip(urls, lapsed, strict=True))
        now = {voice: Vote(vote, 0.0) for voice, vote in zip(self.voices, votes, strict=True) if vote}
        agreed = state.deep and len(state.named) > 1
        choice = choose(now, self.voices, state.reading, 0.0, agreed=agreed)
        if choice.hash != state.reading:
            state = replace(self.start, reading=choice.hash)
        named = state.named | {number for number, vote in enumerate(votes) if vote == choice.hash}
        split = min(state.split + 1, 3) if choice.is_split else 0
        return replace(state, votes=votes, named=named, split=split)

    def _block(self, state: State, verified: bool) -> Block:
        enough = len(state.named) > 1 or len(self.voices) == 1
        bloom = self.chain.bloom if state.reading == TRUE_BLOCK else FULL if self.chain.filters else NO_BITS
        others = {
            voice
            for voice, vote in zip(self.voices, state.votes, strict=True)
            if state.split == 3 and vote is not None and vote != state.reading
        }
        return Block(
            verified and enough,
            bloom if verified and enough else None,
            roots=self.chain.roots,
            filters=self.chain.filters,
            denied_by=frozenset(others),
        )

    def _of(self, words: list[Word]) -> Mapping[str, Word]:
        return {voice: word for voice, word in zip(self.voices, words, strict=True) if word != Word()}

    def _weighed(self, words: list[Word], block: Block, known: set[Entry]) -> Finding:
        return weigh(self._of(words), block, CONTRACTS, known)

    def _applied(self, state: State, finding: Finding) -> State:
        reported, suspended, final = set(state.reported), set(state.suspended), set(state.final)
        for entry, standing in finding.standing.items():
            if standing is Standing.FALSE:
                for each in (reported, suspended, final):
                    each.discard(entry)
            else:
                reported.add(entry)
                suspended.add(entry)
                if counts(standing, is_end=True, was_final=entry in final):
                    suspended.discard(entry)
            if entry in reported and state.deep:
                may = may_be_final(
                    finding, entry, voices=len(self.voices), age=601.0 if state.old else 0.0,
                    all_requested=state.old, is_split=state.split > 0,
                )  # fmt: skip
                final |= {entry} if may else set()
        return replace(
            state,
            reported=frozenset(reported),
            suspended=frozenset(suspended),
            final=frozenset(final),
        )


def lies_of(behaviour: Behaviour, chain: Chain) -> frozenset[tuple[str, Entry | str]]:
    """What a URL says that is false: what it claims, and what of the truth it denies."""
    found: set[tuple[str, Entry | str]] = set()
    for url in answers_of(behaviour, chain):
        if url.block == OTHER_BLOCK:
            found.add(("branch", OTHER_BLOCK))
        elif url.block is not None:
            found |= {("claims", each) for each in (url.logs or frozenset()) - chain.true}
            if url.receipts is not None:
                found |= {("denies", each) for each in chain.true - url.receipts}
            if not chain.true <= (url.logs or frozenset()):
                found.add(("lacks", PAID))
    return frozenset(found)


def reached(model: Model, polls: int) -> Iterator[tuple[State, Seen, bool]]:
    """Every poll of a state that so many lead to, with that state, and whether what it leads to is new."""
    known: set[State] = set()
    states = {model.start}
    for _ in range(polls):
        following: set[State] = set()
        for state in {later for each in states for later in model.later(each)}:
            for seen in model.polls(state):
                is_new = seen.state not in known
                known.add(seen.state)
                if is_new:
                    following.add(seen.state)
                yield state, seen, is_new
        states = following
