"""Every state that the rule of evidence reaches in a small world is right, or ends right.

A model has one block and up to three URLs. The rule runs breadth first through everything that can happen in
some polls, equal states once. A URL has one behaviour; in each poll it answers, or it does not. One of those
that answer is read, and the others are requested for what the rule names. The block may become deep, and ten
minutes may pass, between any two polls.

The true block has a payout (``PAID``). A second one that lists the same transactions, and a branch that
replaces it, have what a URL may claim besides: ``MADE_UP`` and ``ALTERED``.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache

import pytest
from msgspec.structs import replace as changed

from app.watcher.rules.evidence import (
    Answer,
    Block,
    Entry,
    Finding,
    Level,
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
from tests.amounts import few_or_many

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

    FORGES = "forges, hash unchanged"
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
        """Its answer to a request for the block that it names."""
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

    def claiming(logs: frozenset[Entry], **changes: object) -> Url:
        return replace(right, logs=logs, receipts=logs if chain.receipts else None, **changes)  # type: ignore[arg-type]

    match behaviour:
        case Behaviour.HONEST:
            found = right
        case Behaviour.SILENT:
            found = replace(right, logs=frozenset(), receipts=None)
        case Behaviour.LEAVES_OUT:
            found = claiming(out)
        case Behaviour.INVENTS:
            found = claiming(more)
        case Behaviour.ALTERS:
            found = claiming(other)
        case Behaviour.FORGES:
            found = claiming(more, is_hash_of=False)
        case Behaviour.OWN_BRANCH:
            found = claiming(frozenset({MADE_UP}), block=OTHER_BLOCK)
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
    :param words: what each has returned of the block that is read.
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
        """One poll: votes, the branch, the logs of one URL, what the rule requests, and what follows."""
        state = self._voted(state, urls)
        here = [number for number, url in enumerate(urls) if url.block == state.reading]
        words = list(state.words)
        verified = state.verified or any(urls[number].is_hash_of for number in here)
        known = set(state.reported)
        if first in here:
            words[first] = heard(words[first], Answer(logs=urls[first].logs), known)
        requested: set[tuple[str, What, str]] = set()
        while True:
            block = self._block(state, verified)
            finding = self._weighed(words, block, known)
            todo = [
                each
                for each in questions(self.voices, self._of(words), block, finding)
                if int(each.voice) in here and (each.voice, each.what, each.tx) not in requested
            ]
            if not todo:
                break
            for each in todo:
                requested.add((each.voice, each.what, each.tx))
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
        choice = choose(now, state.reading, agreed=agreed)
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
            state, reported=frozenset(reported), suspended=frozenset(suspended), final=frozenset(final)
        )


def false_of(behaviour: Behaviour, chain: Chain) -> frozenset[tuple[str, Entry | str]]:
    """What a URL returns that is false: what it claims, and what of the truth it denies."""
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


CHAINS = [
    Chain(receipts, roots, filters, paid)
    for receipts, roots in ((True, True), (True, False), (False, False))
    for filters in (True, False)
    for paid in (True, False)
]
MAIN = [Chain(True, True, True), Chain(True, False, False), Chain(False, False, True)]
RIGHT = {Behaviour.HONEST, Behaviour.LATE, Behaviour.SILENT, Behaviour.FAULT}
HONEST = {Behaviour.HONEST, Behaviour.LATE}


def names(behaviours: tuple[Behaviour, ...]) -> str:
    return " | ".join(each.value for each in behaviours)


def wrong_in(model: Model, seen: Seen) -> Iterator[str]:
    """What is wrong in a state, however it ends."""
    chain, state, finding = model.chain, seen.state, seen.finding
    count = len(model.behaviours)
    if len(finding.conflicting) == 1:
        yield "one voice conflicts with itself"
    if count > 1 and len(state.named) < 2 and max(finding.logs.values(), default=0) == Level.PROVEN:
        yield "a log is proven of a branch that one of several voices named"
    if state.reading != TRUE_BLOCK:
        two_branches = model.behaviours.count(Behaviour.OWN_BRANCH) > 1
        if state.split == 3 and state.served - state.final and not two_branches:
            yield f"{state.served} is served although the split lasts"
        return
    alike = alike_of(model)
    claimed_by_two = {what for kind, what in alike if kind == "claims"}
    known = {entry for entry, level in finding.logs.items() if level}
    for entry, level in finding.logs.items():
        if level == Level.PROVEN and entry not in chain.true:
            yield f"{entry} is proven, and false"
        if level == Level.AGREED and entry not in chain.true | claimed_by_two:
            yield f"{entry} is agreed, and false"
    if finding.rest is Level.PROVEN and not chain.true <= known:
        yield "nothing more is proven, and false"
    if finding.rest is Level.AGREED and not chain.true <= known:
        kinds = {kind for kind, _ in alike}
        if "lacks" not in kinds:
            yield "nothing more is agreed, and false"
        if chain.filters and len(state.named) > 1 and state.verified and kinds <= {"lacks"}:
            yield "nothing more is agreed next to a filter that is not explained"
    if alike - {("lacks", each) for each in chain.true}:
        return
    for entry in chain.true:
        if finding.standing.get(entry) is Standing.FALSE:
            yield f"{entry} is taken back, and true"
    for voice in finding.faulty:
        if model.behaviours[int(voice)] in RIGHT:
            yield f"{voice} is named as faulty, and is not"
    for entry in FALSE & (state.served - state.final):
        if any(entry in word.denies for word in state.words):
            yield f"{entry} is served, and denied"
    if state.final & FALSE and count > 1 and not state.old:
        yield "something false is final before the others had time to answer"
    deniers = {Behaviour.LEAVES_OUT, Behaviour.ALTERS, Behaviour.OWN_BRANCH}
    if (lost := (chain.true & state.reported) - state.served) and deniers.isdisjoint(model.behaviours):
        yield f"{lost} is suspended, and nobody denies it"


def wrong_after(before: State, seen: Seen, model: Model) -> Iterator[str]:
    """What one poll must not do."""
    after = seen.state
    if alike_of(model):
        return
    if before.reading != after.reading:
        if before.deep and len(before.named) > 1 and after.votes.count(after.reading) < 2:
            yield "a final block that two voices named gave way to one that one voice names"
        return
    if lost := (before.final & model.chain.true) - after.served:
        yield f"{lost} was final and true, and is lost"
    if lost := (before.reported & model.chain.true) - after.reported:
        yield f"{lost} was reported and true, and is lost"
    new = {each for each in after.final - before.final if seen.finding.logs[each] == Level.CLAIMED}
    if new and after.split:
        yield f"{new} became final in a split, and only one voice returned it"


def wrong_at_end(model: Model, seen: Seen) -> Iterator[str]:
    """What is wrong once every URL has answered for long enough."""
    chain, behaviours = model.chain, model.behaviours
    if alike_of(model) or not HONEST & {*behaviours}:
        return
    last = model.last(seen.state)
    state, finding = last.state, last.finding
    honest = sum(each in HONEST for each in behaviours)
    if state.reading != TRUE_BLOCK:
        if honest > len(behaviours) / 2:
            yield "another branch is read than that of most"
        return
    if Behaviour.OWN_BRANCH in behaviours and len(behaviours) == 2:
        return  # a split for ever suspends the ends of both
    named = len(state.named) > 1
    by_proof = named and ((chain.receipts and chain.roots) or (chain.filters and not chain.paid))
    if by_proof or (chain.receipts and honest > 1):
        if state.served != chain.true | (seen.state.final & FALSE & state.served):
            yield f"{state.served} is served"
        if finding.conflicting:
            yield "nothing is decided"
        for voice, word in zip(model.voices, state.words, strict=True):
            if word.denies & chain.true and voice not in finding.faulty:
                yield f"{voice} denies what is true, and is not named"
        if named and chain.receipts:
            for number, behaviour in enumerate(behaviours):
                voice = model.voices[number]
                false = {what for kind, what in false_of(behaviour, chain) if kind in ("claims", "denies")}
                if (
                    false - (state.words[number].claims & chain.true)
                    and behaviour is not Behaviour.OWN_BRANCH
                    and voice not in {*finding.faulty, *finding.missing}
                ):
                    yield f"{voice} returns what is false, and is not named"
                if behaviour is Behaviour.FORGES and voice not in finding.faulty:
                    yield f"{voice} forges a header, and is not named"
    else:
        disputed = {each for each, is_ in finding.standing.items() if is_ is Standing.DISPUTED}
        if disputed and not finding.conflicting:
            yield "a dispute is not raised"
        if chain.receipts and (FALSE & state.served) - state.final:
            yield f"{state.served} is served"


def alike_of(model: Model) -> set[tuple[str, object]]:
    """What is false and two URLs return alike."""
    false = [false_of(each, model.chain) for each in model.behaviours]
    return {each for one, other in itertools.combinations(false, 2) for each in one & other}


def mistakes(model: Model, polls: int) -> set[str]:
    found: set[str] = set()
    for before, seen, is_new in reached(model, polls):
        found.update(wrong_after(before, seen, model))
        if is_new:
            found.update(wrong_in(model, seen))
            found.update(wrong_at_end(model, seen))
    return {f"{names(model.behaviours)}: {each}" for each in found}


@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_one_poll_is_right(chain: Chain) -> None:
    pairs = itertools.product(Behaviour, repeat=2)
    assert not set[str]().union(*(mistakes(Model(chain, pair), 1) for pair in pairs))


@pytest.mark.parametrize(
    "every", [pytest.param(7, id="few"), pytest.param(1, id="all", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("chain", MAIN, ids=str)
def test_two_polls_are_right(chain: Chain, every: int) -> None:
    pairs = itertools.islice(itertools.product(Behaviour, repeat=2), None, None, every)
    assert not set[str]().union(*(mistakes(Model(chain, pair), 2) for pair in pairs))


@pytest.mark.parametrize("behaviour", Behaviour)
def test_four_polls_beside_an_honest_url_are_right(behaviour: Behaviour) -> None:
    assert not mistakes(Model(MAIN[0], (behaviour, Behaviour.HONEST)), 4)


@pytest.mark.slow
@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_five_polls_are_right(chain: Chain) -> None:
    pairs = itertools.product(Behaviour, repeat=2)
    assert not set[str]().union(*(mistakes(Model(chain, pair), 5) for pair in pairs))


@pytest.mark.parametrize("polls", few_or_many(1, 2))
@pytest.mark.parametrize("chain", MAIN, ids=str)
@pytest.mark.parametrize("behaviour", Behaviour)
def test_three_urls_are_right_where_two_are_honest(chain: Chain, behaviour: Behaviour, polls: int) -> None:
    for behaviours in (
        (behaviour, Behaviour.HONEST, Behaviour.LATE),
        (Behaviour.HONEST, Behaviour.LATE, behaviour),
    ):
        assert not mistakes(Model(chain, behaviours), polls)


@pytest.mark.parametrize(
    ("triples", "polls"),
    [pytest.param(3, 1, id="few"), pytest.param(200, 2, id="many", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("chain", MAIN, ids=str)
def test_three_urls_are_right(chain: Chain, triples: int, polls: int) -> None:
    rng = random.Random(1)
    for _ in range(triples):
        behaviours = tuple(rng.choices([*Behaviour], k=3))
        assert not mistakes(Model(chain, behaviours), polls)


@pytest.mark.parametrize("behaviour", Behaviour)
@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_one_url_proves_nothing_false(behaviour: Behaviour, chain: Chain) -> None:
    """But a branch that it makes up as a whole, with hashes that are right."""
    assert not mistakes(Model(chain, (behaviour,)), 3)
