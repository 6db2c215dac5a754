"""A block under examination: what each voice says of it, and what is requested of them.

``app.watcher.rules.evidence`` decides what is known, what to request and which URL to name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from app.watcher.loop.view import View
from app.watcher.rpc.faults import FaultyAnswer, NoConnection, RateLimited, RpcFault, Slow
from app.watcher.rpc.node import Node
from app.watcher.rpc.receipts import Listed, listed, receipts_of_block
from app.watcher.rules.blocks import BlockId, Header, Log, in_order
from app.watcher.rules.evidence import (
    Answer,
    Block,
    Entry,
    Finding,
    Question,
    Receipts,
    Voice,
    What,
    Word,
    heard,
    questions,
    unseen,
    weigh,
)
from app.watcher.rules.logs.payouts import log_id
from app.watcher.rules.proofs import EMPTY_ROOT, Receipt, filter_of, match

ROUNDS: Final = 4  # of requests to a voice about one block: each may raise another question


def entries_of(logs: Iterable[Log]) -> dict[Entry, Log]:
    """The logs of a block, each under what it says."""
    seen: Counter[Entry] = Counter()
    found: dict[Entry, Log] = {}
    for log in logs:
        entry = Entry(log.tx_hash, log.address, log.topics, log.data)
        found[replace(entry, rank=seen[entry])] = log
        seen[entry] += 1
    return found


class Said(Struct, frozen=True):
    """The reports of a block.

    :param txs: the hashes of the transactions of which anything is.
    :param logs: ids of logs. Those in ``known`` were reported and proven before the chain was read from its
        beginning again.
    """

    txs: AbstractSet[str] = frozenset()
    logs: AbstractSet[str] = frozenset()
    known: AbstractSet[str] = frozenset()


NOTHING_SAID: Final = Said()


class Case(Struct):
    """One block under examination.

    :param logs: by entry the log that it was first seen as.
    :param reported: entries that were reported, of which some may be suspended now.
    :param headers: by voice the header that it returned with this hash.
    :param named: voices that returned anything of the block with this hash.
    :param fresh: voices whose logs were requested just now, and not before the block was stored.
    :param foreign: transactions with such logs of contracts that are not watched (any more).
    :param suspects: transactions of which something is reported that none of their logs says.
    :param final: those of ``reported`` that were final before any voice denied them.
    """

    view: View
    id: BlockId
    words: dict[Voice, Word] = field(default_factory=dict)
    logs: dict[Entry, Log] = field(default_factory=dict)
    reported: frozenset[Entry] = frozenset()
    said: Said = field(default_factory=lambda: NOTHING_SAID)
    headers: dict[Voice, Header] = field(default_factory=dict)
    named: set[Voice] = field(default_factory=set)
    fresh: set[Voice] = field(default_factory=set)
    foreign: set[str] = field(default_factory=set)
    suspects: set[str] = field(default_factory=set)
    final: frozenset[Entry] = frozenset()

    @property
    def header(self) -> Header | None:
        """A header that gives the block's hash; else any of them."""
        found = sorted(self.headers.values(), key=lambda header: not header.verified)
        return found[0] if found else None

    @property
    def known(self) -> frozenset[Entry]:
        """What was reported of the block, seen or not."""
        seen = {entry.tx for entry in self.logs} - self.suspects
        lost = (unseen(tx) for tx in self.said.txs if tx not in seen and tx not in self.foreign)
        return self.reported.union(lost)

    def hear(self, voice: Voice, logs: Sequence[Log]) -> Mapping[Entry, Log]:
        """Note a voice's answer to ``eth_getLogs``. Returns its logs, each under what it says."""
        entries = entries_of(logs)
        self._note(entries)
        self.fresh.add(voice)
        if entries:
            self.named.add(voice)
        self._heard(voice, Answer(logs=frozenset(entries)))
        return entries

    def note_reported(self, first: Voice, *, is_known: bool) -> None:
        """Note which entries were reported, where that was not stored.

        They are found by the ids of logs. Where another node counts logs differently, those are meant that
        the voice returned which read the block first.

        :param is_known: all of them were agreed or proven.
        """
        stored = {entry.tx for entry in self.reported}
        of_txs = {entry for entry in self.logs if entry.tx in self.said.txs and entry.tx not in stored}
        of_ids = {entry for entry in of_txs if self._id_of(entry) in self.said.logs}
        of_first = of_txs & self.words.get(first, Word()).claims
        found: set[Entry] = set()
        for some in (of_ids, of_first, of_txs):
            txs = {entry.tx for entry in found}
            found |= {entry for entry in some if entry.tx not in txs}
        self.reported |= found
        self.final |= found if is_known else self.known_of(found)

    def known_of(self, entries: Iterable[Entry]) -> frozenset[Entry]:
        """The reports that were proven before the chain was read from its beginning again."""
        return frozenset(entry for entry in entries if self._id_of(entry) in self.said.known)

    def _id_of(self, entry: Entry) -> str:
        return log_id(self.view.terms.chain_id, self.logs[entry])

    def weighed(self) -> Finding:
        words = {voice: self._word(voice) for voice in self.words}
        return weigh(words, self._block(), self.view.contracts, self.known)

    def settle(self, *, is_live: bool) -> Finding:
        """Request what is missing of every voice, as far as it answers now.

        :param is_live: only its logs matter now, and no header.
        :returns: what is known then.
        """
        requested: set[Question] = set()
        voices = self.view.nodes.voices
        headless = set() if is_live else set(voices) - self.headers.keys()
        for _ in range(ROUNDS):
            finding, words = self.weighed(), {voice: self._fresh(voice) for voice in self.words}
            next_ = set(questions(voices, words, self._block(), finding)) - requested
            if not next_ and not headless:
                break
            requested |= next_
            for voice in voices:
                mine = sorted(each for each in next_ if each.voice == voice)
                if mine or voice in headless:
                    self._request(voice, mine)
            headless = set()
        return self.weighed()

    def _word(self, voice: Voice) -> Word:
        word, header, own = self.words[voice], self.header, self.headers.get(voice)
        forged = header is not None and own is not None and header.verified and differ(header, own)
        return replace(word, forged=forged)

    def _fresh(self, voice: Voice) -> Word:
        """Without the logs that it returned earlier: its index may have changed since."""
        word = self.words[voice]
        return word if voice in self.fresh else replace(word, logs=None)

    def _block(self) -> Block:
        view, header = self.view, self.header
        denied_by = view.denied_by if self.id.number >= view.split_from else frozenset()
        is_named = len(self.named) >= min(2, len(view.nodes.voices))
        if header is None or not header.verified or not is_named:
            return Block(roots=view.roots, filters=view.filters, denied_by=denied_by)
        return Block(
            verified=True,
            bloom=header.bloom,
            empty=header.receipts_root == EMPTY_ROOT,
            roots=view.roots,
            filters=view.filters,
            denied_by=denied_by,
        )

    def _note(self, entries: Mapping[Entry, Log]) -> None:
        for entry, log in entries.items():
            self.logs.setdefault(entry, log)

    def _heard(self, voice: Voice, answer: Answer) -> None:
        known = self.known.union(*(word.claims for word in self.words.values()))
        self.words[voice] = heard(self.words.get(voice, Word()), answer, known)

    def _request(self, voice: Voice, mine: Sequence[Question]) -> None:
        """Send requests to the first URL of a voice that answers; none is waited for."""
        self._note_silent(voice, silent=True)
        for node in self.view.nodes.usable():
            if node.voice == voice:
                try:
                    if self._answered(node, mine):
                        return
                except (FaultyAnswer, Slow, NoConnection) as fault:
                    self.view.nodes.failed(node, fault)
                except RateLimited as fault:
                    if self.words[voice].silent:
                        self.view.nodes.failed(node, fault)
                except RpcFault:
                    self._note_silent(voice, silent=False)

    def _note_silent(self, voice: Voice, *, silent: bool) -> None:
        self.words[voice] = replace(self.words.get(voice, Word()), silent=silent)

    def _answered(self, node: Node, mine: Sequence[Question]) -> bool:
        """Whether the node has the block. Then its answers are noted."""
        number = self.id.number
        block = listed(node, number, sorted({each.tx for each in mine if each.what is What.RECEIPT}))
        self._note_silent(node.voice, silent=block is None)  # one that lags has said nothing yet
        if block is None or block.header.hash != self.id.hash:
            return False
        self.take_header(node.voice, block.header)
        self._heard(node.voice, self._of_txs(block))
        wanted = {each.what for each in mine}
        if What.LOGS in wanted:
            answer = node.logs(self.view.wanted, number, number)
            if answer.end.hash == self.id.hash:
                self.hear(node.voice, in_order(answer.logs))
        if What.RECEIPTS in wanted and (receipts := receipts_of_block(node, block)):
            self.take_receipts(node.voice, receipts)
        return True

    def take_header(self, voice: Voice, header: Header) -> None:
        """Note that a voice has the block. A header of another block says nothing about this one."""
        if header.hash != self.id.hash:
            return
        self.named.add(voice)
        if header.verified or voice not in self.headers:
            self.headers[voice] = header

    def _of_txs(self, block: Listed) -> Answer:
        of_txs: dict[str, frozenset[Entry]] = {}
        for tx, receipt in block.receipts.items():
            entries = self._ours([receipt])
            of_txs[tx] = frozenset(entry for entry in entries if entry.tx == tx)
        return Answer(txs=frozenset(block.txs) or None, of_txs=of_txs)

    def take_receipts(self, voice: Voice, receipts: Sequence[Receipt]) -> None:
        header = self.header
        entries = frozenset(self._ours(receipts))
        does_match = header is not None and match(header, receipts)
        filters_match = header is not None and filter_of(receipts) == header.bloom
        self._heard(voice, Answer(receipts=Receipts(entries, does_match, filters_match)))
        if does_match and self._block().verified:
            self.view.learn(self.id.number, filters=filters_match and any(filter_of(receipts)))

    def _ours(self, receipts: Iterable[Receipt]) -> dict[Entry, Log]:
        """The logs of the watched contracts. Transactions with such logs of others are noted."""
        wanted = self.view.wanted
        logs = [
            replace(log, block=self.id.number, block_hash=self.id.hash)
            for receipt in receipts
            for log in receipt.logs
            if log.topics and log.topics[0] in wanted.topics
        ]
        self.foreign.update(log.tx_hash for log in logs if not wanted.covers(log))
        entries = entries_of(in_order(log for log in logs if wanted.covers(log)))
        self._note(entries)
        return entries


def differ(verified: Header, other: Header) -> bool:
    """Whether a field that both headers of one hash give differs. A missing one says nothing."""
    if other.verified:
        return False
    given = (
        (verified.parent_hash, other.parent_hash),
        (verified.at, other.at),
        (verified.bloom, other.bloom),
        (verified.receipts_root, other.receipts_root),
    )
    return any(one != another for one, another in given if another is not None)
