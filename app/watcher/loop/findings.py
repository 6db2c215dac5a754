"""Decides about a block from what is known of it: which logs count, what is in doubt, which URL is named."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from app.transfers.rules.events.event_types import ChainHead
from app.values.identifiers import BlockNumber
from app.watcher.loop.cases import NOTHING_SAID, Case, Said
from app.watcher.loop.fetch import Fetched
from app.watcher.loop.view import Blocks, View
from app.watcher.rpc.faults import FaultyAnswer, Incomplete
from app.watcher.rpc.nodes import Trouble
from app.watcher.rules.blocks import BlockId, Log, in_order
from app.watcher.rules.evidence import (
    Entry,
    Finding,
    Level,
    Standing,
    Voice,
    Word,
    counts,
    may_be_final,
)
from app.watcher.rules.logs.contracts import is_delay, is_end
from app.watcher.rules.logs.payouts import log_of, tx_of
from app.watcher.rules.steps import Doubt, ReportedEvent
from app.watcher.services.readings import Reported

OPEN_SECONDS: Final = 60.0
LONGEST_SECONDS: Final = 3600.0
"""The time between two requests of every URL about a block in doubt doubles up to this; up to the first while
the block only waits to be final.
"""


NONE_SAID: Final[Mapping[BlockNumber, Said]] = {}


class Settled(Struct, frozen=True):
    """The decision about a block.

    :param logs: those that count, in their order.
    :param left: transactions of which what was reported stays as it is.
    :param suspended: transactions with a log that does not count until it is decided.
    :param doubt: what is stored of the block; None where it is agreed or proven. ``before``: what was.
    """

    case: Case
    finding: Finding
    logs: Sequence[Log]
    left: frozenset[str]
    suspended: frozenset[str]
    doubt: Doubt | None
    before: Doubt | None
    is_live: bool


def settled(case: Case, finding: Finding, before: Doubt | None, *, is_live: bool) -> Settled:
    """Decide about a block from what is known of it.

    :param before: what was stored of it.
    :param is_live: only its logs matter now: whether it has further ones is looked at when it is final.
    """
    standing = finding.standing
    hidden = _hidden(case, finding)
    is_doubt = is_open(finding, is_live=is_live)
    counting = [entry for entry in standing if entry in case.logs and entry not in hidden]
    return Settled(
        case,
        finding,
        in_order(case.logs[entry] for entry in counting),
        frozenset(case.foreign).union(case.said.txs) - _decided(finding, hidden),
        frozenset(entry.tx for entry in hidden if standing[entry] is Standing.DISPUTED),
        _doubt(case, finding, before, counting, agreed=not is_doubt)
        if is_doubt or (is_live and standing)
        else None,
        before,
        is_live,
    )


def _hidden(case: Case, finding: Finding) -> set[Entry]:
    """The logs that do not count until they are decided, and the false ones."""
    standing = finding.standing
    places = {_place(entry) for entry in case.reported if finding.logs.get(entry) == Level.CLAIMED}
    hidden = {
        entry
        for entry, is_ in standing.items()
        if not counts(is_, is_end=is_end(entry.topics), was_final=entry in case.final)
        or (
            entry in case.logs
            and entry not in case.reported
            and (is_ is Standing.DISPUTED or (finding.logs[entry] < Level.AGREED and _place(entry) in places))
        )
    }
    delayed = {
        entry.tx for entry in hidden if is_delay(entry.topics) and standing[entry] is Standing.DISPUTED
    }  # whether these were paid is as much disputed
    return hidden.union(
        entry
        for entry in standing
        if entry.tx in delayed and is_end(entry.topics) and entry not in case.final
    )


def _place(entry: Entry) -> tuple[str, bytes, tuple[bytes, ...]]:
    """What two contents of one log have in common: the first that was reported counts until it is decided."""
    return entry.tx, entry.address, entry.topics[:1]


def _decided(finding: Finding, hidden: Collection[Entry]) -> frozenset[str]:
    """Transactions of which enough is known to take something back: of all others it stays as reported."""
    if finding.rest is Level.PROVEN:
        return frozenset(entry.tx for entry in finding.standing)
    return frozenset(entry.tx for entry in hidden)


def is_open(finding: Finding, *, is_live: bool) -> bool:
    if finding.unsure:
        return True
    return not is_live and (finding.rest is None or finding.rest < Level.AGREED)


def _doubt(
    case: Case, finding: Finding, before: Doubt | None, counting: Collection[Entry], *, agreed: bool
) -> Doubt:
    view, now = case.view, case.view.clock()
    if any(entry not in case.reported and finding.logs[entry] < Level.AGREED for entry in counting):
        before = None  # all voices have as long for a further log as for the first one
    doubt = Doubt(
        block=case.id.number,
        hash=case.id.hash,
        words=case.words,
        logs={entry: (log.index, log.tx_index) for entry, log in case.logs.items()},
        reported=case.reported.union(counting),
        since=now if before is None else before.since,
        tries=0 if before is None else before.tries + 1,
        agreed=agreed,
        disputed=any(is_ is Standing.DISPUTED for is_ in finding.standing.values()),
    )
    still_counts = doubt.reported.intersection(counting)
    final = doubt.reported if agreed else case.final | (_final_now(view, doubt, finding) & still_counts)
    final -= {entry for entry, is_ in finding.standing.items() if is_ is Standing.FALSE}
    return replace(doubt, final=final, is_open=not still_counts <= final)


def next_doubt(view: View) -> Doubt | None:
    """The block in doubt about which every URL is requested next; None where none is due.

    After a start that is each of them: the URLs may be others. Where a voice that did not answer can be used
    again, it is only until the next poll.
    """
    now, usable = view.monotonic(), {node.voice for node in view.nodes.usable()}

    def due_at(doubt: Doubt) -> float:
        longest = OPEN_SECONDS if doubt.is_open and not doubt.disputed else LONGEST_SECONDS
        is_back = any(word.silent and voice in usable for voice, word in doubt.words.items())
        pause = min(view.terms.poll_seconds * 2.0 ** (0 if is_back else min(doubt.tries, 16)), longest)
        return view.requested_at.get(doubt.block, float("-inf")) + pause

    doubts = [doubt for doubt in view.readings.doubts.values() if doubt.hash and not doubt.agreed]
    due = [doubt for doubt in doubts if due_at(doubt) <= now]
    return min(due, key=due_at, default=None)


def said_of(view: View, reported: Reported, blocks: Blocks) -> Mapping[BlockNumber, Said]:
    """The reports of each block; blocks without any are left out."""
    found: dict[BlockNumber, list[ReportedEvent]] = {}
    for each in reported(blocks.first, blocks.last):
        if each.canonical and not isinstance(each.event, ChainHead):
            found.setdefault(each.block, []).append(each)
    return {
        block: Said(
            frozenset(tx_of(each.event.id).split(":")[2] for each in of_block),
            frozenset(log_of(each.event.id) for each in of_block),
            frozenset(
                log_of(each.event.id)
                for each in of_block
                if block <= view.known_to and each.seq <= view.known_seq
            ),
        )
        for block, of_block in found.items()
    }


def weighed_first(
    view: View, fetched: Fetched, said: Mapping[BlockNumber, Said] = NONE_SAID
) -> tuple[Fetched, list[Doubt]]:
    """What one of several voices returned, and its blocks with logs, as far as something is in doubt.

    A block may have been read before. Logs that a proof or two voices contradicted then are left out: nobody
    would be requested about them again.

    :param said: what was reported of blocks that are read again.
    """
    if len(view.nodes.voices) == 1:
        return fetched, []
    by_block: dict[BlockNumber, list[Log]] = {}
    for log in fetched.logs:
        by_block.setdefault(log.block, []).append(log)
    voice = view.nodes.voice(fetched.source)
    doubts, true = [], []
    for number, logs in by_block.items():
        block, before = fetched.headers[number].id, view.readings.doubts.get(number)
        if before is not None and before.hash != block.hash:
            before = None
        case = Case(view, block) if before is None else case_of(view, before)
        case.said = said.get(number, NOTHING_SAID)
        returned = case.hear(voice, logs)
        case.final |= case.known_of(case.logs)
        each = settled(case, case.weighed(), before, is_live=True)
        true += [log for entry, log in returned.items() if entry in each.finding.true]
        doubts += [] if each.doubt is None else [each.doubt]
    return replace(fetched, logs=true), doubts


def case_of(view: View, doubt: Doubt) -> Case:
    """A block in doubt, as it was stored."""
    case = Case(
        view,
        BlockId(doubt.block, doubt.hash),
        _words_now(view, doubt),
        {entry: _log(doubt, entry, *place) for entry, place in doubt.logs.items()},
        doubt.reported,
    )
    case.named = {voice for voice, word in case.words.items() if word.claims or word.denies}
    case.fresh = set() if doubt.tries else set(case.words)
    case.final, finding = doubt.final, case.weighed()
    case.final |= _final_now(view, doubt, finding) - _hidden(case, finding)
    return case


def _words_now(view: View, doubt: Doubt) -> dict[Voice, Word]:
    """What the voices of now said: a URL that is not configured any more does not count, and URLs that are of
    one provider now are one voice.
    """
    found: dict[Voice, Word] = {}
    for name, word in doubt.words.items():
        if view.nodes.named(name) is None:
            continue
        voice = view.nodes.voice(name)
        other = found.get(voice, Word())
        claims = word.claims | other.claims
        denies = (word.denies | other.denies) - claims
        found[voice] = replace(word, claims=claims, denies=denies)
    return found


def _log(doubt: Doubt, entry: Entry, index: int, place: int) -> Log:
    return Log(doubt.block, doubt.hash, entry.tx, index, entry.address, entry.topics, entry.data, place)


def _final_now(view: View, doubt: Doubt, finding: Finding) -> frozenset[Entry]:
    if view.final is None or doubt.block > view.final:
        return frozenset()
    voices, usable = view.nodes.voices, {node.voice for node in view.nodes.usable()}
    words = doubt.words
    all_requested = all(
        voice in words and (not words[voice].silent or voice not in usable or view.is_stuck(voice))
        for voice in voices
    )
    return frozenset(
        entry
        for entry in doubt.reported & finding.standing.keys()
        if may_be_final(
            finding,
            entry,
            voices=len(voices),
            age=(view.clock() - doubt.since).total_seconds(),
            all_requested=all_requested,
            is_split=view.is_split,
        )
    )


def name_urls(view: View, each: Settled) -> None:
    """Exclude the URLs that a proof or two voices contradict, and note those that are incomplete."""
    block, finding, nodes = each.case.id.number, each.finding, view.nodes
    for voice, entries in finding.faulty.items():
        what = f"{len(entries)} of its logs of" if entries else "its header of"
        _name(view, voice, f"{what} block {block} {'are' if entries else 'is'} false")
    for voice in finding.missing - finding.faulty.keys():
        nodes.note(Trouble(voice, Incomplete(f"it does not return all logs of block {block}").words))
    if len(finding.conflicting) > 1:
        names = " and ".join(sorted(finding.conflicting))
        nodes.note(Trouble("", f"block {block}: {names} contradict each other, and nothing decides it"))


def _name(view: View, voice: Voice, words: str) -> None:
    """Name a voice's URLs as false. They are not used for a while, if another voice's can be."""
    can_wait = any(other.voice != voice for other in view.nodes.usable())
    for node in view.nodes.of_voice(voice):
        if can_wait:
            view.nodes.failed(node, FaultyAnswer(words))
        else:
            view.nodes.note(Trouble(node.name, FaultyAnswer(words).words, is_false=True))
