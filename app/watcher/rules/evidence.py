"""What is known about a block and how well, what to request next, and which URL to name
(docs/chains.md#evidence). Nothing else decides it.

Absence is no evidence: an empty answer takes nothing back. Only what a proof or two voices contradict names a
URL. What one voice says against another is *disputed* until a proof or a third voice decides it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum, StrEnum
from typing import Final, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from app.watcher.rules.proofs import BloomTest

Voice = str  # a provider: its URLs are one voice (app.watcher.rules.voices)

NONE: Final[frozenset[Entry]] = frozenset()


class Entry(Struct, frozen=True, order=True):
    """A log of a watched contract, however a node counts it.

    :param rank: among the logs of its transaction that say the same.
    """

    tx: str
    address: bytes
    topics: tuple[bytes, ...]
    data: bytes
    rank: int = 0


class Level(IntEnum):
    """How well it is known that a block has a log, or that it has no further one."""

    CLAIMED = 1  # by one voice
    AGREED = 2  # by two voices
    PROVEN = 3  # by a verified header


class Standing(StrEnum):
    """The treatment of a log that a voice returned or that was reported before."""

    KNOWN = "known"
    DISPUTED = "disputed"  # one voice denies what only one voice returned
    FALSE = "false"  # a proof, or two voices, contradict the one that returned it


class Receipts(Struct, frozen=True):
    """The receipts of all transactions of a block, as one voice returned them; not an empty list.

    :param entries: those of the watched contracts.
    :param match: they hash to the root of a header whose fields give the block's hash.
    :param filters_match: their filters together are that header's.
    """

    entries: frozenset[Entry]
    match: bool
    filters_match: bool


class Word(Struct, frozen=True):
    """All that one voice has said about one block.

    :param claims: the logs that it ever returned, in ``eth_getLogs`` or in a receipt.
    :param denies: the logs that it denied last (:func:`heard`).
    :param logs: its last answer to ``eth_getLogs``.
    :param receipts: its last ones that are not empty; of those that match the root if any did.
    :param silent: the last time no URL of it answered or had the block.
    :param forged: its header of this hash has other fields than the verified one.
    """

    claims: frozenset[Entry] = NONE
    denies: frozenset[Entry] = NONE
    logs: frozenset[Entry] | None = None
    receipts: Receipts | None = None
    silent: bool = False
    forged: bool = False


class Answer(Struct, frozen=True):
    """One answer of a voice about one block.

    :param logs: of ``eth_getLogs``; None where it is about something else.
    :param txs: the transactions that the block lists; an empty list says nothing.
    :param of_txs: by transaction the entries of its receipt; one without a receipt is left out.
    :param receipts: of the whole block; None where they were not returned, or are an empty list.
    """

    logs: frozenset[Entry] | None = None
    txs: frozenset[str] | None = None
    of_txs: Mapping[str, frozenset[Entry]] = field(default_factory=dict)
    receipts: Receipts | None = None


def heard(word: Word, answer: Answer, known: Iterable[Entry]) -> Word:
    """The :class:`Word` of a voice after one more answer.

    It denies a log where its list of the block's transactions, not empty, lacks the transaction, or where its
    receipt of the transaction lacks the log. An answer that lacks something in any other way says nothing.

    :param known: what any voice returned, or was reported.
    """
    returned = (answer.logs or NONE).union(*answer.of_txs.values())
    returned |= NONE if answer.receipts is None else answer.receipts.entries
    claims = word.claims | returned
    denied = {entry for entry in known if _is_denied(entry, answer)}
    receipts = answer.receipts
    if receipts is None or (word.receipts is not None and word.receipts.match and not receipts.match):
        receipts = word.receipts  # a proof stays one
    return replace(
        word,
        claims=claims,
        denies=(word.denies | denied) - claims,
        logs=word.logs if answer.logs is None else answer.logs,
        receipts=receipts,
    )


def _is_denied(entry: Entry, answer: Answer) -> bool:
    if (receipt := answer.of_txs.get(entry.tx)) is not None:
        return entry not in receipt
    return bool(answer.txs) and entry.tx not in (answer.txs or ())


class Block(Struct, frozen=True):
    """What is known about a block from its header and its chain.

    :param bloom: the filter of its header; None where that is not verified.
    :param empty: its root is that of no receipts.
    :param roots: roots of receipts are usable on this chain, ``filters`` likewise: a verified header matched
        once.
    :param denied_by: the other side of a split that lasts: what it did not return is disputed.
    """

    verified: bool = False
    bloom: bytes | None = None
    empty: bool = False
    roots: bool = False
    filters: bool = False
    denied_by: frozenset[Voice] = frozenset()


class Finding(Struct, frozen=True):
    """What is known about a block.

    :param logs: how well each log that was returned or reported is known; 0 where no voice returned it.
    :param rest: how well it is known that the block has no further log; None while no voice answered.
    :param missing: voices whose last answer lacks a log that is agreed or proven.
    :param faulty: by voice the logs by which a proof or two voices contradict it; empty for its header.
    :param conflicting: voices that contradict each other, with nothing to decide it.
    """

    logs: Mapping[Entry, int]
    standing: Mapping[Entry, Standing]
    rest: Level | None
    missing: frozenset[Voice]
    faulty: Mapping[Voice, frozenset[Entry]]
    conflicting: frozenset[Voice]

    @property
    def true(self) -> frozenset[Entry]:
        """The logs that are not false."""
        return frozenset(entry for entry, is_ in self.standing.items() if is_ is not Standing.FALSE)

    @property
    def unsure(self) -> frozenset[Entry]:
        """The logs that are neither agreed nor proven."""
        return frozenset(entry for entry in self.true if self.logs[entry] < Level.AGREED)


class _Log(NamedTuple):
    level: int
    standing: Standing
    claimers: frozenset[Voice]
    deniers: frozenset[Voice]

    @property
    def contradicted(self) -> frozenset[Voice]:
        """By a proof or by two voices."""
        if self.standing is Standing.FALSE:
            return self.claimers
        is_sure = self.level == Level.PROVEN or (self.level == Level.AGREED and len(self.deniers) == 1)
        return self.deniers if is_sure else frozenset()

    @property
    def conflicting(self) -> frozenset[Voice]:
        """With nothing to decide it."""
        is_open = self.standing is Standing.DISPUTED or (self.level == Level.AGREED and len(self.deniers) > 1)
        return self.claimers | self.deniers if is_open and self.deniers else frozenset()


def weigh(
    words: Mapping[Voice, Word], block: Block, contracts: BloomTest, known: Collection[Entry] = ()
) -> Finding:
    """What is known about a block from all that was said of it.

    :param contracts: whose logs are read, for filters.
    :param known: the logs that were reported of it before.
    """
    proven, proof_of_all = _proof(words, block)
    found: dict[Entry, _Log] = {}
    for entry in NONE.union(known, *(word.claims for word in words.values())):
        claimers = frozenset(voice for voice, word in words.items() if entry in word.claims)
        deniers = frozenset(voice for voice, word in words.items() if entry in word.denies)
        if entry in proven or proof_of_all:
            what = (Level.PROVEN, Standing.KNOWN) if entry in proven else (0, Standing.FALSE)
        else:
            # An excluding filter counts like one more denial, and is no proof: some chains leave single logs
            # out of their filters. The other side of a split is a doubt, and no denial of its own.
            test = BloomTest((entry.address,), entry.topics[:1]) if entry.address else contracts
            against = len(deniers) + (block.filters and not test.may_hold(block.bloom))
            in_split = bool(block.denied_by) and block.denied_by.isdisjoint(claimers)
            what = _unproven(len(claimers), against, in_split=in_split)
        found[entry] = _Log(*what, claimers, deniers)
    sure = frozenset(entry for entry, log in found.items() if log.level >= Level.AGREED)
    faulty = {voice: frozenset(e for e, log in found.items() if voice in log.contradicted) for voice in words}
    return Finding(
        {entry: log.level for entry, log in found.items()},
        {entry: log.standing for entry, log in found.items()},
        Level.PROVEN if proof_of_all else _rest(words, block, contracts, found),
        frozenset(voice for voice, word in words.items() if word.logs is not None and not sure <= word.logs),
        {voice: entries for voice, entries in faulty.items() if entries or words[voice].forged},
        frozenset[Voice]().union(*(log.conflicting for log in found.values())),
    )


def _unproven(by: int, against: int, *, in_split: bool) -> tuple[int, Standing]:
    """What becomes of a log that nothing proves or disproves, by how many voices returned and denied it."""
    if by > 1:
        return Level.AGREED, Standing.KNOWN
    if against > 1:
        return 0, Standing.FALSE
    is_denied = against or (in_split and by)
    return Level.CLAIMED if by else 0, Standing.DISPUTED if is_denied else Standing.KNOWN


def _proof(words: Mapping[Voice, Word], block: Block) -> tuple[frozenset[Entry], bool]:
    """The logs that receipts prove, and whether these are all that the block has."""
    if not block.verified:
        return NONE, False
    if block.empty and block.roots and not (block.filters and any(block.bloom or b"")):
        return NONE, True
    found = [word.receipts for word in words.values() if word.receipts is not None and word.receipts.match]
    if not found:
        return NONE, False
    return found[0].entries, found[0].filters_match or not block.filters


def unseen(tx: str) -> Entry:
    """Whatever was reported of a transaction of which no voice returns a log (any more)."""
    return Entry(tx, b"", (), b"")


def _rest(
    words: Mapping[Voice, Word], block: Block, contracts: BloomTest, found: Mapping[Entry, _Log]
) -> Level | None:
    """How well it is known without receipts of the whole block that it has no log but those found."""
    is_known = any(log.standing is not Standing.FALSE for log in found.values())
    if block.filters and not contracts.may_hold(block.bloom) and not is_known:
        return Level.PROVEN
    true = frozenset(entry for entry, log in found.items() if log.level)
    answered = [word for word in words.values() if word.logs is not None]
    if sum(word.logs == true for word in answered) > 1 and _is_explained(words, block, contracts, true):
        return Level.AGREED
    return Level.CLAIMED if answered else None


def _is_explained(
    words: Mapping[Voice, Word], block: Block, contracts: BloomTest, true: frozenset[Entry]
) -> bool:
    """Whether nothing but the logs is in the filter, or the receipts of two voices hold no more either."""
    seen = {(entry.address, entry.topics[0]) for entry in true}
    if not block.bloom or contracts.held(block.bloom) <= seen:
        return True
    return sum(word.receipts is not None and word.receipts.entries == true for word in words.values()) > 1


class What(StrEnum):
    RECEIPT = "receipt"  # of one transaction, with the block's list of transactions
    RECEIPTS = "receipts"  # of all transactions
    LOGS = "logs"


class Question(Struct, frozen=True, order=True):
    """A request that would tell more. Nothing waits for the answer: one that fails is requested again."""

    voice: Voice
    what: What
    tx: str = ""


def questions(
    voices: Iterable[Voice], words: Mapping[Voice, Word], block: Block, finding: Finding
) -> Iterator[Question]:
    """What to request about a block so that more of it is known."""
    unexplained = block.verified and finding.rest is not Level.PROVEN
    whole = unexplained and (block.roots or block.filters)
    for voice in voices:
        word = words.get(voice, Word())
        for entry in finding.unsure:
            if entry not in word.claims and entry not in word.denies:
                yield Question(voice, What.RECEIPT, entry.tx)
        if whole and (word.receipts is None or not word.receipts.match):
            yield Question(voice, What.RECEIPTS)
        if word.logs is None and finding.rest is not Level.PROVEN:
            yield Question(voice, What.LOGS)


def counts(standing: Standing, *, is_end: bool, was_final: bool) -> bool:
    """Whether a fact that was reported from a log counts.

    A disputed one is suspended: the watcher retracts it, but a reporter's own report still counts.

    :param is_end: it is a payout, a mint or a refund.
    :param was_final: it was final before any voice denied it.
    """
    if standing is Standing.DISPUTED:
        return was_final or not is_end
    return standing is Standing.KNOWN


ALONE_SECONDS: Final = 600.0
"""What only one of several voices returned waits so long for the others before it is final. A voice that has
not answered for so long has no vote on the branch."""


def may_be_final(
    finding: Finding, entry: Entry, *, voices: int, age: float, all_requested: bool, is_split: bool
) -> bool:
    """Whether a log that is deep enough is final.

    :param voices: of the chain.
    :param age: seconds since it was first returned.
    :param all_requested: its receipt was requested of each other voice since then.
    :param is_split: as many voices name another branch.
    """
    if finding.standing[entry] is not Standing.KNOWN:
        return False
    if finding.logs[entry] >= Level.AGREED or voices == 1:
        return True
    return not is_split and age >= ALONE_SECONDS and all_requested


class Vote(Struct, frozen=True):
    """The block that a voice named last at a height, or at the highest one that it has of those read.

    :param at: in seconds.
    """

    hash: str
    at: float


class Choice(Struct, frozen=True):
    """The branch to read, and whether as many voices name another one."""

    hash: str | None
    is_split: bool


def counted(votes: Mapping[Voice, Vote], order: Sequence[Voice], now: float) -> dict[Voice, Vote]:
    """The votes that count at a time in seconds, in the operator's order of the voices."""
    found = ((voice, votes.get(voice)) for voice in order)
    return {voice: vote for voice, vote in found if vote is not None and now - vote.at <= ALONE_SECONDS}


def choose(votes: Mapping[Voice, Vote], reading: str | None, *, agreed: bool) -> Choice:
    """The branch of the most voices; at a tie the one that is read, at the start that of the first voice.

    :param votes: those that count (:func:`counted`).
    :param reading: the block of the branch that is read; None at the start.
    :param agreed: that block is final, and two voices have named it: only one that two name replaces it.
    """
    named = Counter(vote.hash for vote in votes.values())
    if not named:
        return Choice(reading, False)
    most = max(named.values())
    best = [hash_ for hash_, voices in named.items() if voices == most]
    if agreed and most < 2:
        return Choice(reading, any(hash_ != reading for hash_ in named))
    return Choice(reading if reading in best else best[0], len(best) > 1)
